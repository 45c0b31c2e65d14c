package eu.mapperproject.jmml.util.numerical;

import eu.mapperproject.jmml.util.numerical.ScaleFactor.Dimension;
import java.io.Serializable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A number with a dimension, in the dimension's SI unit. It may be infinite. */
public class SIUnit implements Comparable<SIUnit>, Serializable {
    private static final long serialVersionUID = 1;
    private static final Pattern NUMBER_AND_UNIT =
            Pattern.compile("\\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\\s*(.*)");

    private final double value;
    private final Dimension dimension;

    /** A number of a unit. */
    public SIUnit(double value, ScaleFactor scale) {
        this(scale.apply(value), scale.getDimension());
    }

    /** The same number of the same dimension. */
    protected SIUnit(SIUnit other) {
        this(other.value, other.dimension);
    }

    /** A number of SI units of a dimension, which may be null. */
    protected SIUnit(double value, Dimension dimension) {
        if (Double.isNaN(value)) {
            throw new IllegalArgumentException("a time or length is not a number (NaN)");
        }
        this.value = value;
        this.dimension = dimension;
    }

    /** Reads a number with or without a unit, such as "1.5e-3 ms". */
    public static SIUnit valueOf(String text) {
        Matcher found = NUMBER_AND_UNIT.matcher(text);
        if (!found.matches()) {
            throw new IllegalArgumentException("\"" + text
                    + "\" does not begin with a number; write one such as "
                    + "\"1 ms\"");
        }
        try {
            return new SIUnit(Double.parseDouble(found.group(1)), ScaleFactor.valueOf(found.group(2)));
        } catch (NumberFormatException malformed) {
            throw new IllegalArgumentException("\"" + found.group(1) + "\" in \"" + text + "\" is no number");
        }
    }

    /** The sum, in this dimension. */
    public SIUnit add(SIUnit other) {
        return new SIUnit(value + other.value, dimension);
    }

    /** The difference, in this dimension. */
    public SIUnit sub(SIUnit other) {
        return new SIUnit(value - other.value, dimension);
    }

    /** The dimension, or null. */
    public Dimension getDimension() {
        return dimension;
    }

    /** The number of SI units: s for a time, m for a length. */
    public double doubleValue() {
        return value;
    }

    /** The number of other units. */
    public double doubleValue(ScaleFactor scale) {
        return value / scale.apply(1.0);
    }

    @Override
    public int compareTo(SIUnit other) {
        return value == other.value ? 0 : Double.compare(value, other.value);
    }

    @Override
    public boolean equals(Object other) {
        return other != null && other.getClass() == getClass() && compareTo((SIUnit) other) == 0;
    }

    @Override
    public int hashCode() {
        return Double.hashCode(value + 0.0);
    }

    @Override
    public String toString() {
        return value + (dimension == null ? "" : " (" + dimension.name().toLowerCase() + ", in SI units)");
    }
}
