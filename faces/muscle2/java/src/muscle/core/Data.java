package muscle.core;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import muscle.exception.MUSCLEDatatypeException;
import org.ligament.Array;
import org.ligament.ArrayView;
import org.ligament.DType;
import org.ligament.Value;

/**
 * Data of MUSCLE 2 as values of Ligament, and back. A boxed number that Ligament has no type for travels as an
 * array without dimensions, which keeps its type.
 */
final class Data {
    private static final long[] NO_SHAPE = {};

    private Data() {}

    /** What is sent for an object; {@code what} names it in errors. */
    static Object toLigament(Object data, String what) {
        return switch (data) {
            case null -> null;
            case Boolean truth -> truth;
            case Long number -> number;
            case Double number -> number;
            case String text -> text;
            case byte[] bytes -> bytes;
            case Integer number -> Array.of(new int[] {number}, NO_SHAPE);
            case Short number -> Array.of(new short[] {number}, NO_SHAPE);
            case Byte number -> Array.of(new byte[] {number}, NO_SHAPE);
            case Float number -> Array.of(new float[] {number}, NO_SHAPE);
            case String[] texts -> list(Arrays.asList(texts), what);
            case Collection<?> items -> list(items, what);
            case Map<?, ?> entries -> map(entries, what);
            default -> array(data, what);
        };
    }

    private static List<Object> list(Collection<?> items, String what) {
        List<Object> list = new ArrayList<>(items.size());
        for (Object item : items) {
            list.add(toLigament(item, what + "[" + list.size() + "]"));
        }
        return list;
    }

