package muscle.core;

import java.util.Arrays;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.stream.Collectors;
import muscle.core.model.Distance;
import muscle.core.model.Timestamp;
import org.ligament.Instance;
import org.ligament.LigamentException;

/** The settings of an instance, by the names and in the types of MUSCLE 2. */
public final class Settings {
    private final Instance instance;

    Settings(Instance instance) {
        this.instance = instance;
    }

    /** A setting, if it is there. A name may begin with that of this instance: "instance:name". */
    public Optional<Object> find(String name) {
        String own = instance.name() + ":";
        String whole = Session.inModel(name);
        String key = whole.startsWith(own) ? whole.substring(own.length()) : whole;
        try {
            return Optional.of(instance.getSetting(key));
        } catch (LigamentException.SettingUnset unset) {
            return Optional.empty();
        }
    }

    Object get(String name) {
        return find(name).orElseThrow(() -> new NoSuchElementException("there is no setting " + name
                + " for instance " + instance.name() + "; give it in the model file"));
    }

    String text(String name) {
        return switch (get(name)) {
            case long[] numbers -> Arrays.stream(numbers).mapToObj(Long::toString)
                    .collect(Collectors.joining(" "));
            case double[] numbers -> Arrays.stream(numbers).mapToObj(Double::toString)
                    .collect(Collectors.joining(" "));
            case double[][] rows -> throw wrong(name, rows, "a table, which MUSCLE 2 does not have");
            case Object other -> other.toString();
        };
    }

    int wholeNumber(String name) {
        Object value = get(name);
        try {
            return switch (value) {
                case Long number -> Math.toIntExact(number);
                case String text -> Integer.parseInt(text.strip());
                default -> throw wrong(name, value, "no whole number");
            };
        } catch (ArithmeticException | NumberFormatException other) {
            throw wrong(name, value, "no whole number of 32 bits");
        }
    }

    double number(String name) {
        Object value = get(name);
        try {
            return switch (value) {
                case Long number -> number.doubleValue();
                case Double number -> number;
                case String text -> Double.parseDouble(text.strip());
                default -> throw wrong(name, value, "no number");
            };
        } catch (NumberFormatException other) {
            throw wrong(name, value, "no number");
        }
    }

    boolean truth(String name) {
        Object value = get(name);
        return switch (value) {
            case Boolean truth -> truth;
            case String text when text.equals("true") || text.equals("false") -> text.equals("true");
            default -> throw wrong(name, value, "no truth value; write true or false");
        };
    }

    /** A scale, or nothing if neither the setting nor the other one is there. */
    public Optional<Distance> scale(String name, String otherwise) {
        String found = find(name).isPresent() ? name : otherwise;
        try {
            return find(found).map(value -> Distance.valueOf(value.toString()));
        } catch (IllegalArgumentException malformed) {
            throw wrong(found, text(found), "no number with a unit: " + malformed.getMessage());
        }
    }

    /** A scale that is a duration, or nothing if neither the setting nor the other one is there. */
    public Optional<Distance> duration(String name, String otherwise) {
        Optional<Distance> found = scale(name, otherwise);
        try {
            found.ifPresent(Timestamp.ZERO::add);
        } catch (IllegalArgumentException length) {
            throw wrong(name, text(find(name).isPresent() ? name : otherwise), "no time; write a number of s, "
                    + "or a number with a unit such as \"1 ms\"");
        }
        return found;
    }

    private static IllegalArgumentException wrong(String name, Object value, String why) {
        String shown = value instanceof String text ? '"' + text + '"'
                : value instanceof Number || value instanceof Boolean ? value.toString()
                : value.getClass().getSimpleName();
        return new IllegalArgumentException("the setting " + name + " is " + shown + ", which is " + why);
    }
}
