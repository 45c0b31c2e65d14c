import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import org.ligament.Array;
import org.ligament.ArrayView;
import org.ligament.Complex;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Times;
import org.ligament.Value;

/** Sends every kind of value on "out" and checks that the same value comes back on "in". */
public final class Teller {
    record Point(double x, int n, String name, List<Point> inner, long[] ids, boolean flag, Complex c,
            Value rest) {}

    record Number(double value) {}

    static Instance instance;
    static double time;

    static Message told(Object data) {
        time += 1;
        instance.send("out", Times.of(time, time + 0.5), data);
        Message answer = instance.receive("in");
        Check.equal(answer.times(), Times.of(time, time + 0.5));
        Check.equal(answer.nextTimestamp(), OptionalDouble.of(time + 0.5));
        return answer;
    }

    static void same(Object data, Object wanted) {
        try (Message answer = told(data)) {
            Check.equal(answer.toObject(), wanted);
        }
    }

    public static void main(String[] arguments) {
        instance = new Instance(Map.of(Operator.O_I, List.of("out"), Operator.S, List.of("in")));
        Check.holds(instance.reuseInstance());
        scalars();
        trees();
        records();
        mistakes();

        double[] sent = new double[65536];
        Arrays.setAll(sent, i -> i);
        instance.send("out", 100.0, sent);
        Arrays.fill(sent, 0);
        Message array = instance.receive("in");
        Check.holds(!array.hasNextTimestamp() && array.nextTimestamp().isEmpty());
        ArrayView view = array.array();
        Check.holds(!instance.reuseInstance());
        instance.close();
        instance.close();
        // A view can still be read after the instance has ended.
        Check.holds(view.length() == 65536 && view.getDouble(65535) == 65535);
        array.close();
        array.close();
        Check.fails(IllegalStateException.class, "closed", () -> view.getDouble(0));
        Check.fails(LigamentException.Usage.class, "is closed", array::value);
        Check.fails(LigamentException.Usage.class, "is closed", () -> instance.send("out", 0.0, 1));
    }

    static void scalars() {
        same(null, null);
        same(true, true);
        same(-3, -3L);
        same((short) 5, 5L);
        same((byte) -5, -5L);
        same(BigInteger.ONE.shiftLeft(63), BigInteger.ONE.shiftLeft(63));
        same(BigInteger.TWO, 2L);
        same(1e-300, 1e-300);
        same(2.5f, 2.5);
        same(new Complex(0, 1), new Complex(0, 1));
        same("some text, 𝄞 and a NUL \0.", "some text, 𝄞 and a NUL \0.");
        same("", "");
        same(new byte[] {0, 1, 2}, new byte[] {0, 1, 2});
        same(new byte[100_000], new byte[100_000]);
        same(new byte[0], new byte[0]);
        // The compiler takes this literal as a number, and not as an object.
        instance.send("out", 0.0, 7);
        try (Message answer = instance.receive("in")) {
            Check.equal(answer.toObject(), 7L);
        }
        instance.send("out", Times.of(0), 7L);
        try (Message answer = instance.receive("in")) {
            Check.equal(answer.asInt(), 7);
        }
        instance.send("out", 0.0, 0.5f);
        try (Message answer = instance.receive("in")) {
            Check.equal(answer.asDouble(), 0.5);
            Check.equal(answer.as(float.class), 0.5f);
        }
        instance.send("out", Times.of(1, 2), -0.0);
        try (Message answer = instance.receive("in")) {
            Check.equal(Double.doubleToLongBits(answer.asDouble()), Double.doubleToLongBits(-0.0));
        }
        instance.send("out", 0.0, false);
        try (Message answer = instance.receive("in")) {
            Check.equal(answer.asBoolean(), false);
        }
    }

