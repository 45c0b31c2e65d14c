package muscle.core;

import java.io.Serializable;
import muscle.core.model.Distance;
import muscle.core.model.Observation;
import muscle.core.model.Timestamp;

/** The end of a conduit into which an instance sends. The data is copied before a call returns. */
public class ConduitEntrance<T extends Serializable> {
    private final ConduitEntranceController<T> controller;
    private final TimeSteps clock;

    ConduitEntrance(ConduitEntranceController<T> controller, Timestamp time, Distance step) {
        this.controller = controller;
        this.clock = new TimeSteps(time.doubleValue(), step.doubleValue());
    }

    /** Sets the time between two messages. */
    public void setDt(Distance step) {
        clock.setStep(step.doubleValue());
    }

    /** Sends data at the time that the message before has announced, or at that of the origin. */
    public void send(T data) {
        Timestamp now = new Timestamp(clock.now());
        controller.send(new Observation<>(data, now, new Timestamp(clock.next())));
        clock.advance();
    }

    /** Sends data of a time. The next message is a step later. */
    public void send(T data, Timestamp time) {
        clock.set(time.doubleValue());
        send(data);
    }

    /** Sends data of a time, with the time of the next message. */
    public void send(T data, Timestamp time, Timestamp next) {
        send(new Observation<>(data, time, next));
    }

    /** Sends a message with its times. */
    public void send(Observation<T> message) {
        controller.send(message);
        clock.set(controller.getSITime().doubleValue());
    }

    /** Says that nothing more is sent. The conduit ends when the instance does. */
    public void close() {
        controller.close();
    }

    void setTime(Timestamp time) {
        clock.set(time.doubleValue());
    }

    @Override
    public String toString() {
        return controller.toString();
    }
}
