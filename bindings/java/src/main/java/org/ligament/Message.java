package org.ligament;

import java.util.OptionalDouble;

/**
 * A received message. Its arrays are views of the memory into which their sender put them. Close it, best by
 * {@code try}: this returns the memory, and views of it then fail. It belongs to the thread that received it,
 * until {@link #handOver}.
 */
public final class Message extends Holder {
    private final long handle;
    private final String port;
    private Times times;
    private Value value;

    /** Makes a message that came from a port, or from a checkpoint, if the port is null. */
    Message(long handle, String port) {
        this.handle = handle;
        this.port = port;
    }

    @Override
    String what() {
        return port == null ? "the message of a checkpoint" : "the message from port \"" + port + "\"";
    }

    @Override
    void free() {
        try {
            Native.MESSAGE_FREE.invokeExact(handle);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    @Override
    long message() {
        return handle;
    }

    @Override
    String origin() {
        if (isClosed()) {
            return port == null ? "a checkpoint" : "port \"" + port + "\"";
        }
        Scratch scratch = Scratch.get();
        try {
            Native.MESSAGE_ORIGIN.invokeExact(handle, scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
        return Native.text(Native.getLong(scratch.out), Native.getLong(scratch.out2));
    }

    /** The times of the message. After the message is closed, they can be read if they were read before. */
    public Times times() {
        if (times == null) {
            check();
            Scratch scratch = Scratch.get();
            try {
                scratch.check((int) Native.MESSAGE_TIMES.invokeExact(handle, scratch.times, scratch.error));
            } catch (Throwable thrown) {
                throw Native.never(thrown);
            }
            times = Times.read(scratch.times);
        }
        return times;
    }

    /** The model time that the data belongs to, s. */
    public double timestamp() {
        return times().timestamp();
    }

    /** The model time of the sender's next message, s; none if the sender has not given it. */
    public OptionalDouble nextTimestamp() {
        return times().nextTimestamp();
    }

    /** True if the sender has given the time of its next message. */
    public boolean hasNextTimestamp() {
        return times().hasNextTimestamp();
    }

    /** The value, which is valid as long as the message. */
    public Value value() {
        check();
        if (value == null) {
            try {
                value = new Value(this, (long) Native.MESSAGE_VALUE.invokeExact(handle));
            } catch (Throwable thrown) {
                throw Native.never(thrown);
            }
        }
        return value;
    }

    /** The array, in place, if the message is one. */
    public ArrayView array() {
        return value().array();
    }

    /**
     * The array, in place, if it is of this type (null for any). The error names port, sender, the received
     * value and the expected array.
     */
    public ArrayView array(DType dtype) {
        return value().array(dtype);
    }

    /**
     * The array, in place, if it is of this type (null for any) and shape: an extent for each dimension, below
     * 0 for any.
     */
    public ArrayView array(DType dtype, long... shape) {
        return value().array(dtype, shape);
    }

    /** The truth value, if the message is one. */
    public boolean asBoolean() {
        return value().asBoolean();
    }

    /** The integer, if the message is one. */
    public long asLong() {
        return value().asLong();
    }

    /** The integer, if the message is one that fits {@code int}. */
    public int asInt() {
        return value().asInt();
    }

    /** The number, if the message is one. */
    public double asDouble() {
        return value().asDouble();
    }

    /** The text, if the message is one. */
    public String asString() {
        return value().asString();
    }

    /** A copy of the bytes, if the message is some. */
    public byte[] asBytes() {
        return value().asBytes();
    }

    /** The value as Java objects; see {@link Value#toObject}. */
    public Object toObject() {
        return value().toObject();
    }

    /** The value as an object of a class, such as a record; see {@link Value#as}. */
    public <T> T as(Class<T> type) {
        return value().as(type);
    }

    /**
     * The overlay of settings that came with the message, as a map; null unless the instance was made with
     * {@link InstanceFlag#DONT_APPLY_OVERLAY}, or the message was received with its settings.
     */
    public Value settings() {
        check();
        try {
            long settings = (long) Native.MESSAGE_SETTINGS.invokeExact(handle);
            return settings == Native.NULL ? null : new Value(this, settings);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    @Override
    public String toString() {
        return what() + (isClosed() ? ", closed" : " at " + times());
    }
}
