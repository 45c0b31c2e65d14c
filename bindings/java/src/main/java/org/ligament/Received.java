package org.ligament;

/**
 * What {@link Instance#receiveAny} gives. Close it, which closes the message.
 *
 * @param which the place of the port among those that were waited for
 * @param message what came there
 */
public record Received(int which, Message message) implements AutoCloseable {
    @Override
    public void close() {
        message.close();
    }
}
