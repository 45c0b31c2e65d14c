package org.ligament;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Makes objects of the caller's classes from values, and maps from records. */
final class Records {
    private Records() {}

    /** Returns the value as an object of this type. {@code where} names the place of the value in the whole. */
    static Object read(Value value, Type type, String where) {
        try {
            if (type instanceof ParameterizedType generic) {
                Type[] arguments = generic.getActualTypeArguments();
                if (generic.getRawType() == List.class) {
                    return value.isNone() ? null : list(value, arguments[0], where);
                }
                if (generic.getRawType() == Map.class && arguments[0] == String.class) {
                    return value.isNone() ? null : map(value, arguments[1], where);
                }
            }
            return type instanceof Class<?> plain ? read(value, plain, where) : value.toObject();
        } catch (LigamentException.Unexpected wrong) {
            if (wrong.getMessage().startsWith("in the value")) {
                throw wrong;
            }
            throw new LigamentException.Unexpected("in " + where + ": " + wrong.getMessage());
        }
    }

    private static Object read(Value value, Class<?> type, String where) {
        if (type == Value.class) {
            return value;
        }
        if (type == Object.class) {
            return value.toObject();
        }
        if (value.isNone()) {
            if (type.isPrimitive()) {
                throw new LigamentException.Unexpected("there is none, not " + article(type));
            }
            return null;
        }
        if (type.isRecord() && type != Complex.class && type != Settings.class) {
            return record(value, type, where);
        }
        if (type == boolean.class || type == Boolean.class) {
            return value.asBoolean();
        }
        if (type == long.class || type == Long.class) {
            return value.asLong();
        }
        if (type == int.class || type == Integer.class) {
            return value.asInt();
        }
        if (type == short.class || type == Short.class) {
            return (short) within(value.asLong(), Short.MIN_VALUE, Short.MAX_VALUE, type);
        }
        if (type == byte.class || type == Byte.class) {
            return (byte) within(value.asLong(), Byte.MIN_VALUE, Byte.MAX_VALUE, type);
        }
        if (type == double.class || type == Double.class) {
            return value.asDouble();
        }
        if (type == float.class || type == Float.class) {
            return (float) value.asDouble();
        }
        if (type == BigInteger.class) {
            return value.asBigInteger();
        }
        if (type == Complex.class) {
            return value.asComplex();
        }
        if (type == String.class) {
            return value.asString();
        }
        if (type == byte[].class) {
            return value.kind() == Kind.ARRAY ? value.array().toByteArray() : value.asBytes();
        }
        if (type == double[].class) {
            return value.array().toDoubleArray();
        }
        if (type == float[].class) {
            return value.array().toFloatArray();
        }
        if (type == long[].class) {
            return value.array().toLongArray();
        }
        if (type == int[].class) {
            return value.array().toIntArray();
        }
        if (type == short[].class) {
            return value.array().toShortArray();
        }
        if (type == boolean[].class) {
            return value.array().toBooleanArray();
        }
        if (type == double[][].class) {
            return value.array().toDoubleArray2D();
        }
        if (type == ArrayView.class) {
            return value.array();
        }
        if (type == Array.class) {
            return value.array().copy();
        }
        if (type == Map.class) {
            return value.asMap();
        }
        if (type == List.class) {
            return value.asList();
        }
        if (type == Settings.class) {
            return new Settings(value.settings());
        }
        throw new LigamentException.Usage(where + " cannot be read as " + type.getName()
                + ": take a record, a type of "
                + "Java's numbers, String, byte[], List, Map, ArrayView or Value");
    }

    private static String article(Class<?> type) {
        return (type == int.class ? "an " : "a ") + type.getName();
    }

    private static long within(long value, long least, long most, Class<?> type) {
        if (value < least || value > most) {
            throw new LigamentException.Unexpected("the value is " + value + ", which does not fit "
                    + type.getSimpleName());
        }
        return value;
    }

    private static Object list(Value value, Type item, String where) {
        List<Object> list = new ArrayList<>();
        long size = value.size();
        for (long i = 0; i < size; i++) {
            list.add(read(value.at(i), item, where + "[" + i + "]"));
        }
        return list;
    }

    private static Object map(Value value, Type item, String where) {
        Map<String, Object> map = new LinkedHashMap<>();
        long size = value.size();
        for (long i = 0; i < size; i++) {
            String key = value.key(i);
            map.put(key, read(value.at(i), item, where + "." + key));
        }
        return map;
    }

    private static Object record(Value value, Class<?> type, String where) {
        RecordComponent[] components = type.getRecordComponents();
        Class<?>[] types = new Class<?>[components.length];
        Object[] arguments = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            String name = components[i].getName();
            types[i] = components[i].getType();
            Value found = value.find(name);
            if (found == null) {
                throw new LigamentException.Unexpected("there is no entry \"" + name + "\" for the record "
                        + type.getSimpleName() + "; there are " + String.join(", ", value.keys()));
            }
            arguments[i] = read(found, components[i].getGenericType(), where + "." + name);
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(arguments);
        } catch (InvocationTargetException thrown) {
            if (thrown.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new LigamentException.Unexpected("the record " + type.getSimpleName() + " refuses it: "
                    + thrown.getCause());
        } catch (ReflectiveOperationException | RuntimeException refused) {
            throw new LigamentException.Usage("the record " + type.getName() + " cannot be made: " + refused);
        }
    }

    /** Returns the value of a record's component. */
    static Object component(Object owner, RecordComponent component) {
        try {
            component.getAccessor().setAccessible(true);
            return component.getAccessor().invoke(owner);
        } catch (ReflectiveOperationException | RuntimeException refused) {
            throw new LigamentException.Usage("the record " + owner.getClass().getName() + " cannot be read: "
                    + refused);
        }
    }
}
