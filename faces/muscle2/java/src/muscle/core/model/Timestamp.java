package muscle.core.model;

import eu.mapperproject.jmml.util.numerical.SIUnit;
import eu.mapperproject.jmml.util.numerical.ScaleFactor.Dimension;

/** A model time, s. */
public class Timestamp extends SIUnit {
    private static final long serialVersionUID = 1;

    /** The time 0 s. */
    public static final Timestamp ZERO = new Timestamp(0);

    /** A time, s. */
    public Timestamp(double seconds) {
        super(seconds, Dimension.TIME);
    }

    /** Reads a number of s, or one with a unit of time, such as "3.1e-4 ms". */
    public static Timestamp valueOf(String text) {
        return new Timestamp(duration(SIUnit.valueOf(text)));
    }

    /** This time and a duration later. */
    public Timestamp add(Distance other) {
        return new Timestamp(doubleValue() + duration(other));
    }

    /** This time and a duration before. */
    public Timestamp subtract(Distance other) {
        return new Timestamp(doubleValue() - duration(other));
    }

    /** The duration between two times, whichever is later. */
    public Distance distance(Timestamp other) {
        return new Distance(Math.abs(doubleValue() - other.doubleValue()));
    }

    /** The product with a number. */
    public Timestamp multiply(double factor) {
        return new Timestamp(doubleValue() * factor);
    }

    /** The quotient by a number. */
    public Timestamp divide(double divisor) {
        return new Timestamp(doubleValue() / divisor);
    }

    /** The later of two times. */
    public static Timestamp max(Timestamp one, Timestamp other) {
        return one.compareTo(other) >= 0 ? one : other;
    }

    /** The earlier of two times. */
    public static Timestamp min(Timestamp one, Timestamp other) {
        return one.compareTo(other) <= 0 ? one : other;
    }

    private static double duration(SIUnit value) {
        if (value.getDimension() != null && value.getDimension() != Dimension.TIME) {
            throw new IllegalArgumentException(value
                    + " is no time; give a number of s, or one with a unit such "
                    + "as \"1 ms\"");
        }
        return value.doubleValue();
    }

    @Override
    public String toString() {
        return "t=" + doubleValue() + " s";
    }
}
