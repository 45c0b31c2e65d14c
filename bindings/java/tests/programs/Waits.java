import java.time.Duration;
import org.ligament.Instance;

/** Waits for a message that does not come, until a signal ends the program. */
public final class Waits {
    public static void main(String[] arguments) {
        try (Instance instance = new Instance()) {
            Check.holds(instance.reuseInstance());
            System.out.println("waiting");
            System.out.flush();
            instance.receiveWithin("in", Duration.ofHours(1)).close();
        }
    }
}
