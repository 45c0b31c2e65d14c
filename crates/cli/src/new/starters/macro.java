import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Times;

/** Steps forward in time, and in every step asks a finer model. Replace what is computed by your own. */
public final class CLASS {
    public static void main(String[] arguments) {
        try (Instance instance = new Instance(
                Map.of(Operator.O_I, List.of("state"), Operator.S, List.of("result")))) {
            while (instance.reuseInstance()) {
                double tMax = instance.getSettingDouble("t_max");
                double state = 1;
                for (double t = 0; t < tMax; t += 1) {
                    instance.send("state", t + 1 < tMax ? Times.of(t, t + 1) : Times.of(t), state);
                    try (Message result = instance.receive("result")) {
                        System.out.println("at " + t + " the finer model says " + result.asDouble());
                        state = result.asDouble() + 1;
                    }
                }
            }
        }
    }
}
