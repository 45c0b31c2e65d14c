package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.RecordComponent;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Map;

/**
 * Builds values of the library from Java objects, for one call. The memory that the values borrow is in an
 * arena, and stays until they are freed.
 */
final class Builder implements AutoCloseable {
    /** Maximum depth of a value in a message. The limit also stops a list that contains itself. */
    private static final int DEEPEST = 64;

    private final Arena arena = Arena.ofConfined();
    private final Scratch scratch = Scratch.get();
    private long root = Native.NULL;

    /** Returns the value of an object; NULL for null. Closing the builder frees the value. */
    long value(Object object) {
        root = object == null ? Native.NULL : build(object, "the value", 0);
        return root;
    }

    /** Returns the overlay with which a message is sent: settings, or a map of them. */
    long overlay(Object overlay) {
        if (overlay instanceof Value value) {
            value.holder.check();
            return value.handle;
        }
        return value(overlay instanceof Settings settings ? settings.values() : overlay);
    }

    @Override
    public void close() {
        try {
            Native.VALUE_FREE.invokeExact(root);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
        arena.close();
    }

    private long build(Object object, String where, int depth) {
        if (depth > DEEPEST) {
            throw new LigamentException.Usage(where + " is nested more than " + DEEPEST + " deep");
        }
        try {
            return switch (object) {
                case null -> (long) Native.NEW_NONE.invokeExact();
                case Boolean b -> (long) Native.NEW_BOOL.invokeExact((byte) (b ? 1 : 0));
                case Double d -> (long) Native.NEW_FLOAT.invokeExact(d.doubleValue());
                case Float f -> (long) Native.NEW_FLOAT.invokeExact(f.doubleValue());
                case Long l -> (long) Native.NEW_INT.invokeExact(l.longValue());
                case Integer i -> (long) Native.NEW_INT.invokeExact(i.longValue());
                case Short s -> (long) Native.NEW_INT.invokeExact(s.longValue());
                case Byte b -> (long) Native.NEW_INT.invokeExact(b.longValue());
                case BigInteger big -> integer(big, where);
                case Complex c -> (long) Native.NEW_COMPLEX.invokeExact(c.re(), c.im());
                case CharSequence text -> string(text.toString(), where);
                case byte[] bytes -> bytes(bytes);
                case Value value -> copy(value);
                case Message message -> copy(message.value());
                case ArrayView view -> copy(view.value());
                case Array array -> array(array);
                case double[] elements -> array(Array.of(elements));
                case float[] elements -> array(Array.of(elements));
                case long[] elements -> array(Array.of(elements));
                case int[] elements -> array(Array.of(elements));
                case short[] elements -> array(Array.of(elements));
                case boolean[] elements -> array(Array.of(elements));
                case double[][] rows -> array(Array.of(rows));
                case float[][] rows -> array(Array.of(rows));
                case long[][] rows -> array(Array.of(rows));
                case int[][] rows -> array(Array.of(rows));
                case Object[] items -> list(Arrays.asList(items), where, depth);
                case Map<?, ?> map -> map(map, where, depth);
                case Iterable<?> items -> list(items, where, depth);
                case Settings settings -> settings(settings, where, depth);
                case Record record -> record(record, where, depth);
                default -> throw new LigamentException.Usage(where + " is a " + object.getClass().getName()
                        + ", which cannot be sent: take null, Boolean, an integer, a number, Complex, String, "
                        + "byte[], an array, List, Map, a record, Settings or Value");
            };
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    private static final BigInteger MAX_UINT64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    private long integer(BigInteger big, String where) throws Throwable {
        if (big.bitLength() <= 63) {
            return (long) Native.NEW_INT.invokeExact(big.longValue());
        }
        if (big.signum() < 0 || big.compareTo(MAX_UINT64) > 0) {
            throw new LigamentException.Usage(where + " is " + big + ", which is not in -2^63 to 2^64 - 1");
        }
        return (long) Native.NEW_UINT.invokeExact(big.longValue());
    }

    private long string(String text, String where) throws Throwable {
        byte[] bytes;
        try {
            bytes = Native.utf8(text);
        } catch (LigamentException.Usage half) {
            throw new LigamentException.Usage(where + ": " + half.getMessage());
        }
        try (Arena own = Arena.ofConfined()) {
            return (long) Native.NEW_STRING.invokeExact(put(bytes, own), (long) bytes.length);
        }
    }

    private long bytes(byte[] bytes) throws Throwable {
        try (Arena own = Arena.ofConfined()) {
            return (long) Native.NEW_BYTES.invokeExact(put(bytes, own), (long) bytes.length);
        }
    }

    static long put(byte[] bytes, Arena arena) {
        MemorySegment memory = arena.allocate(Math.max(1, bytes.length));
        MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, 0, bytes.length);
        return memory.address();
    }

    private long copy(Value value) throws Throwable {
        value.holder.check();
        scratch.check((int) Native.VALUE_COPY.invokeExact(value.handle, scratch.out, scratch.error));
        return Native.getLong(scratch.out);
    }

    /** An array is copied once, into this builder's memory. Its value borrows the copy. */
    private long array(Array array) throws Throwable {
        MemorySegment memory = arena.allocate(Math.max(1, array.bytes()), 64);
        array.gather(memory);
        long described = scratch.array(array.dtype(), array.rawShape(), array.order(), null, memory.address(),
                names(array.rawNames(), arena), unit(array.rawUnit(), arena));
        scratch.check((int) Native.NEW_ARRAY_BORROWED.invokeExact(described, scratch.out, scratch.error));
        return Native.getLong(scratch.out);
    }

    static long names(String[] names, Arena arena) {
        if (names == null) {
            return Native.NULL;
        }
        MemorySegment pointers = arena.allocate(8L * Math.max(1, names.length), 8);
        for (int i = 0; i < names.length; i++) {
            Native.putLong(pointers.address() + 8L * i,
                    names[i] == null ? Native.NULL : Native.terminated(names[i], arena, "a dimension's name"));
        }
        return pointers.address();
    }

    static long unit(String unit, Arena arena) {
        return unit == null ? Native.NULL : Native.terminated(unit, arena, "the unit");
    }

    private long list(Iterable<?> items, String where, int depth) throws Throwable {
        long list = (long) Native.NEW_LIST.invokeExact();
        try {
            int i = 0;
            for (Object item : items) {
                long built = build(item, where + "[" + i++ + "]", depth + 1);
                scratch.check((int) Native.VALUE_APPEND.invokeExact(list, built, scratch.error));
            }
            return list;
        } catch (Throwable thrown) {
            Native.VALUE_FREE.invokeExact(list);
            throw thrown;
        }
    }

    private long map(Map<?, ?> entries, String where, int depth) throws Throwable {
        long map = (long) Native.NEW_MAP.invokeExact();
        try {
            for (Map.Entry<?, ?> entry : entries.entrySet()) {
                if (!(entry.getKey() instanceof String key)) {
                    throw new LigamentException.Usage(where + " has the key " + entry.getKey()
                            + ", which is no String");
                }
                put(map, key, entry.getValue(), where, depth);
            }
            return map;
        } catch (Throwable thrown) {
            Native.VALUE_FREE.invokeExact(map);
            throw thrown;
        }
    }

    private long record(Record record, String where, int depth) throws Throwable {
        long map = (long) Native.NEW_MAP.invokeExact();
        try {
            for (RecordComponent component : record.getClass().getRecordComponents()) {
                put(map, component.getName(), Records.component(record, component), where, depth);
            }
            return map;
        } catch (Throwable thrown) {
            Native.VALUE_FREE.invokeExact(map);
            throw thrown;
        }
    }

    private void put(long map, String key, Object item, String where, int depth) throws Throwable {
        try (Arena own = Arena.ofConfined()) {
            long name = Native.terminated(key, own, "the key of an entry of " + where);
            long built = build(item, where + "." + key, depth + 1);
            scratch.check((int) Native.VALUE_SET.invokeExact(map, name, built, scratch.error));
        }
    }

    private long settings(Settings settings, String where, int depth) throws Throwable {
        long map = map(settings.values(), where, depth);
        try {
            scratch.check((int) Native.NEW_SETTINGS.invokeExact(map, scratch.out, scratch.error));
            return Native.getLong(scratch.out);
        } finally {
            Native.VALUE_FREE.invokeExact(map);
        }
    }
}
