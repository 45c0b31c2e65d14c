import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Operator;
import org.ligament.Version;

/** The parts of the Java face that need no run. */
public final class WithoutRun {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            Check.fails(LigamentException.Registration.class, arguments[0], Instance::new);
            // Makes the same error again by another call: it must not be an error of the class loader.
            Check.fails(LigamentException.Registration.class, arguments[0], Version::version);
            Check.fails(LigamentException.Registration.class, arguments[0], () ->
                    Instance.runLight(instance -> null));
            return;
        }
        Check.holds(Version.version().matches("\\d+\\.\\d+\\.\\d+"));
        Check.fails(LigamentException.Registration.class, "ligament run", Instance::new);
        Check.fails(LigamentException.class, "", () -> new Instance(
                Map.of(Operator.F_INIT, List.of("a", "b[]"), Operator.O_F, List.of("c"))));
        Check.fails(LigamentException.Registration.class, "ligament run", () ->
                Instance.runLight(instance -> null));
    }
}
