package muscle.core;

import java.io.Serializable;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** A port that receives, with its clock. */
public final class ConduitExitController<T extends Serializable> implements Portal {
    private final Session session;
    private final String port;
    private final Class<T> dataClass;
    private final ConduitExit<T> exit = new ConduitExit<>(this);
    private Timestamp time;

    /** A port of this name that receives data of a class, and whose clock begins at a time. */
    public ConduitExitController(Session session, String port, Class<T> dataClass, Timestamp time) {
        this.session = session;
        this.port = session.receivingPort(port);
        this.dataClass = dataClass;
        this.time = time;
    }

    /** The end of the conduit in the program. */
    public ConduitExit<T> getExit() {
        return exit;
    }

    @Override
    public String getLocalName() {
        return port + "@" + session.name();
    }

    @Override
    public Timestamp getSITime() {
        return time;
    }

    @Override
    public void resetTime(Timestamp reset) {
        time = reset;
    }

    boolean ready() {
        return session.isReady(port);
    }

    boolean hasNext() {
        return session.hasNext(port);
    }

    Observation<T> receive() {
        Observation<T> message = session.receive(port, dataClass);
        time = message.getNextTimestamp() == null ? message.getTimestamp() : message.getNextTimestamp();
        return message;
    }

    @Override
    public String toString() {
        return getLocalName() + " at " + time;
    }
}
