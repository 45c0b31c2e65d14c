package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * A received array, in the memory into which its sender put it, read-only and without a copy. It is valid until
 * its message is closed or handed over, in the thread to which the message belongs. Elsewhere and afterwards,
 * it fails with an {@link IllegalStateException} or {@link WrongThreadException}.
 */
public final class ArrayView {
    private final DType dtype;
    private final long[] shape;
    private final long[] strides;
    private final Order order;
    private final boolean contiguous;
    private final long length;
    private final MemorySegment memory;
    /** The offset of element 0 in {@code memory}. */
    private final long origin;
    /** The value of this array, from which names and unit are read. */
    private final Value value;

    /** A view of the array that the scratch memory describes. */
    ArrayView(Scratch scratch, Value value) {
        long view = scratch.view;
        int dimensions = Native.getInt(view + 4);
        this.value = value;
        dtype = DType.of(Native.getInt(view));
        order = Native.getInt(view + 8) == 0 ? Order.ROW_MAJOR : Order.COLUMN_MAJOR;
        contiguous = Native.getByte(view + 12) != 0;
        length = Native.getLong(view + 16);
        shape = new long[dimensions];
        strides = new long[dimensions];
        for (int i = 0; i < dimensions; i++) {
            shape[i] = Native.getLong(view + 24 + 8L * i);
            strides[i] = Native.getLong(view + 88 + 8L * i);
        }
        long low = contiguous || length == 0 ? 0 : Strided.lowest(shape, strides);
        long high = length == 0 ? 0 : contiguous ? length * dtype.size()
                : Strided.highest(shape, strides, dtype.size());
        long data = length == 0 ? 64 : Native.getLong(view + 152);
        origin = -low;
        memory = value.holder.segment(data + low, high - low).asReadOnly();
    }

    /** The type of the elements. */
    public DType dtype() {
        return dtype;
    }

    /** Number of dimensions: 0 (one element) to 8. */
    public int ndim() {
        return shape.length;
    }

    /** The extent of each dimension. */
    public long[] shape() {
        return shape.clone();
    }

    /** The extent of a dimension. */
    public long shape(int dimension) {
        return shape[dimension];
    }

    /** Bytes from one element to the next along each dimension. */
    public long[] strides() {
        return strides.clone();
    }

    /** The index that runs fastest in memory. */
    public Order order() {
        return order;
    }

    /** Number of elements. */
    public long length() {
        return length;
    }

    /** True if the elements lie next to each other, in {@link #order}. */
    public boolean isContiguous() {
        return contiguous;
    }

    /** The name of a dimension; null if it has none. */
    public String name(int dimension) {
        return value.arrayName(dimension);
    }

    /** A name for each dimension, or null if none has one. */
    public String[] names() {
        String[] names = new String[shape.length];
        boolean any = false;
        for (int i = 0; i < names.length; i++) {
            names[i] = name(i);
            any |= names[i] != null;
        }
        return any ? names : null;
    }

    /** The unit of the elements; null if they have none. */
    public String unit() {
        return value.arrayUnit();
    }

    /** The elements in memory. Element 0 begins at {@link #origin}. */
    public MemorySegment segment() {
        return memory;
    }

    /** The byte of {@link #segment} at which element 0 begins: 0 unless a stride is negative. */
    public long origin() {
        return origin;
    }

    Value value() {
        return value;
    }

    long[] rawShape() {
        return shape;
    }

    long[] rawStrides() {
        return strides;
    }

    // Buffers.

    /**
     * The elements as a read-only buffer, in the order in which they lie; of a complex array two numbers for
     * each.
     */
    public DoubleBuffer asDoubleBuffer() {
        return buffer(DType.FLOAT64, DType.COMPLEX128).asDoubleBuffer();
    }

    /**
     * The elements as a read-only buffer, in the order in which they lie; of a complex array two numbers for
     * each.
     */
    public FloatBuffer asFloatBuffer() {
        return buffer(DType.FLOAT32, DType.COMPLEX64).asFloatBuffer();
    }

