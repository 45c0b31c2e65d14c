import org.ligament.Instance;
import org.ligament.LigamentException;
import org.ligament.Message;
import org.ligament.Submodel;

/** A formal submodel that counts to three with an echo. With an argument, one of its functions throws. */
public final class Formal extends Submodel {
    static final class NoConvergence extends Exception {
        NoConvergence() {
            super("the third step does not converge");
        }
    }

    final String fails;
    int step;
    int initialised;
    int observed;
    int finished;

    Formal(String fails) {
        this.fails = fails;
    }

    @Override
    public void initialise(Instance instance) {
        initialised++;
        if (fails.equals("error")) {
            throw new StackOverflowError("too deep");
        }
        Check.fails(LigamentException.Usage.class, "cannot be closed in a function", instance::close);
        Check.fails(LigamentException.Usage.class, "runs already", () -> instance.runSubmodel(this));
    }

    @Override
    public boolean isDone() {
        if (fails.equals("done") && step == 1) {
            throw new IllegalStateException("who knows whether it is done");
        }
        return step == 3;
    }

    @Override
    public void observe(Instance instance) {
        observed++;
        instance.send("out", step, step);
    }

    @Override
    public void solve(Instance instance) throws Exception {
        try (Message message = instance.receive("in")) {
            Check.equal(message.asInt(), step);
            if (fails.equals("library") && step == 2) {
                message.asString();
            }
        }
        if (fails.equals("solve") && step == 2) {
            throw new NoConvergence();
        }
        step++;
    }

    @Override
    public void observeFinal(Instance instance) {
        finished++;
    }

    public static void main(String[] arguments) throws Exception {
        String fails = arguments.length > 0 ? arguments[0] : "";
        Formal counter = new Formal(fails);
        try (Instance instance = new Instance()) {
            switch (fails) {
                case "solve" -> Check.fails(NoConvergence.class, "does not converge", () ->
                        instance.runSubmodel(counter));
                case "done" -> Check.fails(IllegalStateException.class, "who knows", () ->
                        instance.runSubmodel(counter));
                case "error" -> Check.fails(StackOverflowError.class, "too deep", () ->
                        instance.runSubmodel(counter));
                default -> {
                    instance.runSubmodel(counter);
                    Check.holds(counter.step == 3 && counter.initialised == 1 && counter.observed == 3
                            && counter.finished == 1);
                }
            }
        }
        System.out.println("the last words");
    }
}
