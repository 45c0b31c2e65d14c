import java.util.List;
import java.util.Map;
import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Message;
import org.ligament.Operator;

/** Ends in the middle of a run, in the way that its argument names. */
public final class Uncaught {
    static final class Diverged extends RuntimeException {
        Diverged(String text, Throwable cause) {
            super(text, cause);
        }
    }

    static Instance instance() {
        Instance instance = new Instance(Map.of(Operator.O_I, List.of("out"), Operator.S, List.of("in")));
        Check.holds(instance.reuseInstance());
        instance.send("out", 0.0, "text");
        return instance;
    }

    static void throwsIt(String what, Instance instance) {
        switch (what) {
            case "library", "caught" -> {
                try (Message message = instance.receive("in")) {
                    message.asLong();
                }
            }
            case "setting" -> instance.getSettingDouble("absent");
            case "own" -> throw new Diverged("in step 3", new ArithmeticException("a root of -1"));
            case "error" -> throw new OutOfMemoryError("of the heap");
            case "exit" -> {
                System.out.println("cannot go on");
                System.exit(3);
            }
            default -> { }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        String what = arguments[0];
        if (what.equals("open")) {
            throwsIt("own", instance());
        }
        if (what.equals("caught") || what.equals("setting")) {
            try (Instance instance = instance()) {
                throwsIt(what, instance);
            } catch (LigamentException problem) {
                System.err.println("main says: " + problem.getMessage());
                System.exit(1);
            }
        }
        if (what.equals("thread")) {
            // An exception of another thread than the one that made the instance does not end the instance.
            Thread other = new Thread(() -> {
                throw new Diverged("elsewhere", null);
            });
            other.start();
            other.join();
            try (Instance instance = instance()) {
                instance.receive("in").close();
                Thread later = new Thread(() -> {
                    throw new Diverged("elsewhere", null);
                });
                later.start();
                later.join();
                Check.holds(!instance.reuseInstance());
            }
            return;
        }
        if (what.equals("finish")) {
            try (Instance instance = instance()) {
                instance.receive("in").close();
                instance.finish();
            }
            return;
        }
        try (Instance instance = instance()) {
            throwsIt(what, instance);
        }
    }
}
