package muscle.core.kernel;

import java.io.Serializable;
import muscle.core.ConduitExit;
import muscle.core.model.Observation;

/** A mapper with one port that receives. Its sendAll sends the received message. */
public abstract class FanOutMapper<T extends Serializable> extends Mapper {
    /** The port that receives. */
    protected ConduitExit<T> onlyExit;
    /** The received message. */
    protected Observation<T> value;

    @Override
    @SuppressWarnings("unchecked")
    public void addPortals() {
        super.addPortals();
        if (exits.size() != 1) {
            throw new IllegalStateException("a fan-out mapper has one port that receives, and " + getLocalName()
                    + " has " + exits.size());
        }
        onlyExit = (ConduitExit<T>) exits.values().iterator().next().getExit();
    }

    @Override
    protected final void receiveAll() {
        value = onlyExit.receiveObservation();
    }
}
