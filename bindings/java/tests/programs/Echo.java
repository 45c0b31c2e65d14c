import org.ligament.Instance;
import org.ligament.Message;
import org.ligament.Operator;
import java.util.List;
import java.util.Map;

/** A micro model that takes each received value apart, builds it again, and sends it back. */
public final class Echo {
    public static void main(String[] arguments) {
        Map<Operator, List<String>> ports = Map.of(Operator.F_INIT, List.of("in"), Operator.O_F,
                List.of("out"));
        try (Instance instance = new Instance(ports)) {
            while (instance.reuseInstance()) {
                try (Message message = instance.receive("in")) {
                    instance.send("out", message.times(), message.toObject());
                }
            }
        }
    }
}
