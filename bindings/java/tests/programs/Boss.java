import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ligament.Array;
import org.ligament.ArrayView;
import org.ligament.DType;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.LogLevel;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Parallelism;
import org.ligament.PortSlot;
import org.ligament.Received;
import org.ligament.SettingKind;
import org.ligament.Times;

/** Gives tasks to three workers, and meanwhile makes all kinds of calls on ports. */
public final class Boss {
    static void ports(Instance instance) {
        Check.equal(instance.listPorts(), Map.of(Operator.O_I, List.of("tasks", "spare"),
                Operator.S, List.of("results", "nowhere")));
        Check.holds(instance.isConnected("tasks") && !instance.isConnected("spare"));
        Check.holds(instance.isVectorPort("results") && instance.getPortLength("results") == 3);
        Check.holds(!instance.isResizable("results"));
        Check.holds(instance.name().equals("boss") && instance.index().length == 0
                && !instance.runName().isEmpty());
        Check.fails(LigamentException.Usage.class, "not a vector port", () -> instance.getPortLength("spare"));
        Check.fails(LigamentException.Usage.class, "-1 slots", () -> instance.setPortLength("results", -1));
        Check.fails(LigamentException.Usage.class, "no port \"taks\"", () -> instance.send("taks", 0.0, null));
        Check.fails(LigamentException.Usage.class, "receives", () -> instance.send("results", 0.0, 1, 0));
        Check.fails(LigamentException.Usage.class, "which slot", () -> instance.send("tasks", 0.0, 1));
        Check.fails(LigamentException.Usage.class, "no slot 3", () -> instance.send("tasks", 0.0, 1, 3));
        Check.fails(LigamentException.Usage.class, "no slot -2", () -> instance.send("tasks", 0.0, 1, -2));
        Check.fails(LigamentException.Usage.class, "sends", () -> instance.receive("tasks"));
        Check.fails(LigamentException.Usage.class, "nothing is connected", () -> instance.receive("nowhere"));
        Check.equal(instance.receiveIfConnected("nowhere"), null);
        Check.fails(LigamentException.Usage.class, "sends", () -> instance.receiveIfConnected("spare"));
        Check.fails(
            LigamentException.Usage.class, "no slot 3", () -> instance.receiveIfConnected("results", 3));
        instance.send("spare", 0.0, new double[] {1, 2});
        // A large number of names does no harm.
        for (int i = 0; i < 3000; i++) {
            String name = "port" + i;
            Check.fails(LigamentException.Usage.class, name, () -> instance.isConnected(name));
        }
    }

    static void settings(Instance instance) {
        Check.holds(instance.getSettingBoolean("flag"));
        Check.holds(instance.getSettingInt("count") == 3 && instance.getSettingLong("count") == 3
                && instance.getSettingDouble("count") == 3.0);
        Check.equal(instance.getSettingDouble("ratio"), 0.25);
        Check.equal(instance.getSettingString("title"), "a title");
        Check.equal(instance.getSettingLongs("integers"), new long[] {1, -2});
        Check.equal(instance.getSettingDoubles("integers"), new double[] {1, -2});
        Check.equal(instance.getSettingDoubles("numbers"), new double[] {0.5, 1.5});
        Check.equal(instance.getSettingGrid("grid"), new double[][] {{1, 2}, {3, 4}});
        Check.equal(instance.getSettingKind("grid"), SettingKind.FLOAT_GRID);
        Check.equal(instance.getSetting("count"), 3L);
        Check.equal(instance.getSetting("title"), "a title");
        Check.equal(instance.getSetting("grid"), new double[][] {{1, 2}, {3, 4}});
        Check.equal(instance.listSettings().size(), 7);
        Check.fails(LigamentException.SettingType.class, "title", () -> instance.getSettingLong("title"));
        Check.fails(LigamentException.SettingUnset.class, "absent", () -> instance.getSettingLong("absent"));
        Check.fails(LigamentException.Setting.class, "absent", () -> instance.getSettingLong("absent"));
        Check.holds(instance.getSettingInt("absent", 5) == 5 && instance.getSettingInt("count", 5) == 3);
        Check.equal(instance.getSettingString("absent", "text"), "text");
        Check.equal(instance.getSettingDoubles("absent", null), null);
        Check.fails(LigamentException.SettingType.class, "title", () -> instance.getSettingInt("title", 5));
    }