    private static Map<String, Object> map(Map<?, ?> entries, String what) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : entries.entrySet()) {
            if (!(entry.getKey() instanceof String key)) {
                throw new MUSCLEDatatypeException(what + " has the key " + entry.getKey()
                        + ", which is no String");
            }
            map.put(key, toLigament(entry.getValue(), what + "." + key));
        }
        return map;
    }

    private static Array array(Object data, String what) {
        List<Long> extents = new ArrayList<>();
        Class<?> type = data.getClass();
        // The first row of each dimension gives the extent of the next one, if there is a row.
        for (Object row = data; type.isArray(); type = type.getComponentType()) {
            int length = row == null ? 0 : java.lang.reflect.Array.getLength(row);
            extents.add((long) length);
            boolean hasRows = length > 0 && type.getComponentType().isArray();
            row = hasRows ? java.lang.reflect.Array.get(row, 0) : null;
        }
        DType elements = dtype(type);
        if (elements == null || extents.isEmpty()) {
            throw new MUSCLEDatatypeException(what + " is a " + data.getClass().getName()
                    + ", which cannot be sent; "
                    + "send numbers, truth values, texts, their arrays, or a List or Map of them");
        }
        long[] shape = extents.stream().mapToLong(Long::longValue).toArray();
        if (shape.length == 1) {
            return Array.of(elements, data, shape);
        }
        int count = Math.toIntExact(Arrays.stream(shape).reduce(1, Math::multiplyExact));
        Rows rows = new Rows(java.lang.reflect.Array.newInstance(type, count), shape, what);
        rows.gather(data, 0, 0);
        return Array.of(elements, rows.elements, shape);
    }

    /** Elements of all rows in one array, the last index running fastest. */
    private record Rows(Object elements, long[] shape, String what) {
        /** Copies a row of a dimension, and returns the index behind its elements. */
        int gather(Object row, int dimension, int begin) {
            int length = row == null ? -1 : java.lang.reflect.Array.getLength(row);
            if (length != shape[dimension]) {
                String found = row == null ? "no row" : "a row of " + length;
                throw new MUSCLEDatatypeException(what + " has " + found + " where its first row is of "
                        + shape[dimension] + "; rows of an array are of one length");
            }
            if (dimension == shape.length - 1) {
                System.arraycopy(row, 0, elements, begin, length);
                return begin + length;
            }
            int end = begin;
            for (int i = 0; i < length; i++) {
                end = gather(java.lang.reflect.Array.get(row, i), dimension + 1, end);
            }
            return end;
        }

        /** Copies elements into the rows of a dimension, and returns the index behind them. */
        int scatter(Object row, int dimension, int begin) {
            if (dimension == shape.length - 1) {
                System.arraycopy(elements, begin, row, 0, (int) shape[dimension]);
                return begin + (int) shape[dimension];
            }
            int end = begin;
            for (int i = 0; i < shape[dimension]; i++) {
                end = scatter(java.lang.reflect.Array.get(row, i), dimension + 1, end);
            }
            return end;
        }
    }

    private static DType dtype(Class<?> type) {
        return type == double.class ? DType.FLOAT64 : type == float.class ? DType.FLOAT32
                : type == long.class ? DType.INT64 : type == int.class ? DType.INT32
                : type == short.class ? DType.INT16 : type == byte.class ? DType.INT8
                : type == boolean.class ? DType.BOOL : null;
    }

    /** The object of a class for a received value; {@code what} names it in errors. */
    static Object fromLigament(Value value, Class<?> type, String what) {
        Object data = object(value, what);
        Object fitting = data == null || type.isInstance(data) ? data : converted(data, type);
        if (data != null && fitting == null) {
            throw new MUSCLEDatatypeException(what + " is " + shown(data) + ", and the port is for "
                    + type.getSimpleName());
        }
        return fitting;
    }

    private static String shown(Object data) {
        String type = data.getClass().getSimpleName();
        return data instanceof Number || data instanceof Boolean ? "the " + type + " " + data
                : "of the type " + type;
    }

    /** The same value in another class, or null if that class does not have it. */
    private static Object converted(Object data, Class<?> type) {
        return switch (data) {
            case Long number when type == Integer.class && number == number.intValue() -> number.intValue();
            case Long number when type == Short.class && number == number.shortValue() -> number.shortValue();
            case Long number when type == Byte.class && number == number.byteValue() -> number.byteValue();
            case Integer number when type == Long.class -> number.longValue();
            case Double number when type == Float.class && isFloat(number) -> number.floatValue();
            case Float number when type == Double.class -> number.doubleValue();
            case List<?> items when type == String[].class
                    && items.stream().allMatch(String.class::isInstance) ->
                    items.toArray(new String[0]);
            default -> null;
        };
    }

    private static boolean isFloat(double number) {
        return Double.compare((float) number, number) == 0;
    }

    private static Serializable object(Value value, String what) {
        return switch (value.kind()) {
            case NONE -> null;
            case BOOL -> value.asBoolean();
            case INT -> value.asLong();
            case FLOAT -> value.asDouble();
            case STRING -> value.asString();
            case BYTES -> value.asBytes();
            case ARRAY -> array(value.array(), what);
            case LIST -> {
                ArrayList<Object> list = new ArrayList<>();
                for (long i = 0; i < value.size(); i++) {
                    list.add(object(value.at(i), what + "[" + i + "]"));
                }
                yield list;
            }
            case MAP -> {
                LinkedHashMap<String, Object> map = new LinkedHashMap<>();
                for (String key : value.keys()) {
                    map.put(key, object(value.at(key), what + "." + key));
                }
                yield map;
            }
            case UINT, COMPLEX, SETTINGS -> throw new MUSCLEDatatypeException(what + " is of the kind "
                    + value.kind() + ", which MUSCLE 2 does not have");
        };
    }

    private static Serializable array(ArrayView view, String what) {
        Object elements = switch (view.dtype()) {
            case FLOAT64 -> view.toDoubleArray();
            case FLOAT32 -> view.toFloatArray();
            case INT64 -> view.toLongArray();
            case INT32 -> view.toIntArray();
            case INT16 -> view.toShortArray();
            case INT8 -> view.toByteArray();
            case BOOL -> view.toBooleanArray();
            default -> throw new MUSCLEDatatypeException(what + " is an array of " + view.dtype()
                    + ", which MUSCLE 2 does not have; send another type");
        };
        long[] shape = view.shape();
        if (shape.length == 1) {
            return (Serializable) elements;
        }
        if (shape.length == 0) {
            return (Serializable) java.lang.reflect.Array.get(elements, 0);
        }
        int[] extents = Arrays.stream(shape).mapToInt(Math::toIntExact).toArray();
        Object rows = java.lang.reflect.Array.newInstance(elements.getClass().getComponentType(), extents);
        new Rows(elements, shape, what).scatter(rows, 0, 0);
        return (Serializable) rows;
    }
}
