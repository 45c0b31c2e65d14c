package muscle.core.kernel;

import java.io.Serializable;
import muscle.core.ConduitEntranceController;

/** A mapper that sends each message on all of its ports. */
public class DuplicationMapper extends FanOutMapper<Serializable> {
    @Override
    @SuppressWarnings("unchecked")
    protected void sendAll() {
        for (ConduitEntranceController<Serializable> entrance : entrances.values()) {
            entrance.getEntrance().send(value);
        }
    }
}