    /** The elements as a read-only buffer, in the order in which they lie. */
    public LongBuffer asLongBuffer() {
        return buffer(DType.INT64, DType.UINT64).asLongBuffer();
    }

    /** The elements as a read-only buffer, in the order in which they lie. */
    public IntBuffer asIntBuffer() {
        return buffer(DType.INT32, DType.UINT32).asIntBuffer();
    }

    /** The elements as a read-only buffer, in the order in which they lie. */
    public ShortBuffer asShortBuffer() {
        return buffer(DType.INT16, DType.UINT16).asShortBuffer();
    }

    /** The memory of the elements as a read-only buffer, whatever their type. */
    public ByteBuffer asByteBuffer() {
        if (!contiguous) {
            throw new LigamentException.Usage(
                    "the elements do not lie next to each other; take segment() and strides()");
        }
        if (memory.byteSize() > Integer.MAX_VALUE) {
            throw new LigamentException.Usage("a buffer of java.nio has at most 2 GiB, but the array has "
                    + memory.byteSize()
                    + " bytes; take segment()");
        }
        return memory.asByteBuffer().order(ByteOrder.nativeOrder());
    }

    private ByteBuffer buffer(DType one, DType other) {
        wants(one, other);
        return asByteBuffer();
    }

    private void wants(DType one, DType other) {
        if (dtype != one && dtype != other) {
            throw new LigamentException.Unexpected(value.where() + "the array is of " + dtype + ", not " + one);
        }
    }

    // Elements.

    /** An element of an array of one dimension, as a {@code double}, of any type but the complex ones. */
    public double getDouble(long i) {
        return doubleAt(at(i));
    }

    /** An element of an array of two dimensions. */
    public double getDouble(long i, long j) {
        return doubleAt(at(i, j));
    }

    /** An element of an array of three dimensions. */
    public double getDouble(long i, long j, long k) {
        return doubleAt(at(i, j, k));
    }

    /** An element. */
    public double getDouble(long... index) {
        return doubleAt(origin + Strided.offset(shape, strides, index));
    }

    /** An element of an array of one dimension, of an integer type. The value of UINT64 is its bits. */
    public long getLong(long i) {
        return longAt(at(i));
    }

    /** An element of an array of two dimensions, of an integer type. The value of UINT64 is its bits. */
    public long getLong(long i, long j) {
        return longAt(at(i, j));
    }

    /** An element of an array of three dimensions, of an integer type. The value of UINT64 is its bits. */
    public long getLong(long i, long j, long k) {
        return longAt(at(i, j, k));
    }

    /** An element, of an integer type. The value of UINT64 is its bits. */
    public long getLong(long... index) {
        return longAt(origin + Strided.offset(shape, strides, index));
    }

    /** An element of an array of truth values. */
    public boolean getBoolean(long... index) {
        wants(DType.BOOL, DType.BOOL);
        return memory.get(JAVA_BYTE, origin + Strided.offset(shape, strides, index)) != 0;
    }

    /** An element of a complex array, or of any other that {@link #getDouble(long...)} reads. */
    public Complex getComplex(long... index) {
        long at = origin + Strided.offset(shape, strides, index);
        return switch (dtype) {
            case COMPLEX128 -> new Complex(memory.get(JAVA_DOUBLE, at), memory.get(JAVA_DOUBLE, at + 8));
            case COMPLEX64 -> new Complex(memory.get(JAVA_FLOAT, at), memory.get(JAVA_FLOAT, at + 4));
            default -> new Complex(doubleAt(at), 0);
        };
    }

    private long at(long i) {
        wantsDimensions(1);
        return origin + Strided.checked(i, 0, shape) * strides[0];
    }

    private long at(long i, long j) {
        wantsDimensions(2);
        return origin + Strided.checked(i, 0, shape) * strides[0] + Strided.checked(j, 1, shape) * strides[1];
    }

