package org.ligament;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The messages of one pass of a {@link Mapper}, on all connected F_INIT ports. The mapper closes them when its
 * function has returned.
 */
public final class Inputs implements AutoCloseable {
    private record Input(boolean isVector, List<Message> messages) {}

    private final Map<String, Input> inputs = new LinkedHashMap<>();

    /** Receives on all connected F_INIT ports, slot after slot. */
    Inputs(Instance instance) {
        for (String port : instance.listPorts(Operator.F_INIT)) {
            if (!instance.isConnected(port)) {
                continue;
            }
            Input input = new Input(instance.isVectorPort(port), new ArrayList<>());
            inputs.put(port, input);
            if (!input.isVector) {
                input.messages.add(instance.receive(port));
                continue;
            }
            int slots = instance.getPortLength(port);
            for (int slot = 0; slot < slots; slot++) {
                input.messages.add(instance.receive(port, slot));
            }
        }
    }

    private Input find(String port) {
        Input input = inputs.get(port);
        if (input == null) {
            throw new LigamentException.Usage("nothing is connected to port \"" + port
                    + "\", so nothing came on it; connect it in the model");
        }
        return input;
    }

    /** The message of a port without slots. */
    public Message message(String port) {
        Input input = find(port);
        if (input.isVector) {
            throw new LigamentException.Usage("port \"" + port
                    + "\" is a vector port: ask slots() for its messages");
        }
        return input.messages.get(0);
    }

    /** The messages of the slots of a port; one for a port without slots. */
    public List<Message> slots(String port) {
        return List.copyOf(find(port).messages);
    }

    /** The names of the connected ports, in the model's order. */
    public List<String> ports() {
        return List.copyOf(inputs.keySet());
    }

    /**
     * The times of a message that is made from these: the latest timestamp and the earliest next timestamp; 0
     * and none if there are no messages.
     */
    public Times times() {
        double latest = Double.NEGATIVE_INFINITY;
        double next = Double.POSITIVE_INFINITY;
        for (Input input : inputs.values()) {
            for (Message message : input.messages) {
                latest = Math.max(latest, message.timestamp());
                next = Math.min(next, message.nextTimestamp().orElse(Double.POSITIVE_INFINITY));
            }
        }
        if (latest == Double.NEGATIVE_INFINITY) {
            latest = 0;
        }
        return next >= latest && next < Double.POSITIVE_INFINITY ? Times.of(latest, next) : Times.of(latest);
    }

    /** Closes the messages. */
    @Override
    public void close() {
        inputs.values().forEach(input -> input.messages.forEach(Message::close));
    }
}
