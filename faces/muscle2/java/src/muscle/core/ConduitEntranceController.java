package muscle.core;

import java.io.Serializable;
import muscle.core.model.Distance;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** A port that sends, with its clock. */
public final class ConduitEntranceController<T extends Serializable> implements Portal {
    private final Session session;
    private final String port;
    private final ConduitEntrance<T> entrance;
    private Timestamp time;
    private boolean isClosed;

    /** A port of this name, whose clock begins at a time. */
    public ConduitEntranceController(Session session, String port, Timestamp time, Distance step) {
        this.session = session;
        this.port = session.sendingPort(port);
        this.time = time;
        this.entrance = new ConduitEntrance<>(this, time, step);
    }

    /** The end of the conduit in the program. */
    public ConduitEntrance<T> getEntrance() {
        return entrance;
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
        entrance.setTime(reset);
    }

    void send(Observation<T> message) {
        if (isClosed) {
            throw new IllegalStateException("the conduit entrance " + getLocalName()
                    + " was closed, so nothing more can be sent on it");
        }
        session.send(port, message);
        time = message.getNextTimestamp() == null ? message.getTimestamp() : message.getNextTimestamp();
    }

    void close() {
        isClosed = true;
    }

    @Override
    public String toString() {
        return getLocalName() + " at " + time;
    }
}
