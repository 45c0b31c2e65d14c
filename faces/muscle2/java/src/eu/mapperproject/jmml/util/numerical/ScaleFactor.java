package eu.mapperproject.jmml.util.numerical;

import java.io.Serializable;
import java.util.List;
import java.util.Map;

/** A unit: its size in the SI unit of its dimension, and the dimension. */
public final class ScaleFactor implements Serializable {
    private static final long serialVersionUID = 1;

    /** The dimension of a unit. Its SI unit is the byte, the second, the metre, or another one. */
    public enum Dimension {
        /** An amount of data. */
        DATA,
        /** A time. */
        TIME,
        /** A length. */
        SPACE,
        /** Another dimension. */
        OTHER
    }

    private record Unit(List<String> names, ScaleFactor factor) {}

    /** The number 1, without a dimension. */
    public static final ScaleFactor SI = new ScaleFactor(1.0, null);
    /** A metre. */
    public static final ScaleFactor METER = new ScaleFactor(1.0, Dimension.SPACE);
    /** A second. */
    public static final ScaleFactor SECOND = new ScaleFactor(1.0, Dimension.TIME);
    /** 60 s. */
    public static final ScaleFactor MINUTE = new ScaleFactor(60.0, Dimension.TIME);
    /** 3600 s. */
    public static final ScaleFactor HOUR = new ScaleFactor(3600.0, Dimension.TIME);
    /** 24 hours. */
    public static final ScaleFactor DAY = new ScaleFactor(86400.0, Dimension.TIME);
    /** 7 days. */
    public static final ScaleFactor WEEK = new ScaleFactor(604800.0, Dimension.TIME);
    /** A twelfth of a year. */
    public static final ScaleFactor MONTH = new ScaleFactor(2628000.0, Dimension.TIME);
    /** 365 days. */
    public static final ScaleFactor YEAR = new ScaleFactor(31536000.0, Dimension.TIME);
    /** A byte. */
    public static final ScaleFactor BYTE = new ScaleFactor(1.0, Dimension.DATA);
    /** An eighth of a byte. */
    public static final ScaleFactor BIT = new ScaleFactor(0.125, Dimension.DATA);

    private static final List<Unit> UNITS = List.of(
            new Unit(List.of("s", "sec", "second", "seconds"), SECOND),
            new Unit(List.of("min", "minute", "minutes"), MINUTE),
            new Unit(List.of("h", "hr", "hrs", "hour", "hours"), HOUR),
            new Unit(List.of("d", "day", "days"), DAY),
            new Unit(List.of("wk", "wks", "week", "weeks"), WEEK),
            new Unit(List.of("month", "months"), MONTH),
            new Unit(List.of("yr", "yrs", "year", "years"), YEAR),
            new Unit(List.of("m", "meter", "meters"), METER),
            new Unit(List.of("B", "byte", "bytes"), BYTE),
            new Unit(List.of("bit", "bits"), BIT));

    /** Units before whose names a prefix may stand. */
    private static final List<ScaleFactor> PREFIXED = List.of(SECOND, METER, BYTE, BIT);

    private static final Map<String, Double> PREFIXES = Map.ofEntries(
            Map.entry("deca", 1e1), Map.entry("da", 1e1), Map.entry("hecto", 1e2), Map.entry("h", 1e2),
            Map.entry("kilo", 1e3), Map.entry("k", 1e3), Map.entry("K", 1e3), Map.entry("mega", 1e6),
            Map.entry("M", 1e6), Map.entry("giga", 1e9), Map.entry("G", 1e9), Map.entry("tera", 1e12),
            Map.entry("T", 1e12), Map.entry("peta", 1e15), Map.entry("P", 1e15), Map.entry("exa", 1e18),
            Map.entry("E", 1e18), Map.entry("deci", 1e-1), Map.entry("d", 1e-1), Map.entry("centi", 1e-2),
            Map.entry("c", 1e-2), Map.entry("milli", 1e-3), Map.entry("m", 1e-3), Map.entry("micro", 1e-6),
            Map.entry("u", 1e-6), Map.entry("nano", 1e-9), Map.entry("n", 1e-9), Map.entry("pico", 1e-12),
            Map.entry("p", 1e-12), Map.entry("femto", 1e-15), Map.entry("f", 1e-15), Map.entry("atto", 1e-18),
            Map.entry("a", 1e-18));

    private final double factor;
    private final Dimension dimension;

    /**
     * A unit.
     *
     * @param factor its size in the SI unit of the dimension
     * @param dimension the dimension, or null
     */
    public ScaleFactor(double factor, Dimension dimension) {
        this.factor = factor;
        this.dimension = dimension;
    }

    /** Reads the name of a unit, such as "ms", "km" or "years". An empty text is a number without dimension. */
    public static ScaleFactor valueOf(String text) {
        String name = text.replaceAll("\\s", "");
        if (name.isEmpty()) {
            return SI;
        }
        for (Unit unit : UNITS) {
            if (unit.names().contains(name)) {
                return unit.factor();
            }
        }
        for (Unit unit : UNITS) {
            for (String ending : unit.names()) {
                Double prefix = name.endsWith(ending)
                        ? PREFIXES.get(name.substring(0, name.length() - ending.length())) : null;
                if (prefix != null && PREFIXED.contains(unit.factor())) {
                    return new ScaleFactor(prefix * unit.factor().factor, unit.factor().dimension);
                }
            }
        }
        throw new IllegalArgumentException("\"" + text + "\" is no unit; write one such as s, ms, min, hours, "
                + "days, years, m or km");
    }

    /** The size in the SI unit of the dimension. */
    public double apply(double value) {
        return value * factor;
    }

    /** The dimension, or null. */
    public Dimension getDimension() {
        return dimension;
    }

    /** The same size in another dimension. */
    public ScaleFactor withDimension(Dimension other) {
        return new ScaleFactor(factor, other);
    }
}
