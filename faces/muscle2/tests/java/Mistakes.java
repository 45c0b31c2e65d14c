import java.io.Serializable;
import java.util.Locale;
import muscle.core.kernel.Submodel;
import muscle.core.model.Distance;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** Calls that fail, each in its kind of error. The setting `mistake` names the mistake. */
public class Mistakes extends Submodel {
    @Override
    protected void addPortals() {
        if (mistake("type")) {
            addExit("in", double[].class);
        } else {
            addExit("in", Serializable.class);
        }
        addEntrance("out", Serializable.class);
        addEntrance("free", Serializable.class);
        caught("port", () -> addExit("inn", double[].class));
        caught("direction", () -> addEntrance("in", double[].class));
        caught("twice", () -> addExit("in", double[].class));
    }

    private boolean mistake(String name) {
        return getProperty("mistake").equals(name);
    }

    private void caught(String name, Runnable call) {
        if (!mistake(name)) {
            return;
        }
        try {
            call.run();
            System.out.println("no mistake");
        } catch (RuntimeException thrown) {
            System.out.println(thrown.getClass().getSimpleName() + ": " + thrown.getMessage());
        }
    }

    private void receiveAll() {
        in("in").receive();
        in("in").receive();
    }

    @Override
    protected void solvingStep() {
        caught("outside", () -> addExit("more", double[].class));
        caught("setting", () -> getProperty("colour"));
        caught("whole", () -> getIntProperty("mistake"));
        caught("truth", () -> getBooleanProperty("mistake"));
        caught("path", () -> in("inn"));
        caught("part", () -> out("out"));
        caught("type", () -> in("in").receive());
        caught("end", this::receiveAll);
        caught("unit", () -> Distance.valueOf("3 furlongs"));
        caught("length", () -> Timestamp.ZERO.add(Distance.valueOf("3 m")));
        if (mistake("uncaught")) {
            throw new IllegalStateException("the heat is lost");
        }
        if (mistake("unhandled")) {
            receiveAll();
        }
    }

    @Override
    protected boolean endCondition() {
        return mistake("restart") || super.endCondition();
    }

    @Override
    protected void finalObservation() {
        caught("object", () -> out("out").send(Locale.ROOT));
        caught("rows", () -> out("out").send(new int[][] {{1, 2}, {3}}));
        caught("infinite", () -> out("out").send(1, new Timestamp(Double.POSITIVE_INFINITY)));
        caught("null", () -> out("out").send((Observation<Serializable>) null));
        caught("untimed", () -> out("out").send(1, null, null));
        out("free").close();
        caught("closed", () -> out("free").send(1));
    }

    @Override
    protected boolean restartSubmodel() {
        caught("restart", () -> init(originTime));
        return false;
    }
}
