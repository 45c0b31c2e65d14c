// Calls the operations that the other driver in Java does not use, and prints their results (README.md).

import java.util.List;
import java.util.Map;
import org.ligament.DType;
import org.ligament.Inputs;
import org.ligament.Instance;
import org.ligament.Loan;
import org.ligament.LogLevel;
import org.ligament.Mapper;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Outputs;
import org.ligament.PortSlot;
import org.ligament.Received;
import org.ligament.Submodel;
import org.ligament.Times;

public final class Operations {
    static int one(boolean truth) {
        return truth ? 1 : 0;
    }

    static void about(Instance instance) {
        instance.setInterruptCheck(() -> false);
        instance.log(LogLevel.WARNING, "said by the giver");
        System.out.println("name " + instance.name() + "\nindex " + instance.index().length + "\nrank "
            + instance.rank() + " of " + instance.ranks() + "\nrun " + one(!instance.runName().isEmpty())
            + "\nports " + instance.listPorts(Operator.O_I).size() + " "
            + instance.listPorts(Operator.S).size() + "\nconnected " + one(instance.isConnected("deal")) + " "
            + one(instance.isConnected("nothing")) + "\nvector " + one(instance.isVectorPort("deal")) + " "
            + one(instance.isVectorPort("plain")) + "\nresizable " + one(instance.isResizable("deal")) + " "
            + one(instance.isResizable("plain")));
        instance.setPortLength("deal", 2);
        System.out.println("length " + instance.getPortLength("deal") + "\nsetting "
                + (int) (4 * (double) instance.getSetting("ratio")) + "\nsettings "
                + instance.listSettings().size());
        instance.declareSteerable("ratio", 0, 1, "m", false);
        System.out.println("steered " + one(instance.steer(0)) + " " + one(instance.steer(1)) + " "
                + (int) (4 * (double) instance.getSetting("ratio")));
    }

    static void giver() {
        try (Instance instance = new Instance(Map.of(Operator.O_I, List.of("deal[]", "plain"),
                Operator.S, List.of("back[]", "nothing")))) {
            if (!instance.reuseInstance()) {
                throw new IllegalStateException("there is no pass");
            }
            about(instance);
            instance.send("deal", 1.0, 5, 0);
            Loan loan = instance.loan(DType.FLOAT64, 2);
            loan.setDouble(1, 0);
            loan.setDouble(2, 1);
            instance.send("deal", 1.0, loan, 1);

            int first = instance.waitAny(List.of(new PortSlot("back", 0), new PortSlot("back", 1)));
            System.out.println("first " + first + " " + one(instance.poll("back", 0)));
            System.out.println("more " + one(instance.hasNext("back", 0)));
            try (Message message = instance.receive("back", 0)) {
                System.out.println("came " + message.asInt() + " " + (int) message.timestamp() + "\noverlay "
                        + one(message.settings() != null));
            }
            double[] two = new double[2];
            instance.receiveInto("back", org.ligament.Array.of(two), 1);
            System.out.println("into " + (int) (two[0] + two[1]));
            System.out.println("nothing " + one(instance.receiveIfConnected("nothing") != null));
            try (Received received = instance.receiveAny(List.of(new PortSlot("back", 0)))) {
                System.out.println("any " + received.which() + " "
                        + received.message().array(DType.INT64, 1).getLong(0));
            }
            try (Message message = instance.receiveWithSettings("back", 1)) {
                System.out.println("under " + message.settings().at("k").asLong() + " " + message.asInt());
            }
            System.out.println("more " + one(instance.hasNext("back", 1)));
            instance.finish();
            instance.errorShutdown("it is over, so that nobody hears this");
        }
    }

    /** Receives on two slots, and sends both messages back. Then it sends a third message, and one with an
     * overlay of its own. */
    static final class Taker extends Submodel {
        private boolean done;

        Taker(boolean done) {
            this.done = done;
        }

        @Override
        public void initialise(Instance instance) {}

        @Override
        public boolean isDone() {
            return done;
        }

        @Override
        public void observe(Instance instance) {}

        @Override
        public void solve(Instance instance) {
            done = true;
            try (Message first = instance.receive("deal", 0); Message second = instance.receive("deal", 1)) {
                instance.setPortLength("back", 2);
                instance.send("back", first, 0);
                instance.send("back", second, 1);
            }
            instance.send("back", 2.0, new long[] {7}, 0);
            instance.sendUnder(Map.of("k", 3), "back", Times.of(2.0), 9, 1);
        }

