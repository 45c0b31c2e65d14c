package org.ligament;

import java.util.OptionalDouble;

/**
 * The times of a message: the model time that its data belongs to, and the model time of the sender's next
 * message, if there will be one (s).
 */
public final class Times {
    private final double timestamp;
    private final double next;
    private final boolean hasNext;

    private Times(double timestamp, double next, boolean hasNext) {
        this.timestamp = timestamp;
        this.next = next;
        this.hasNext = hasNext;
    }

    /** A time without a next time. */
    public static Times of(double timestamp) {
        return new Times(timestamp, 0, false);
    }

    /** A time and the next one. */
    public static Times of(double timestamp, double next) {
        return new Times(timestamp, next, true);
    }

    static Times read(long times) {
        return new Times(Native.getDouble(times), Native.getDouble(times + 8), Native.getByte(times + 16) != 0);
    }

    /** The model time that the data belongs to, s. */
    public double timestamp() {
        return timestamp;
    }

    /** True if the sender has given the time of its next message. */
    public boolean hasNextTimestamp() {
        return hasNext;
    }

    /** The model time of the sender's next message, s; none if the sender has not given it. */
    public OptionalDouble nextTimestamp() {
        return hasNext ? OptionalDouble.of(next) : OptionalDouble.empty();
    }

    /** The next time, if there is one. */
    double next() {
        return next;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Times times && Double.compare(timestamp, times.timestamp) == 0
                && hasNext == times.hasNext
                && (!hasNext || Double.compare(next, times.next) == 0);
    }

    @Override
    public int hashCode() {
        return Double.hashCode(timestamp) * 31 + (hasNext ? Double.hashCode(next) : 0);
    }

    @Override
    public String toString() {
        return hasNext ? timestamp + " (next at " + next + ")" : Double.toString(timestamp);
    }
}
