package org.ligament;

import java.lang.foreign.Arena;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A value of a message, or a part of one: no value, a truth value, a number, text, bytes, an array, or a list
 * or map of values. It is valid until the message is closed; {@link #copy} makes a copy that stays.
 */
public final class Value implements AutoCloseable {
    final Holder holder;
    final long handle;

    Value(Holder holder, long handle) {
        this.holder = holder;
        this.handle = handle;
    }

    /** The memory of a copied value. */
    private static final class Copied extends Holder {
        private final long handle;
        private final String origin;

        Copied(long handle, String origin) {
            this.handle = handle;
            this.origin = origin;
        }

        @Override
        String origin() {
            return origin;
        }

        @Override
        String what() {
            return "the value";
        }

        @Override
        void free() {
            try {
                Native.VALUE_FREE.invokeExact(handle);
            } catch (Throwable thrown) {
                throw Native.never(thrown);
            }
        }
    }

    String where() {
        String origin = holder.origin();
        return origin.isEmpty() ? "" : "in the message on " + origin + ": ";
    }

    private LigamentException failure(Scratch scratch, int status) {
        LigamentException failure = scratch.failure(status);
        return status == 3 ? LigamentException.of(status, where() + failure.getMessage()) : failure;
    }

    /** The kind of the value. */
    public Kind kind() {
        holder.check();
        try {
            int kind = (int) Native.VALUE_KIND.invokeExact(handle);
            if (kind < 0 || kind >= KINDS.length) {
                throw new LigamentException.Unexpected(where() + "the value is of a kind (" + kind
                        + ") that this version does not know; a newer one is needed");
            }
            return KINDS[kind];
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    private static final Kind[] KINDS = Kind.values();

    /** True if there is no value. */
    public boolean isNone() {
        return kind() == Kind.NONE;
    }

    /** A truth value. */
    public boolean asBoolean() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_BOOL.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** An integer. */
    public long asLong() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_INT.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return Native.getLong(scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** An integer that fits {@code int}. */
    public int asInt() {
        long value = asLong();
        if (value != (int) value) {
            throw new LigamentException.Unexpected(where() + "the value is " + value
                    + ", which does not fit int");
        }
        return (int) value;
    }

    /** An integer, which may be above {@code Long.MAX_VALUE}. */
    public BigInteger asBigInteger() {
        if (kind() != Kind.UINT) {
            return BigInteger.valueOf(asLong());
        }
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_UINT.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return new BigInteger(Long.toUnsignedString(Native.getLong(scratch.out)));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** A number; integers are accepted. */
    public double asDouble() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_FLOAT.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return Native.getDouble(scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** A complex number. */
    public Complex asComplex() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_COMPLEX.invokeExact(handle, scratch.out, scratch.out2,
                    scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return new Complex(Native.getDouble(scratch.out), Native.getDouble(scratch.out2));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** Text. */
    public String asString() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_STRING.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return Native.text(Native.getLong(scratch.out), Native.getLong(scratch.out2));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** A copy of bytes. */
    public byte[] asBytes() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_BYTES.invokeExact(handle, scratch.out, scratch.out2, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            long size = Native.getLong(scratch.out2);
            if (size > Integer.MAX_VALUE - 8) {
                throw new LigamentException.Usage("Java's arrays have at most 2^31 elements, but there are "
                        + size
                        + " bytes");
            }
            byte[] bytes = new byte[(int) size];
            if (size > 0) {
                java.lang.foreign.MemorySegment.copy(Native.memory(Native.getLong(scratch.out), size),
                        java.lang.foreign.ValueLayout.JAVA_BYTE, 0, bytes, 0, bytes.length);
            }
            return bytes;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The number of items of a list, of a map, or of settings. */
    public long size() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_COUNT.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return Native.getLong(scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** An item of a list, or the value of an entry of a map. */
    public Value at(long index) {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_AT.invokeExact(handle, index, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return new Value(holder, Native.getLong(scratch.out));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The value under a key of a map. */
    public Value at(String key) {
        Value found = find(key);
        if (found == null) {
            throw new LigamentException.Unexpected(where() + "the map has no key \"" + key + "\"; it has "
                    + String.join(", ", keys()));
        }
        return found;
    }

    /** The value under a key of a map; null if there is no such key. */
    public Value find(String key) {
        holder.check();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            long name = Native.terminated(key, arena, "the key");
            int status = (int) Native.VALUE_FIND.invokeExact(handle, name, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            long found = Native.getLong(scratch.out);
            return found == Native.NULL ? null : new Value(holder, found);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The key of an entry of a map or of settings. */
    public String key(long index) {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_KEY.invokeExact(handle, index, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return Native.text(Native.getLong(scratch.out), Native.getLong(scratch.out2));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The keys of a map or of settings, in their order. */
    public List<String> keys() {
        long size = size();
        List<String> keys = new ArrayList<>();
        for (long i = 0; i < size; i++) {
            keys.add(key(i));
        }
        return keys;
    }

    /** An array, in place. */
    public ArrayView array() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_ARRAY.invokeExact(handle, scratch.view, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            return new ArrayView(scratch, this);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /**
     * An array, in place, if it is of this type (null for any). The error names port, sender, the received
     * value and the expected array.
     */
    public ArrayView array(DType dtype) {
        return expected(dtype, null);
    }

    /**
     * An array, in place, if it is of this type (null for any) and shape: an extent for each dimension, below 0
     * for any.
     */
    public ArrayView array(DType dtype, long... shape) {
        return expected(dtype, shape);
    }

    private ArrayView expected(DType dtype, long[] shape) {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            scratch.check((int) Native.EXPECT_ARRAY.invokeExact(holder.message(), handle,
                    scratch.expected(dtype, shape), scratch.view, scratch.error));
            return new ArrayView(scratch, this);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    String arrayName(int dimension) {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_ARRAY_NAME.invokeExact(handle, dimension, scratch.out,
                    scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            long text = Native.getLong(scratch.out);
            return text == Native.NULL ? null : Native.text(text, Native.getLong(scratch.out2));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    String arrayUnit() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_ARRAY_UNIT.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            long text = Native.getLong(scratch.out);
            return text == Native.NULL ? null : Native.text(text, Native.getLong(scratch.out2));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /**
     * Settings by name: truth values, integers ({@code Long}), numbers ({@code Double}), texts, and lists of
     * them.
     */
    public Map<String, Object> settings() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_SETTINGS.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            long settings = Native.getLong(scratch.out);
            try (Value map = new Value(new Copied(settings, ""), settings)) {
                return map.asMap();
            }
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The entries of a map, each in the form of {@link #toObject}. */
    public Map<String, Object> asMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        long size = size();
        for (long i = 0; i < size; i++) {
            map.put(key(i), at(i).toObject());
        }
        return map;
    }

    /** The items of a list, each in the form of {@link #toObject}. */
    public List<Object> asList() {
        List<Object> list = new ArrayList<>();
        long size = size();
        for (long i = 0; i < size; i++) {
            list.add(at(i).toObject());
        }
        return list;
    }

    /**
     * The whole value as Java objects: null, {@link Boolean}, {@link Long}, {@link BigInteger} (above {@code
     * Long.MAX_VALUE}), {@link Double}, {@link Complex}, {@link String}, {@code byte[]}, {@link List}, {@link
     * Map}, {@link ArrayView} (in place, valid as long as the message), {@link Settings}.
     */
    public Object toObject() {
        return switch (kind()) {
            case NONE -> null;
            case BOOL -> asBoolean();
            case INT -> asLong();
            case UINT -> asBigInteger();
            case FLOAT -> asDouble();
            case COMPLEX -> asComplex();
            case STRING -> asString();
            case BYTES -> asBytes();
            case LIST -> asList();
            case MAP -> asMap();
            case ARRAY -> array();
            case SETTINGS -> new Settings(settings());
        };
    }

    /**
     * The value as an object of a class: a record, whose components are the entries of a map by name; or the
     * result of {@link #toObject}, with numbers of the requested type and arrays as Java's own.
     */
    public <T> T as(Class<T> type) {
        Object made = Records.read(this, type, "the value");
        @SuppressWarnings("unchecked")
        T result = (T) made;
        return result;
    }

    /**
     * A copy that stays until it is closed, also after the message is closed. Arrays and bytes are not copied:
     * both values share the memory, which stays until both are closed.
     */
    public Value copy() {
        holder.check();
        Scratch scratch = Scratch.get();
        try {
            int status = (int) Native.VALUE_COPY.invokeExact(handle, scratch.out, scratch.error);
            if (status != 0) {
                throw failure(scratch, status);
            }
            long copy = Native.getLong(scratch.out);
            return new Value(new Copied(copy, holder.origin()), copy);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** Hands a {@link #copy} over to another thread; see {@link Message#handOver}. */
    public void handOver() {
        if (holder instanceof Copied) {
            holder.handOver();
        } else {
            throw new LigamentException.Usage("the value is part of a message; call the message's handOver()");
        }
    }

    /** Returns the memory of a {@link #copy}. A part of a message ends with the message. */
    @Override
    public void close() {
        if (holder instanceof Copied) {
            holder.close();
        }
    }

    @Override
    public String toString() {
        return holder.isClosed() ? "a value that is closed" : "a value of kind " + kind();
    }
}
