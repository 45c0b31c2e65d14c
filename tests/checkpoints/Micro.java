import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.InstanceFlag;
import org.ligament.LigamentException;
import org.ligament.Message;
import org.ligament.Operator;

/** A micro model that keeps a sum of all of its passes, and saves within and between them. */
final class Micro {
    /** The state: sum, passes, first time, step, value. */
    private double[] state = new double[5];
    private final Instance instance;

    private Micro(Instance instance) {
        this.instance = instance;
    }

    /** The file of the code's own beside its message. */
    private Path ownFile() {
        return instance.snapshotDirectory().resolve("sum.txt");
    }

    private void load() throws IOException {
        double sum = Double.parseDouble(Files.readString(ownFile()));
        try (Message message = instance.loadSnapshot()) {
            state = message.as(double[].class);
        }
        if (sum != state[0]) {
            throw new IllegalStateException(sum + " is not " + state[0]);
        }
        Files.writeString(Path.of("resumed.txt"), Math.round(state[3]) + "\n");
    }

    /** A wrong call at the beginning of a pass. */
    private void callOutOfOrder() throws IOException {
        try {
            instance.shouldInit();
            throw new IllegalStateException("the call was in order");
        } catch (LigamentException.Usage error) {
            Files.writeString(Path.of("order.txt"), error.getMessage() + "\n");
        }
    }

    private void pass() throws IOException {
        if (instance.resuming()) {
            load();
        }
        if (instance.shouldInit()) {
            try (Message message = instance.receive("in")) {
                state[2] = message.timestamp();
                state[3] = 0;
                state[4] = message.asDouble();
            }
        }
        while (state[3] < 5) {
            state[4] = state[4] * 0.7 + 0.01 * state[0];
            state[3] += 1;
            double time = state[2] + 0.1 * state[3];
            if (instance.shouldSaveSnapshot(time)) {
                Files.writeString(ownFile(), Double.toString(state[0]));
                instance.saveSnapshot(time, state);
            }
        }
        state[0] += state[4];
        state[1] += 1;
        instance.send("out", state[2] + 0.5, state[4]);
        if (instance.shouldSaveFinalSnapshot()) {
            Files.writeString(ownFile(), Double.toString(state[0]));
            instance.saveFinalSnapshot(state[2] + 0.5, state);
        }
    }

    public static void main(String[] arguments) throws IOException {
        Map<Operator, List<String>> ports =
                Map.of(Operator.F_INIT, List.of("in"), Operator.O_F, List.of("out"));
        try (Instance instance = new Instance(ports, InstanceFlag.USES_CHECKPOINT_API)) {
            Micro micro = new Micro(instance);
            while (instance.reuseInstance()) {
                if (micro.state[1] == 0) {
                    micro.callOutOfOrder();
                }
                micro.pass();
            }
            Files.writeString(Path.of("end.txt"), (long) micro.state[1] + " " + micro.state[0] + "\n");
        }
    }
}
