import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Message;
import org.ligament.Operator;
import org.ligament.Times;

/** ABOUT Made by `ligament new`: put your own code where it says "compute". */
public final class CLASS {
    public static void main(String[] arguments) {
        try (Instance instance = new Instance(Map.of(PORTS))) {
            while (instance.reuseInstance()) {
                double t = 0, dt = 1;
                double[] state = new double[3];
BODY
            }
        }
    }
}
