package muscle.core.model;

import java.io.Serializable;

/** A message: its data, the time of the data, and the time of the next message, if it is known. */
public class Observation<T extends Serializable> implements Serializable {
    private static final long serialVersionUID = 1;

    private final T data;
    private final Timestamp time;
    private final Timestamp next;

    /**
     * A message.
     *
     * @param data the data; may be null
     * @param time the time that the data belongs to
     * @param next the time of the next message, or null
     */
    public Observation(T data, Timestamp time, Timestamp next) {
        this.data = data;
        this.time = time;
        this.next = next;
    }

    /** The data. */
    public T getData() {
        return data;
    }

    /** The time that the data belongs to. */
    public Timestamp getTimestamp() {
        return time;
    }

    /** The time of the next message, or null if the sender has not given it. */
    public Timestamp getNextTimestamp() {
        return next;
    }

    /** True if there is no data. */
    public boolean hasNull() {
        return data == null;
    }

    /** Other data with these times. */
    public <R extends Serializable> Observation<R> copyWithNewData(R other) {
        return new Observation<>(other, time, next);
    }

    /** This data with other times. */
    public Observation<T> copyWithNewTimestamps(Timestamp otherTime, Timestamp otherNext) {
        return new Observation<>(data, otherTime, otherNext);
    }

    @Override
    public String toString() {
        return "Observation<" + time + ",type=" + (data == null ? "NULL" : data.getClass().getSimpleName())
                + ">";
    }
}
