import java.util.List;
import java.util.Map;
import org.ligament.Array;
import org.ligament.Instance;
import org.ligament.Message;
import org.ligament.Operator;

/** Multiplies each array by a setting. With an argument, it does something else at the time 1. */
final class Micro {
    public static void main(String[] arguments) {
        Map<Operator, List<String>> ports =
                Map.of(Operator.F_INIT, List.of("state"), Operator.O_F, List.of("result"));
        try (Instance instance = new Instance(ports)) {
            while (instance.reuseInstance()) {
                double factor = instance.getSettingDouble("factor");
                try (Message message = instance.receive("state")) {
                    double[][] field = message.array().toDoubleArray2D();
                    for (double[] row : field) {
                        for (int i = 0; i < row.length; i++) {
                            row[i] *= factor;
                        }
                    }
                    if (arguments.length > 0 && message.timestamp() == 1.0) {
                        field[1][2] += 0.25;
                    }
                    instance.send("result", message.timestamp(), Array.of(field));
                }
            }
        }
    }
}
