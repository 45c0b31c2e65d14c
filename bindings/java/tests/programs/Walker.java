import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Message;
import org.ligament.Submodel;

/**
 * A light component of a ring, which passes numbers on. With "fail=true", one of them throws in its third step.
 */
public final class Walker extends Submodel {
    static Instance another;

    final Instance own;
    final long steps;
    long value;
    int step;

    Walker(Instance instance) {
        own = instance;
        steps = instance.getSettingLong("steps");
        value = instance.getSettingLong("start");
        if (another != null) {
            Check.fails(LigamentException.Usage.class, "light component", () -> another.isConnected("in"));
        }
        another = instance;
    }

    @Override
    public void initialise(Instance instance) {
        step = 0;
    }

    @Override
    public boolean isDone() {
        return step == steps;
    }

    @Override
    public void observe(Instance instance) {
        Check.holds(instance == own);
        instance.send("out", step, value);
    }

    @Override
    public void solve(Instance instance) {
        try (Message message = instance.receive("in")) {
            value = message.asLong();
        }
        step++;
        if (step == 3 && instance.getSettingBoolean("fail", false) && value == 100) {
            throw new IllegalStateException("a walker fell");
        }
    }

    @Override
    public void observeFinal(Instance instance) {
        System.out.println(instance.name() + " ends with " + value);
    }

    @Override
    public void close() {
        Check.fails(LigamentException.Usage.class, "is closed", () -> own.isConnected("in"));
    }

    public static void main(String[] arguments) throws Exception {
        Instance.runLight(Walker::new);
        System.out.println("all are over");
    }
}
