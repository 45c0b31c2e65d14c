package org.ligament;

import java.lang.foreign.MemorySegment;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * An array of the caller, to be sent or to be received into: memory with a type, a shape, an order, and perhaps
 * strides, names and a unit. It does not copy: a send uses the contents that the memory has at that time.
 */
public final class Array {
    private final DType dtype;
    private final long[] shape;
    private final Order order;
    private final MemorySegment memory;
    private final long offset;
    private final long[] strides;
    private final String[] names;
    private final String unit;
    /**
     * The object that {@code memory} is a copy of, if it is an array of Java that cannot be viewed as memory.
     */
    private final boolean[] booleans;

    private Array(DType dtype, long[] shape, Order order, MemorySegment memory, long offset, long[] strides,
            String[] names, String unit, boolean[] booleans) {
        this.dtype = dtype;
        this.shape = shape;
        this.order = order;
        this.memory = memory;
        this.offset = offset;
        this.strides = strides;
        this.names = names;
        this.unit = unit;
        this.booleans = booleans;
        fits();
    }

    private void fits() {
        Strided.check(shape);
        if (Strided.length(shape) == 0) {
            return;
        }
        long[] real = strides();
        long low;
        long high;
        try {
            low = Math.addExact(offset, Strided.lowest(shape, real));
            high = Math.addExact(offset, Strided.highest(shape, real, dtype.size()));
        } catch (ArithmeticException overflow) {
            throw new LigamentException.Usage("the strides " + Arrays.toString(real)
                    + " lead out of all memory");
        }
        if (low < 0 || high > memory.byteSize()) {
            throw new LigamentException.Usage("an array of " + dtype + " and shape " + Arrays.toString(shape)
                    + (strides == null ? "" : " with strides " + Arrays.toString(strides))
                            + " needs the bytes " + low + " to "
                    + high + ", but " + memory.byteSize() + " were given");
        }
    }

