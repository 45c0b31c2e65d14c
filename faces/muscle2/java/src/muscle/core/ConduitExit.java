package muscle.core;

import java.io.Serializable;
import muscle.core.model.Observation;

/** The end of a conduit from which an instance receives. */
public class ConduitExit<T extends Serializable> {
    private final ConduitExitController<T> controller;

    ConduitExit(ConduitExitController<T> controller) {
        this.controller = controller;
    }

    /** True if hasNext and receive would return at once, with a message or because the conduit has ended. */
    public boolean ready() {
        return controller.ready();
    }

    /** Waits until a message has come, or the conduit has ended. True if there is a message. */
    public boolean hasNext() {
        return controller.hasNext();
    }

    /** Waits for a message, and returns its data. After the end, this is a MUSCLEConduitExhaustedException. */
    public T receive() {
        return controller.receive().getData();
    }

    /** Waits for a message, and returns it with its times. */
    public Observation<T> receiveObservation() {
        return controller.receive();
    }

    @Override
    public String toString() {
        return controller.toString();
    }
}
