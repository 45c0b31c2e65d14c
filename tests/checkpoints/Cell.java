import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.InstanceFlag;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Submodel;
import org.ligament.SubmodelState;

/**
 * The micro model as a submodel that the library drives: with "light" as argument by runLight, otherwise by
 * runSubmodel.
 */
final class Cell extends Submodel implements SubmodelState {
    /** Sum, passes, first time, step, value. */
    private double[] state = new double[5];

    @Override
    public void initialise(Instance instance) {
        try (Message message = instance.receive("in")) {
            state[2] = message.timestamp();
            state[3] = 0;
            state[4] = message.asDouble();
        }
    }

    @Override
    public boolean isDone() {
        return state[3] >= 5;
    }

    @Override
    public void solve(Instance instance) {
        state[4] = state[4] * 0.7 + 0.01 * state[0];
        state[3] += 1;
    }

    @Override
    public void observeFinal(Instance instance) throws IOException {
        state[0] += state[4];
        state[1] += 1;
        Files.writeString(Path.of("end.txt"), (long) state[1] + " " + state[0] + "\n");
        instance.send("out", state[2] + 0.5, state[4]);
    }

    @Override
    public double modelTime() {
        return state[2] + 0.1 * state[3];
    }

    @Override
    public void save(Instance instance) {
        instance.saveSnapshot(modelTime(), state);
    }

    @Override
    public void restore(Instance instance) throws IOException {
        try (Message message = instance.loadSnapshot()) {
            state = message.as(double[].class);
        }
        Files.writeString(Path.of("resumed.txt"), Math.round(state[3]) + "\n");
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0 && arguments[0].equals("light")) {
            Instance.runLight(null, made -> new Cell(), InstanceFlag.USES_CHECKPOINT_API);
            return;
        }
        Map<Operator, List<String>> ports =
                Map.of(Operator.F_INIT, List.of("in"), Operator.O_F, List.of("out"));
        try (Instance instance = new Instance(ports, InstanceFlag.USES_CHECKPOINT_API)) {
            instance.runSubmodel(new Cell());
        }
    }
}
