import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import muscle.core.ConduitEntrance;
import muscle.core.ConduitExit;
import muscle.core.kernel.CAController;

/** Sends a value of each type to itself, and says what comes back. */
public class Types extends CAController {
    private ConduitEntrance<Serializable> out;
    private ConduitExit<Serializable> in;

    @Override
    protected void addPortals() {
        out = addEntrance("out", Serializable.class);
        in = addExit("in", Serializable.class);
        addEntrance("texts-out", String[].class);
        addExit("texts", String[].class);
        addEntrance("long-out", Long.class);
        addExit("int", Integer.class);
    }

    private static List<Serializable> values() {
        HashMap<String, Serializable> map = new HashMap<>(Map.of("a", 1, "b", "text"));
        map.put("c", new ArrayList<>(List.of(1.5f, true, "x")));
        map.put("none", null);
        return List.of(true, (byte) -1, (short) 300, 70000, 1L << 40, 1.5f, -0.0, Double.NaN, "h\u00f6he", "",
                new boolean[] {true, false}, new byte[] {-1, 2}, new short[] {3}, new int[] {4, 5}, new int[0],
                new long[] {6}, new float[] {7.5f}, new double[] {8.5, Double.NEGATIVE_INFINITY},
                new boolean[][] {{true}, {false}}, new byte[][] {{1, 2}}, new short[][][] {{{1}, {2}}},
                new int[][] {{1, 2, 3}, {4, 5, 6}}, new long[][] {{1}, {2}}, new float[][][] {{{1, 2}, {3, 4}}},
                new double[][][][] {{{{1, 2}}, {{3, 4}}, {{5, 6}}}}, new double[2][0], map,
                new ArrayList<>(List.of(1, "two")));
    }

    @Override
    protected void execute() {
        out.send((Serializable) null);
        System.out.println(in.receive());
        for (Serializable value : values()) {
            out.send(value);
            Object found = in.receive();
            System.out.println(found.getClass().getSimpleName() + " "
                    + (Objects.deepEquals(value, found) && isSameClass(value, found)));
        }
        out("texts-out").send(new String[] {"a", "b"});
        System.out.println(String.join(" ", this.<String[]>in("texts").receive()));
        out("long-out").send(7L);
        System.out.println(this.<Integer>in("int").receive());
        // A row that is changed behind a send has been copied.
        double[][] rows = {{1}, {2}};
        out.send(rows);
        rows[0][0] = 9;
        System.out.println(((double[][]) in.receive())[0][0]);
    }

    private static boolean isSameClass(Object value, Object found) {
        return value.getClass() == found.getClass() || value instanceof Map || value instanceof List;
    }
}
