package muscle.core.model;

import eu.mapperproject.jmml.util.numerical.SIUnit;
import eu.mapperproject.jmml.util.numerical.ScaleFactor.Dimension;

/** A duration, in s, or a distance of another dimension, in its SI unit. */
public class Distance extends SIUnit {
    private static final long serialVersionUID = 1;

    /** 0 s. */
    public static final Distance ZERO = new Distance(0);
    /** 1 s. */
    public static final Distance ONE = new Distance(1);

    /** A duration, s. */
    public Distance(double seconds) {
        super(seconds, Dimension.TIME);
    }

    /** A distance of a dimension, in its SI unit. */
    public Distance(double value, Dimension dimension) {
        super(value, dimension);
    }

    Distance(SIUnit other) {
        super(other);
    }

    /** Reads a number with or without a unit, such as "1 ms", "2 years" or "3 km". */
    public static Distance valueOf(String text) {
        return new Distance(SIUnit.valueOf(text));
    }

    /** The product with a number. */
    public Distance mult(double factor) {
        return new Distance(doubleValue() * factor, getDimension());
    }

    /** The quotient by a number. */
    public Distance div(double divisor) {
        return new Distance(doubleValue() / divisor, getDimension());
    }

    /** The same number in another dimension. */
    public Distance withDimension(Dimension dimension) {
        return new Distance(doubleValue(), dimension);
    }

    @Override
    public String toString() {
        return "delta=" + doubleValue() + (getDimension() == Dimension.SPACE ? " m" : " s");
    }
}
