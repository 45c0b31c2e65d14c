package org.ligament;

import java.util.HashSet;
import java.util.Set;

/** The O_F ports, on which the messages of a pass of a {@link Mapper} are sent. */
public final class Outputs {
    private record Place(String port, int slot) {}

    private final Instance instance;
    private final Times times;
    private final Set<Place> sent = new HashSet<>();

    Outputs(Instance instance, Times times) {
        this.instance = instance;
        this.times = times;
    }

    /**
     * Sends data at the times of the pass. The data is as for {@link Instance#send(String, Times, Object)}, or
     * a received message, whose value is sent. Does nothing if the port is not connected.
     */
    public void send(String port, Object data) {
        send(port, data, Instance.NO_SLOT);
    }

    /** Does the same on a slot of a vector port. */
    public void send(String port, Object data, int slot) {
        instance.send(port, times, data instanceof Message message ? message.value() : data, slot);
        sent.add(new Place(port, slot));
    }

    /** The number of slots of a vector port. */
    public int slots(String port) {
        return instance.getPortLength(port);
    }

    /** The times of the messages that are sent. */
    public Times times() {
        return times;
    }

    /** The instance, for settings, loans, the log, and the length of a port. */
    public Instance instance() {
        return instance;
    }

    /** Fails if a port or slot has no message. */
    void check() {
        for (String port : instance.listPorts(Operator.O_F)) {
            if (!instance.isConnected(port)) {
                continue;
            }
            boolean isVector = instance.isVectorPort(port);
            int slots = isVector ? instance.getPortLength(port) : 1;
            for (int i = 0; i < slots; i++) {
                if (!sent.contains(new Place(port, isVector ? i : Instance.NO_SLOT))) {
                    throw new LigamentException.Usage("the mapper made no message for port \"" + port + "\""
                            + (isVector ? " slot " + i : "")
                            + "; it makes one for each slot of each port that is connected"
                            + " (ligament explain mapper-incomplete)");
                }
            }
        }
    }
}
