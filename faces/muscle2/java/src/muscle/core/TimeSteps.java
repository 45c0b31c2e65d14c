package muscle.core;

/** A time as a number of steps since another one, so that sums of steps do not add up errors. */
public final class TimeSteps {
    /** Part of a step by which a time may miss the end. */
    public static final double TOLERANCE_STEPS = 1e-6;

    private double begin;
    private double step;
    private long count;

    /** A time and the length of a step, both in s. */
    public TimeSteps(double begin, double step) {
        this.begin = begin;
        this.step = step;
    }

    /** Goes to a time, s. A time that the steps give anyway keeps their count. */
    public void set(double time) {
        if (time != now()) {
            begin = time;
            count = 0;
        }
    }

    /** Goes on by steps of another length, s. */
    public void setStep(double seconds) {
        if (seconds != step) {
            begin = now();
            count = 0;
            step = seconds;
        }
    }

    /** The time, s. */
    public double now() {
        return count == 0 ? begin : begin + count * step;
    }

    /** The time after the next step, s. */
    public double next() {
        return begin + (count + 1) * step;
    }

    /** Goes a step forward. */
    public void advance() {
        count++;
    }

    /** True if a time, s, has reached the end, s, up to a small part of a step. */
    public static boolean isReached(double time, double end, double step) {
        return time >= end - TOLERANCE_STEPS * step;
    }
}
