package muscle.core;

import muscle.core.model.Timestamp;

/** A port of an instance, with a clock. */
public interface Portal {
    /** The name of the port and of its instance: "port@instance". */
    String getLocalName();

    /** The time of the port: that of the next message, as far as it is known. */
    Timestamp getSITime();

    /** Sets the time of the port. */
    void resetTime(Timestamp time);
}