    private long at(long i, long j, long k) {
        wantsDimensions(3);
        return origin + Strided.checked(i, 0, shape) * strides[0] + Strided.checked(j, 1, shape) * strides[1]
                + Strided.checked(k, 2, shape) * strides[2];
    }

    private void wantsDimensions(int given) {
        if (shape.length != given) {
            throw new IndexOutOfBoundsException("an array with " + shape.length + " dimensions was asked with "
                    + given
                    + " indices");
        }
    }

    private double doubleAt(long at) {
        return switch (dtype) {
            case FLOAT64 -> memory.get(JAVA_DOUBLE, at);
            case FLOAT32 -> memory.get(JAVA_FLOAT, at);
            case COMPLEX64, COMPLEX128 -> throw new LigamentException.Unexpected(
                    value.where() + "the array is of " + dtype + ", not of real numbers; take getComplex");
            case UINT64 -> {
                long bits = memory.get(JAVA_LONG, at);
                yield bits >= 0 ? bits : new BigInteger(Long.toUnsignedString(bits)).doubleValue();
            }
            default -> longAt(at);
        };
    }

    private long longAt(long at) {
        return switch (dtype) {
            case BOOL -> memory.get(JAVA_BYTE, at) == 0 ? 0 : 1;
            case INT8 -> memory.get(JAVA_BYTE, at);
            case UINT8 -> memory.get(JAVA_BYTE, at) & 0xff;
            case INT16 -> memory.get(JAVA_SHORT, at);
            case UINT16 -> memory.get(JAVA_SHORT, at) & 0xffff;
            case INT32 -> memory.get(JAVA_INT, at);
            case UINT32 -> memory.get(JAVA_INT, at) & 0xffff_ffffL;
            case INT64, UINT64 -> memory.get(JAVA_LONG, at);
            default -> throw new LigamentException.Unexpected(
                    value.where() + "the array is of " + dtype + ", not of integers");
        };
    }

    // Copies, in the order of the indices: the last one runs fastest, whatever the order in memory is.

    /** A copy of the elements, the last index running fastest; of a complex array two numbers for each. */
    public double[] toDoubleArray() {
        wants(DType.FLOAT64, DType.COMPLEX128);
        double[] copy = new double[parts(8)];
        rows(MemorySegment.ofArray(copy));
        return copy;
    }

    /** A copy of the elements, the last index running fastest; of a complex array two numbers for each. */
    public float[] toFloatArray() {
        wants(DType.FLOAT32, DType.COMPLEX64);
        float[] copy = new float[parts(4)];
        rows(MemorySegment.ofArray(copy));
        return copy;
    }

    /** A copy of the elements, the last index running fastest; of UINT64: their bits. */
    public long[] toLongArray() {
        wants(DType.INT64, DType.UINT64);
        long[] copy = new long[parts(8)];
        rows(MemorySegment.ofArray(copy));
        return copy;
    }

    /** A copy of the elements, the last index running fastest; of UINT32: their bits. */
    public int[] toIntArray() {
        wants(DType.INT32, DType.UINT32);
        int[] copy = new int[parts(4)];
        rows(MemorySegment.ofArray(copy));
        return copy;
    }

    /** A copy of the elements, the last index running fastest; of UINT16: their bits. */
    public short[] toShortArray() {
        wants(DType.INT16, DType.UINT16);
        short[] copy = new short[parts(2)];
        rows(MemorySegment.ofArray(copy));
        return copy;
    }

    /** A copy of the elements, the last index running fastest; of UINT8: their bits. */
    public byte[] toByteArray() {
        wants(DType.INT8, DType.UINT8);
        byte[] copy = new byte[parts(1)];
        rows(MemorySegment.ofArray(copy));
        return copy;
    }

    /** A copy of the elements, the last index running fastest. */
    public boolean[] toBooleanArray() {
        wants(DType.BOOL, DType.BOOL);
        byte[] bytes = new byte[parts(1)];
        rows(MemorySegment.ofArray(bytes));
        boolean[] copy = new boolean[bytes.length];
        for (int i = 0; i < copy.length; i++) {
            copy[i] = bytes[i] != 0;
        }
        return copy;
    }

