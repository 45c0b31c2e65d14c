import java.io.Serializable;
import muscle.core.kernel.CAController;

/** Receives a message, and says when the next one comes, and how long a step of its own is. */
public class Receiver extends CAController {
    @Override
    protected void addPortals() {
        addExit("in", double[].class);
        addEntrance("out", Serializable.class);
    }

    @Override
    protected void execute() {
        System.out.println(in("in").receiveObservation().getNextTimestamp() + " " + getScale().getDt());
    }
}
