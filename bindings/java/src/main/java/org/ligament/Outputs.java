package org.ligament;

import java.util.HashSet;
import java.util.Set;

/** Where the messages of a pass of a {@link Mapper} are sent: the O_F ports. */
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
     * Sends data at the times of the pass: whatever {@link Instance#send(String, Times, Object)} takes, or a
     * received message, whose value is sent. Nothing happens if the port is not connected.
     */
    public void send(String port, Object data) {
        send(port, data, Instance.NO_SLOT);
    }

    /** The same on a slot of a vector port. */
    public void send(String port, Object data, int slot) {
        instance.send(port, times, data instanceof Message message ? message.value() : data, slot);
        sent.add(new Place(port, slot));
    }

    /** How many slots a vector port has. */
    public int slots(String port) {
        return instance.getPortLength(port);
    }

    /** The times of what is sent. */
    public Times times() {
        return times;
    }

    /** The instance, for settings, loans, the log, and the length of a port. */
    public Instance instance() {
        return instance;
    }

    /** Each port, and each slot, needs a message. */
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