        @Override
        public void observeFinal(Instance instance) {}
    }

    /** Adds up all inputs, and multiplies the number of each slot by a setting. */
    static final class Scale extends Mapper {
        Scale() {
            super(List.of("a", "b[]"), List.of("sum", "each[]", "spare"));
        }

        @Override
        public void map(Inputs inputs, Outputs outputs) {
            Instance instance = outputs.instance();
            outputs.send("spare", 0.0);
            if ((boolean) instance.getSetting("lazy")) {
                return;
            }
            double a = inputs.message("a").asDouble();
            List<Message> b = inputs.slots("b");
            instance.setPortLength("each", b.size());
            double sum = a;
            for (int slot = 0; slot < outputs.slots("each"); slot++) {
                double one = b.get(slot).asDouble();
                sum += one;
                outputs.send("each", new double[] {a * one, one}, slot);
            }
            outputs.send("sum", instance.getSettingDouble("factor") * sum);
        }
    }

    /** Sends the two rows of the array that this rank has. */
    static void rows() {
        try (Instance instance = new Instance(Map.of(Operator.O_I, List.of("rows")))) {
            instance.reuseInstance();
            int first = 2 * instance.rank();
            instance.mapBlock("rows", new long[] {first, 0}, new long[] {2, 6});
            for (int step = 0; step < 3; step++) {
                double[] part = new double[12];
                for (int i = 0; i < 12; i++) {
                    part[i] = 10 * (first + i / 6) + i % 6 + 100 * step;
                }
                instance.send("rows", (double) step, org.ligament.Array.of(part, 2, 6));
            }
            instance.finish();
        }
    }

    /** Receives the part of the array that belongs to this rank. */
    static void part() {
        try (Instance instance = new Instance(Map.of(Operator.S, List.of("part")))) {
            instance.reuseInstance();
            long[] whole = instance.arrayShape("part");
            System.out.println("array " + whole[0] + " " + whole[1]);
            switch (instance.rank()) {
                case 0 -> instance.mapRange("part", 3, 9);
                case 1 -> instance.mapList("part", new long[] {23, 0, 7});
                default -> instance.mapBlock("part", new long[] {1, 2}, new long[] {3, 4});
            }
            for (int step = 0; step < 3; step++) {
                double[] values = new double[instance.rank() == 0 ? 6 : instance.rank() == 1 ? 3 : 12];
                if (instance.rank() == 2) {
                    instance.receiveInto("part", org.ligament.Array.of(values, 3, 4));
                } else {
                    instance.receiveInto("part", values);
                }
                double sum = 0;
                for (int i = 0; i < values.length; i++) {
                    sum += (i + 1) * values[i];
                }
                System.out.println("part " + (int) sum);
            }
            instance.finish();
        }
    }

    /** Sends three events in each tick. */
    static void pulse() {
        try (Instance instance = new Instance(Map.of(Operator.O_I, List.of("spikes")))) {
            instance.reuseInstance();
            for (int step = 0; step < 3; step++) {
                double now = instance.time();
                int first = 10 * step + instance.rank();
                instance.insertEvent("spikes", now, first);
                instance.insertEvents("spikes", new double[] {now + 0.00025, now + 0.0005},
                        new int[] {first + 2, first + 4});
                instance.tick();
            }
            instance.finish();
        }
    }

    /** Prints the sum of the events that are delivered in each tick. */
    static void count() {
        try (Instance instance = new Instance(Map.of(Operator.S, List.of("input")))) {
            instance.reuseInstance();
            for (int step = 0; step < 3; step++) {
                instance.tick();
                org.ligament.EventBatch events = instance.events("input");
                System.out.println("tick " + Math.round(1e6 * instance.time()) + " ids "
                        + java.util.Arrays.stream(events.ids()).sum() + " times "
                        + Math.round(1e6 * java.util.Arrays.stream(events.times()).sum()));
            }
            instance.finish();
        }
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "giver" -> giver();
            case "rows" -> rows();
            case "part" -> part();
            case "pulse" -> pulse();
            case "count" -> count();
            case "taker" -> {
                try (Instance instance = new Instance(Map.of(Operator.S, List.of("deal[]"),
                        Operator.O_I, List.of("back[]")))) {
                    instance.runSubmodel(new Taker(false));
                }
            }
            case "mapper" -> Instance.runMapper(new Scale());
            default -> Instance.runLight(instance -> new Taker(true));
        }
    }
}
