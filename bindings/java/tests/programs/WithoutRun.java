import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Operator;
import org.ligament.Version;

/** What there is outside a run. */
public final class WithoutRun {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            Check.fails(LigamentException.Registration.class, arguments[0], Instance::new);
            // Again, and by another way in: the same error, not one of the class loader's.
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
