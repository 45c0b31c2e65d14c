package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * Memory for an array: fill it, then send it. The receiver reads more than 64 KiB in place. New memory holds
 * arbitrary bytes. The loan is gone when it is sent, also after an error. Close it to give it back without
 * sending it.
 */
public final class Loan extends Holder {
    final Instance instance;
    final long handle;
    private final DType dtype;
    private final long[] shape;
    private final Order order;
    private final long[] strides;
    private final long address;
    private final long bytes;

    Loan(Instance instance, long handle, long address, DType dtype, long[] shape, Order order) {
        this.instance = instance;
        this.handle = handle;
        this.address = address;
        this.dtype = dtype;
        this.shape = shape;
        this.order = order;
        strides = Strided.dense(shape, order, dtype.size());
        bytes = Strided.length(shape) * dtype.size();
    }

    @Override
    String what() {
        return "the loan";
    }

    @Override
    void free() {
        instance.free(this);
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

    /** The memory, until the loan is sent or closed. */
    public MemorySegment segment() {
        return segment(bytes == 0 ? 64 : address, bytes);
    }

    /** The memory as a buffer. */
    public ByteBuffer asByteBuffer() {
        if (bytes > Integer.MAX_VALUE) {
            throw new LigamentException.Usage("a buffer of java.nio has at most 2 GiB, but the loan has "
                    + bytes
                    + " bytes; take segment()");
        }
        return segment().asByteBuffer().order(ByteOrder.nativeOrder());
    }

    /** The elements as a buffer; of a complex array two numbers for each. */
    public DoubleBuffer asDoubleBuffer() {
        wants(DType.FLOAT64, DType.COMPLEX128);
        return asByteBuffer().asDoubleBuffer();
    }

    /** The elements as a buffer; of a complex array two numbers for each. */
    public FloatBuffer asFloatBuffer() {
        wants(DType.FLOAT32, DType.COMPLEX64);
        return asByteBuffer().asFloatBuffer();
    }

    /** The elements as a buffer. */
    public LongBuffer asLongBuffer() {
        wants(DType.INT64, DType.UINT64);
        return asByteBuffer().asLongBuffer();
    }

    /** The elements as a buffer. */
    public IntBuffer asIntBuffer() {
        wants(DType.INT32, DType.UINT32);
        return asByteBuffer().asIntBuffer();
    }

    /** The elements as a buffer. */
    public ShortBuffer asShortBuffer() {
        wants(DType.INT16, DType.UINT16);
        return asByteBuffer().asShortBuffer();
    }

    /** Sets an element of an array of FLOAT64 or FLOAT32. */
    public void setDouble(double value, long... index) {
        wants(DType.FLOAT64, DType.FLOAT32);
        long at = Strided.offset(shape, strides, index);
        if (dtype == DType.FLOAT64) {
            segment().set(JAVA_DOUBLE, at, value);
        } else {
            segment().set(JAVA_FLOAT, at, (float) value);
        }
    }

    /** Sets an element of an array of INT64 or UINT64. */
    public void setLong(long value, long... index) {
        wants(DType.INT64, DType.UINT64);
        segment().set(JAVA_LONG, Strided.offset(shape, strides, index), value);
    }

    /** Copies an array of this type and shape into the loan, from any order and with any strides. */
    public void copyFrom(ArrayView source) {
        Strided.copy(source.segment(), source.origin(), source.rawStrides(), segment(), 0,
                fitting(source.dtype(),
                source.rawShape()), shape, dtype.size());
    }

    /** Copies an array of this type and shape into the loan, from any order and with any strides. */
    public void copyFrom(Array source) {
        source.refresh();
        Strided.copy(source.rawMemory(), source.offset(), source.strides(), segment(), 0,
                fitting(source.dtype(),
                source.rawShape()), shape, dtype.size());
    }

    private long[] fitting(DType type, long[] extents) {
        if (type != dtype || !Arrays.equals(extents, shape)) {
            throw new LigamentException.Usage("the loan is for " + dtype + " and shape "
                    + Arrays.toString(shape) + ", not "
                    + type + " and shape " + Arrays.toString(extents));
        }
        return strides;
    }

    private void wants(DType one, DType other) {
        if (dtype != one && dtype != other) {
            throw new LigamentException.Usage("the loan is of " + dtype + ", not " + one);
        }
    }
}
