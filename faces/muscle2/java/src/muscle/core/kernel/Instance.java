package muscle.core.kernel;

import java.io.Serializable;
import java.util.Map;
import muscle.core.ConduitEntrance;
import muscle.core.ConduitExit;
import muscle.core.Session;

/** An instance whose ports are those of the model file, unless addPortals says otherwise. */
public abstract class Instance extends RawInstance {
    /** No port may be used. */
    protected static final int NONE = 0;
    /** Ports that send may be used. */
    protected static final int SEND = 1;
    /** Ports that receive may be used. */
    protected static final int RECV = 2;

    /** The ports that may be used now. Only in and out look at it. */
    protected int operationsAllowed = SEND | RECV;

    @Override
    protected void addPortals() {
        Session session = Session.current();
        session.sendingPorts().forEach(port -> addEntrance(port, Serializable.class));
        session.receivingPorts().forEach(port -> addExit(port, Serializable.class));
    }

    /** A port that sends. It is an IllegalStateException if this part of the instance may not send. */
    @SuppressWarnings("unchecked")
    protected <T extends Serializable> ConduitEntrance<T> out(String name) {
        if ((operationsAllowed & SEND) == 0) {
            throw new IllegalStateException("port " + name + " of " + getLocalName()
                    + " is used in a part that "
                    + "receives; send in intermediateObservation, finalObservation or sendAll");
        }
        return (ConduitEntrance<T>) find(entrances, name, "sends").getEntrance();
    }

    /** A port that receives. It is an IllegalStateException if this part of the instance may not receive. */
    @SuppressWarnings("unchecked")
    protected <T extends Serializable> ConduitExit<T> in(String name) {
        if ((operationsAllowed & RECV) == 0) {
            throw new IllegalStateException("port " + name + " of " + getLocalName()
                    + " is used in a part that "
                    + "sends; receive in init, solvingStep or receiveAll");
        }
        return (ConduitExit<T>) find(exits, name, "receives").getExit();
    }

    private <P> P find(Map<String, P> ports, String name, String direction) {
        P port = ports.containsKey(name) ? ports.get(name) : ports.get(Session.inModel(name));
        if (port == null) {
            throw new IllegalArgumentException("instance " + getLocalName() + " has no port " + name + " that "
                    + direction + "; there are "
                    + (ports.isEmpty() ? "none" : String.join(", ", ports.keySet())));
        }
        return port;
    }
}