    public static void main(String[] arguments) {
        try (Instance instance = new Instance(Map.of(Operator.O_I, List.of("tasks[]", "spare"),
                Operator.S, List.of("results[]", "nowhere")), new Parallelism(2, 3))) {
            Check.fails(LigamentException.Usage.class, "-1 ranks", () -> new Parallelism(-1, 0));
            Check.holds(instance.reuseInstance());
            ports(instance);
            settings(instance);
            instance.log(LogLevel.WARNING, "the boss begins");
            Check.fails(LigamentException.Registration.class, "", Instance::new);

            // The workers have no task yet, so no message comes.
            Duration shortly = Duration.ofMillis(20);
            Check.fails(LigamentException.TimedOut.class, "results[0]",
                    () -> instance.receiveWithin("results", shortly, 0));
            Check.fails(LigamentException.TimedOut.class, "", () -> instance.waitAnyWithin(
                    List.of(new PortSlot("results", 0), new PortSlot("results", 1)), shortly));
            Check.fails(LigamentException.TimedOut.class, "", () -> instance.receiveAnyWithin(
                    List.of(new PortSlot("results", 0), new PortSlot("results", 1)), shortly));
            Check.holds(!instance.poll("results", 2));

            // Each worker gets one task. The answers are loans, and come in any order.
            for (int i = 0; i < 3; i++) {
                instance.send("tasks", 1.0, 10 * i, i);
            }
            List<PortSlot> left = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                left.add(new PortSlot("results", i));
            }
            while (!left.isEmpty()) {
                try (Received received = instance.receiveAny(left)) {
                    int from = left.remove(received.which()).slot();
                    Message message = received.message();
                    ArrayView view = message.array(DType.FLOAT64, 40, -1);
                    message.array(null, 40, 50);
                    String words = "port \"results[" + from + "]\" from worker[" + from + "].out, where ";
                    Check.fails(LigamentException.Unexpected.class, words + "an array of int32 was expected",
                            () -> message.array(DType.INT32));
                    Check.fails(LigamentException.Unexpected.class,
                            words + "an array of float64 with shape [any, 51] was expected",
                            () -> message.array(DType.FLOAT64, -1, 51));
                    Check.fails(LigamentException.Unexpected.class, "with shape [] was expected",
                            () -> message.array(null, new long[0]));
                    Check.fails(LigamentException.Usage.class, "at most 8",
                            () -> message.array(null, new long[9]));
                    Check.equal(view.shape(), new long[] {40, 50});
                    for (int i = 0; i < 2000; i++) {
                        Check.holds(view.getDouble(i / 50, i % 50) == 10.0 * from + i);
                    }
                }
            }

            // Sends every second column of a table. The workers receive it into arrays of their own and send
            // back the sum.
            int[] table = new int[16];
            java.util.Arrays.setAll(table, i -> i);
            try (Arena arena = Arena.ofConfined()) {
                Array inMemory = Array.of(DType.INT32, arena.allocateFrom(ValueLayout.JAVA_INT, table), 4,
                        2).strides(16, 8);
                Array onHeap = Array.of(table, 4, 2).strides(16, 8);
                for (int i = 0; i < 3; i++) {
                    instance.send("tasks", 2.0, i == 1 ? inMemory : onHeap, i);
                }
            }
            for (int i = 0; i < 3; i++) {
                try (Message message = instance.receive("results", i)) {
                    Check.equal(message.asInt(), 0 + 2 + 4 + 6 + 8 + 10 + 12 + 14);
                    LigamentException thrown = Check.fails(LigamentException.Unexpected.class, "an integer",
                            message::array);
                    Check.holds(
                        thrown.getMessage().contains("port \"results[" + i + "]\" from worker[" + i + "].out"));
                }
            }

            // Sends arrays of another shape and of another type than the workers expect. Then the conduits end.
            float[] four = {-1, -1, -1, -1};
            float[] five = new float[5];
            double[] doubles = {-1, -1, -1, -1, -1};
            Check.fails(LigamentException.Unexpected.class, "[5]", () ->
                    instance.receiveInto("results", Array.of(four), 0));
            Check.fails(LigamentException.Unexpected.class, "float64",
                    () -> instance.receiveInto("results", Array.of(doubles), 1));
            Check.holds(four[0] == -1 && doubles[0] == -1);
            Times times = instance.receiveInto("results", Array.of(five), 2);
            Check.equal(times, Times.of(3));
            Check.equal(five, new float[] {0, 1, 2, 3, 4});
            Check.fails(LigamentException.Closed.class, "results[1]", () -> instance.receive("results", 1));
            Check.holds(instance.poll("results", 1));
            Check.fails(LigamentException.Closed.class, "have ended",
                ()
                    -> instance.receiveAny(List.of(
                        new PortSlot("results", 0), new PortSlot("results", 1), new PortSlot("results", 2))));

            Check.holds(!instance.reuseInstance());
            Check.fails(LigamentException.Usage.class, "is over", () -> instance.send("spare", 0.0, 1));
            instance.finish();
        }
    }
}