    /** The rows of an array of two dimensions. */
    public double[][] toDoubleArray2D() {
        double[] all = toDoubleArray();
        double[][] rows = new double[rows2D()][];
        Arrays.setAll(rows, i -> Arrays.copyOfRange(all, i * columns2D(), (i + 1) * columns2D()));
        return rows;
    }

    /** The rows of an array of two dimensions. */
    public float[][] toFloatArray2D() {
        float[] all = toFloatArray();
        float[][] rows = new float[rows2D()][];
        Arrays.setAll(rows, i -> Arrays.copyOfRange(all, i * columns2D(), (i + 1) * columns2D()));
        return rows;
    }

    /** The rows of an array of two dimensions. */
    public long[][] toLongArray2D() {
        long[] all = toLongArray();
        long[][] rows = new long[rows2D()][];
        Arrays.setAll(rows, i -> Arrays.copyOfRange(all, i * columns2D(), (i + 1) * columns2D()));
        return rows;
    }

    /** The rows of an array of two dimensions. */
    public int[][] toIntArray2D() {
        int[] all = toIntArray();
        int[][] rows = new int[rows2D()][];
        Arrays.setAll(rows, i -> Arrays.copyOfRange(all, i * columns2D(), (i + 1) * columns2D()));
        return rows;
    }

    private int rows2D() {
        if (shape.length != 2) {
            throw new LigamentException.Unexpected(value.where() + "the array has " + shape.length
                    + " dimensions, not 2");
        }
        return Math.toIntExact(shape[0]);
    }

    /** Numbers in a row. */
    private int columns2D() {
        return Math.toIntExact(shape[1] * (dtype.isComplex() ? 2 : 1));
    }

    private int parts(int size) {
        long parts = length * dtype.size() / size;
        if (parts > Integer.MAX_VALUE - 8) {
            throw new LigamentException.Usage("Java's arrays have at most 2^31 elements, but this one has "
                    + parts
                    + "; take segment()");
        }
        return (int) parts;
    }

    private void rows(MemorySegment target) {
        Strided.copy(memory, origin, strides, target, 0, Strided.dense(shape, Order.ROW_MAJOR, dtype.size()),
                shape,
                dtype.size());
    }

    /**
     * Copies the elements to an array of the caller of the same type and shape, in its order and with its
     * strides.
     */
    public void copyTo(Array target) {
        if (target.dtype() != dtype || !Arrays.equals(target.rawShape(), shape)) {
            throw new LigamentException.Unexpected(value.where() + "an array of " + dtype + " and shape "
                    + Arrays.toString(shape) + " came, but one of " + target.dtype() + " and shape "
                    + Arrays.toString(target.rawShape()) + " was asked for");
        }
        target.refresh();
        Strided.copy(memory, origin, strides, target.rawMemory(), target.offset(), target.strides(), shape,
                dtype.size());
        target.wrote();
    }

    /** Copies the array to Java's heap, with the same type, shape, order, names and unit. */
    public Array copy() {
        Object elements = switch (dtype) {
            case FLOAT64, COMPLEX128 -> new double[parts(8)];
            case FLOAT32, COMPLEX64 -> new float[parts(4)];
            case INT64, UINT64 -> new long[parts(8)];
            case INT32, UINT32 -> new int[parts(4)];
            case INT16, UINT16 -> new short[parts(2)];
            case INT8, UINT8, BOOL -> new byte[parts(1)];
        };
        Array copy = like(elements);
        copyTo(copy);
        return copy;
    }

    /** Makes an array of elements of the caller, with the type, shape, order, names and unit of this one. */
    public Array like(Object elements) {
        Array like = Array.of(dtype, elements, shape).order(order);
        String[] names = names();
        like = names == null ? like : like.names(names);
        String unit = unit();
        return unit == null ? like : like.unit(unit);
    }

    @Override
    public String toString() {
        return "an array of " + dtype + " and shape " + Arrays.toString(shape);
    }
}
