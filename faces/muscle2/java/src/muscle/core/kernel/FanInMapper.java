package muscle.core.kernel;

import java.io.Serializable;
import muscle.core.ConduitEntrance;
import muscle.core.model.Observation;

/** A mapper with one port that sends. Its receiveAll sets the message to send. */
public abstract class FanInMapper<T extends Serializable> extends Mapper {
    /** The port that sends. */
    protected ConduitEntrance<T> onlyEntrance;
    /** The message to send. */
    protected Observation<T> value;

    @Override
    @SuppressWarnings("unchecked")
    public void addPortals() {
        super.addPortals();
        if (entrances.size() != 1) {
            throw new IllegalStateException("a fan-in mapper has one port that sends, and " + getLocalName()
                    + " has "
                    + entrances.size());
        }
        onlyEntrance = (ConduitEntrance<T>) entrances.values().iterator().next().getEntrance();
    }

    @Override
    protected final void sendAll() {
        onlyEntrance.send(value);
    }
}