    /** An array of one dimension. */
    public static Array of(double[] elements) {
        return of(elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(double[] elements, long... shape) {
        return of(DType.FLOAT64, elements, shape);
    }

    /** An array of one dimension. */
    public static Array of(float[] elements) {
        return of(elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(float[] elements, long... shape) {
        return of(DType.FLOAT32, elements, shape);
    }

    /** An array of one dimension. */
    public static Array of(long[] elements) {
        return of(DType.INT64, elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(long[] elements, long... shape) {
        return of(DType.INT64, elements, shape);
    }

    /** An array of one dimension. */
    public static Array of(int[] elements) {
        return of(elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(int[] elements, long... shape) {
        return of(DType.INT32, elements, shape);
    }

    /** An array of one dimension. */
    public static Array of(short[] elements) {
        return of(elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(short[] elements, long... shape) {
        return of(DType.INT16, elements, shape);
    }

    /** An array of one dimension, of INT8. (A {@code byte[]} that is sent by itself is bytes.) */
    public static Array of(byte[] elements) {
        return of(elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(byte[] elements, long... shape) {
        return of(DType.INT8, elements, shape);
    }

    /** An array of one dimension. */
    public static Array of(boolean[] elements) {
        return of(elements, elements.length);
    }

    /** An array of this shape, in row-major order unless {@link #order} sets another. */
    public static Array of(boolean[] elements, long... shape) {
        return of(DType.BOOL, elements, shape);
    }

    /** An array of two dimensions: a copy of rows of equal length. */
    public static Array of(double[][] rows) {
        int columns = columns(rows.length, rows.length == 0 ? 0 : rows[0].length, i -> rows[i].length);
        double[] elements = new double[Math.multiplyExact(rows.length, columns)];
        for (int i = 0; i < rows.length; i++) {
            System.arraycopy(rows[i], 0, elements, i * columns, columns);
        }
        return of(elements, rows.length, columns);
    }

    /** An array of two dimensions: a copy of rows of equal length. */
    public static Array of(float[][] rows) {
        int columns = columns(rows.length, rows.length == 0 ? 0 : rows[0].length, i -> rows[i].length);
        float[] elements = new float[Math.multiplyExact(rows.length, columns)];
        for (int i = 0; i < rows.length; i++) {
            System.arraycopy(rows[i], 0, elements, i * columns, columns);
        }
        return of(elements, rows.length, columns);
    }

    /** An array of two dimensions: a copy of rows of equal length. */
    public static Array of(long[][] rows) {
        int columns = columns(rows.length, rows.length == 0 ? 0 : rows[0].length, i -> rows[i].length);
        long[] elements = new long[Math.multiplyExact(rows.length, columns)];
        for (int i = 0; i < rows.length; i++) {
            System.arraycopy(rows[i], 0, elements, i * columns, columns);
        }
        return of(elements, (long) rows.length, (long) columns);
    }

    /** An array of two dimensions: a copy of rows of equal length. */
    public static Array of(int[][] rows) {
        int columns = columns(rows.length, rows.length == 0 ? 0 : rows[0].length, i -> rows[i].length);
        int[] elements = new int[Math.multiplyExact(rows.length, columns)];
        for (int i = 0; i < rows.length; i++) {
            System.arraycopy(rows[i], 0, elements, i * columns, columns);
        }
        return of(elements, rows.length, columns);
    }

    private static int columns(int rows, int columns, java.util.function.IntUnaryOperator length) {
        for (int i = 0; i < rows; i++) {
            if (length.applyAsInt(i) != columns) {
                throw new LigamentException.Usage("row " + i + " has " + length.applyAsInt(i)
                        + " elements, but row 0 has "
                        + columns + ": rows of an array are all of one length");
            }
        }
        return columns;
    }

    /**
     * An array of a type and shape.
     *
     * @param dtype the type; unsigned elements are given by their bits in Java's type of the same size, and
     * complex ones by twice as many numbers as elements
     * @param elements an array of Java's numbers, a {@link MemorySegment}, or a buffer of {@code java.nio},
     * from its position on
     * @param shape the extent of each dimension; none for an array without dimensions, which has one element
     */
    public static Array of(DType dtype, Object elements, long... shape) {
        boolean[] booleans = elements instanceof boolean[] given ? given : null;
        MemorySegment memory = memory(dtype, elements);
        return new Array(dtype, shape.clone(), Order.ROW_MAJOR, memory, 0, null, null, null, booleans);
    }

    private static MemorySegment memory(DType dtype, Object elements) {
        MemorySegment memory = switch (elements) {
            case MemorySegment segment -> segment;
            case ByteBuffer buffer -> MemorySegment.ofBuffer(buffer);
            case double[] d when dtype == DType.FLOAT64 || dtype == DType.COMPLEX128 ->
                    MemorySegment.ofArray(d);
            case float[] f when dtype == DType.FLOAT32 || dtype == DType.COMPLEX64 -> MemorySegment.ofArray(f);
            case long[] l when dtype == DType.INT64 || dtype == DType.UINT64 -> MemorySegment.ofArray(l);
            case int[] i when dtype == DType.INT32 || dtype == DType.UINT32 -> MemorySegment.ofArray(i);
            case short[] s when dtype == DType.INT16 || dtype == DType.UINT16 -> MemorySegment.ofArray(s);
            case byte[] b when dtype.size() == 1 -> MemorySegment.ofArray(b);
            case boolean[] b when dtype == DType.BOOL -> MemorySegment.ofArray(new byte[b.length]);
            case DoubleBuffer b when dtype == DType.FLOAT64 || dtype == DType.COMPLEX128 ->
                    ofBuffer(b, b.order());
            case FloatBuffer b when dtype == DType.FLOAT32 || dtype == DType.COMPLEX64 ->
                    ofBuffer(b, b.order());
            case LongBuffer b when dtype == DType.INT64 || dtype == DType.UINT64 -> ofBuffer(b, b.order());
            case IntBuffer b when dtype == DType.INT32 || dtype == DType.UINT32 -> ofBuffer(b, b.order());
            case ShortBuffer b when dtype == DType.INT16 || dtype == DType.UINT16 -> ofBuffer(b, b.order());
            case null -> throw new LigamentException.Usage("the elements are null");
            default -> throw new LigamentException.Usage("elements of " + dtype + " cannot be in a "
                    + elements.getClass().getSimpleName());
        };
        return memory;
    }

    private static MemorySegment ofBuffer(Buffer buffer, ByteOrder order) {
        if (order != ByteOrder.nativeOrder()) {
            throw new LigamentException.Usage("the buffer is " + order + ", but this machine is "
                    + ByteOrder.nativeOrder()
                    + "; make it with order(ByteOrder.nativeOrder())");
        }
        return MemorySegment.ofBuffer(buffer);
    }

    /** The same array in this order of the elements in memory. An array with strides is sent in this order. */
    public Array order(Order order) {
        return new Array(dtype, shape, order, memory, offset, strides, names, unit, booleans);
    }

    /** The same memory, with these strides in bytes along each dimension. They may be negative. */
    public Array strides(long... bytes) {
        if (bytes.length != shape.length) {
            throw new LigamentException.Usage(bytes.length + " strides were given for " + shape.length
                    + " dimensions");
        }
        return new Array(dtype, shape, order, memory, offset, bytes.clone(), names, unit, booleans);
    }

    /** The same memory, with element 0 at this byte, and with these strides in bytes along each dimension. */
    public Array section(long firstByte, long... strides) {
        if (strides.length != shape.length) {
            throw new LigamentException.Usage(strides.length + " strides were given for " + shape.length
                    + " dimensions");
        }
        return new Array(dtype, shape, order, memory, firstByte, strides.clone(), names, unit, booleans);
    }

    /** The same array, with a name for each dimension. */
    public Array names(String... names) {
        if (names.length != shape.length) {
            throw new LigamentException.Usage(names.length + " names were given for " + shape.length
                    + " dimensions");
        }
        return new Array(dtype, shape, order, memory, offset, strides, names.clone(), unit, booleans);
    }

    /** The same array, with the unit of its elements. */
    public Array unit(String unit) {
        return new Array(dtype, shape, order, memory, offset, strides, names, unit, booleans);
    }

    /** The type of the elements. */
    public DType dtype() {
        return dtype;
    }

    /** The extent of each dimension. */
    public long[] shape() {
        return shape.clone();
    }

    /** The index that runs fastest in memory. */
    public Order order() {
        return order;
    }

    /** The memory of the array; of a {@code boolean[]} it is a copy. */
    public MemorySegment memory() {
        refresh();
        return memory;
    }

    /** Bytes from one element to the next along each dimension. */
    public long[] strides() {
        return strides == null ? Strided.dense(shape, order, dtype.size()) : strides.clone();
    }

    long[] rawShape() {
        return shape;
    }

    /** The strides that were given: null if the elements lie next to each other. */
    long[] rawStrides() {
        return strides;
    }

    long offset() {
        return offset;
    }

    String[] rawNames() {
        return names;
    }

    String rawUnit() {
        return unit;
    }

    long bytes() {
        return Strided.length(shape) * dtype.size();
    }

    /** The memory as it is. Call {@link #refresh} before the memory is read. */
    MemorySegment rawMemory() {
        return memory;
    }

    /** Copies the object of which the memory is a copy into the memory again. */
    void refresh() {
        if (booleans != null) {
            byte[] bytes = (byte[]) memory.heapBase().orElseThrow();
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] = (byte) (booleans[i] ? 1 : 0);
            }
        }
    }

    /** Copies the memory back into that object, after the memory was written. */
    void wrote() {
        if (booleans != null) {
            byte[] bytes = (byte[]) memory.heapBase().orElseThrow();
            for (int i = 0; i < bytes.length; i++) {
                booleans[i] = bytes[i] != 0;
            }
        }
    }

    /** Copies the elements so that they lie next to each other, in this array's order. */
    void gather(MemorySegment target) {
        refresh();
        if (strides == null) {
            MemorySegment.copy(memory, offset, target, 0, bytes());
        } else {
            Strided.copy(memory, offset, strides, target, 0, Strided.dense(shape, order, dtype.size()), shape,
                    dtype.size());
        }
    }

    @Override
    public String toString() {
        return "an array of " + dtype + " and shape " + Arrays.toString(shape);
    }
}
