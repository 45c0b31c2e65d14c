package muscle.core.kernel;

import java.util.logging.Level;
import muscle.core.ConduitExitController;
import muscle.core.Scale;

/** An instance that receives from all ports, and then sends, for as long as each port has a message. */
public abstract class Mapper extends Instance {
    @Override
    protected final void execute() {
        init();
        operationsAllowed = NONE;
        while (continueComputation()) {
            operationsAllowed = RECV;
            receiveAll();
            operationsAllowed = SEND;
            sendAll();
            operationsAllowed = NONE;
        }
    }

    /** Called once, before the first message. */
    protected void init() {}

    /** Receives from the ports. */
    protected abstract void receiveAll();

    /** Sends. */
    protected abstract void sendAll();

    /** True if each port that receives has a message. */
    protected boolean continueComputation() {
        long waiting = 0;
        for (ConduitExitController<?> exit : exits.values()) {
            waiting += exit.getExit().hasNext() ? 1 : 0;
        }
        if (waiting > 0 && waiting < exits.size()) {
            log("mapper " + getLocalName() + " has messages on " + waiting + " of " + exits.size()
                    + " ports, and the others have ended; these messages are lost", Level.SEVERE);
        }
        return waiting > 0 && waiting == exits.size();
    }

    /** A mapper has no scales. */
    @Override
    public Scale getScale() {
        return null;
    }
}
