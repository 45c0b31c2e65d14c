import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.Message;
import org.ligament.Operator;

/** Starts from a level, and ends with its square. Replace what is computed by your own. */
public final class CLASS {
    public static void main(String[] arguments) {
        try (Instance instance = new Instance(
                Map.of(Operator.F_INIT, List.of("start"), Operator.O_F, List.of("end")))) {
            while (instance.reuseInstance()) {
                try (Message start = instance.receive("start")) {
                    double level = start.asDouble();
                    instance.send("end", start.timestamp(), level * level);
                }
            }
        }
    }
}
