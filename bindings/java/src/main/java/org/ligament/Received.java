package org.ligament;

/**
 * The result of {@link Instance#receiveAny}. Closing it closes the message.
 *
 * @param which the index of the port among those that were waited for
 * @param message the message
 */
public record Received(int which, Message message) implements AutoCloseable {
    @Override
    public void close() {
        message.close();
    }
}