    static void trees() {
        Message tree = told(Tree.build());
        Tree.check(tree.value());
        // A received value can be sent on unchanged.
        try (Message again = told(tree.value())) {
            Tree.check(again.value());
        }
        try (Message again = told(tree.toObject())) {
            Tree.check(again.value());
        }
        try (Message grid = told(tree.value().at("grid").array())) {
            Check.holds(grid.array().getDouble(2, 1) == 5);
            Check.equal(grid.array().names(), new String[] {"x", "y"});
        }
        try (Message grid = told(tree.value().at("grid").array().copy())) {
            Check.holds(grid.array().getDouble(2, 1) == 5);
            Check.equal(grid.array().unit(), "mol/m³");
        }
        instance.send("out", tree);
        try (Message again = instance.receive("in")) {
            Check.equal(again.times(), tree.times());
            Tree.check(again.value());
        }
        // A copy stays after the message, and shares its arrays.
        Value copy = tree.value().copy();
        tree.close();
        Check.fails(LigamentException.Usage.class, "is closed", () -> tree.value());
        Tree.check(copy);
        ArrayView grid = copy.at("grid").array();
        copy.close();
        copy.close();
        Check.fails(IllegalStateException.class, "closed", () -> grid.getDouble(0, 0));
        Check.fails(LigamentException.Usage.class, "is closed", () -> copy.at("grid"));
        same(new Object[] {1, "a", null}, Arrays.asList(1L, "a", null));
    }

    static void records() {
        Point inner = new Point(2, 3, null, null, new long[] {4}, false, new Complex(0, 0), null);
        try (Message answer = told(new Point(0.5, 7, "p", List.of(inner), new long[] {1, -1}, true,
                new Complex(1, 2), null))) {
            Point point = answer.as(Point.class);
            Check.holds(point.x() == 0.5 && point.n() == 7 && point.name().equals("p") && point.flag());
            Check.equal(point.ids(), new long[] {1, -1});
            Check.equal(point.c(), new Complex(1, 2));
            Check.holds(point.inner().get(0).n() == 3 && point.inner().get(0).name() == null);
            Check.holds(point.rest().isNone());
            Check.fails(LigamentException.Unexpected.class, "no entry \"value\" for the record Number",
                    () -> answer.as(Number.class));
        }
        try (Message answer = told(Map.of("value", "text"))) {
            Check.fails(LigamentException.Unexpected.class, "in the value.value: ", () ->
                    answer.as(Number.class));
            Check.fails(LigamentException.Unexpected.class, "port \"in\"", () ->
                    answer.value().at("value").asLong());
        }
    }

    static void mistakes() {
        Check.fails(LigamentException.Usage.class, "the value.a[1] is a java.lang.Object",
                () -> instance.send("out", 0.0, Map.of("a", List.of(1, new Object()))));
        Check.fails(LigamentException.Usage.class, "the key 1, which is no String",
                () -> instance.send("out", 0.0, Map.of(1, 2)));
        Check.fails(LigamentException.Usage.class, "half a surrogate pair", () ->
                instance.send("out", 0.0, "a\ud800?"));
        Check.fails(LigamentException.Usage.class, "2^64", () ->
                instance.send("out", 0.0, BigInteger.ONE.shiftLeft(64)));
        Object[] endless = new Object[1];
        endless[0] = endless;
        Check.fails(LigamentException.Usage.class, "nested", () -> instance.send("out", 0.0, endless));
        Check.fails(LigamentException.Usage.class, "the name is null", () -> instance.send(null, 0.0, 1));
        Check.fails(LigamentException.Usage.class, "NUL", () -> instance.send("o\0ut", 0.0, 1));
        Check.fails(LigamentException.Usage.class, "needs the bytes 0 to 40", () -> Array.of(new double[4], 5));
        Check.fails(LigamentException.Usage.class, "row 1", () -> Array.of(new double[][] {{1}, {2, 3}}));
        Check.fails(LigamentException.Usage.class, "at most 8", () ->
                Array.of(new int[1], 1, 1, 1, 1, 1, 1, 1, 1, 1));
        // The first line of the stack trace is here, not in the binding.
        LigamentException thrown = Check.fails(LigamentException.Usage.class, "no port \"outt\"",
                () -> instance.send("outt", 0.0, 1));
        Check.holds(thrown.getStackTrace()[0].getFileName().equals("Teller.java"));
        Check.equal(thrown.statusName(), "LIG_ERR_USAGE");
    }
}
