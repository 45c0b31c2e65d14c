import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.Message;
import org.ligament.Operator;

/** A macro model that starts an echo again in each step. It sends times, and a text that changes. */
public final class Restarts {
    public static void main(String[] arguments) {
        try (Instance instance = new Instance(Map.of(Operator.O_I, List.of("out"), Operator.S,
                List.of("in")))) {
            while (instance.reuseInstance()) {
                for (int step = 0; step < 2000; step++) {
                    instance.send("out", step, new double[] {step, -step});
                    try (Message message = instance.receive("in")) {
                        Check.holds(message.timestamp() == step && message.array().getDouble(1) == -step);
                    }
                }
            }
        }
    }
}
