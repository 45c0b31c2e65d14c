package org.ligament;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The structs for the arguments of calls. Each thread has one set, which is made once, so that a call allocates
 * none. Their contents are valid until the thread's next call.
 */
final class Scratch {
    private static final ThreadLocal<Scratch> OF_THREAD = ThreadLocal.withInitial(Scratch::new);

    /**
     * Largest Java array, in bytes, that is copied to memory here when it is sent. A longer array is copied to
     * a loan.
     */
    static final long SMALL = 64 * 1024;

    // These arenas keep the memory alive whose addresses are below.
    private final MemorySegment structs = Arena.ofAuto().allocate(2048, 64);
    private MemorySegment small;

    /** lig_error. */
    final long error = structs.address();
    /** Two results of 8 bytes. */
    final long out = error + Native.ERROR_SIZE;
    final long out2 = out + 8;
    final long sendOptions = out + 16;
    final long receiveOptions = sendOptions + Native.SEND_OPTIONS_SIZE;
    final long array = receiveOptions + Native.RECEIVE_OPTIONS_SIZE;
    final long view = array + Native.ARRAY_SIZE;
    final long times = view + Native.VIEW_SIZE;
    final long strides = times + Native.TIMES_SIZE;
    final long expected = strides + 8 * Native.MAX_DIMS;

    private Scratch() {
        Native.putLong(sendOptions, Native.SEND_OPTIONS_SIZE);
        Native.putLong(receiveOptions, Native.RECEIVE_OPTIONS_SIZE);
        Native.putLong(expected, Native.EXPECTED_SIZE);
    }

    static Scratch get() {
        return OF_THREAD.get();
    }

    /** Memory of {@link #SMALL} bytes. */
    MemorySegment small() {
        if (small == null) {
            small = Arena.ofAuto().allocate(SMALL, 64);
        }
        return small;
    }

    /** Returns the exception for a status, with the text that the library wrote to the error. */
    LigamentException failure(int status) {
        return LigamentException.of(status, Native.text(error));
    }

    void check(int status) {
        if (status != 0) {
            throw failure(status);
        }
    }

    /** Fills in the options of a send, and returns their address. */
    long send(double timestamp, double next, boolean hasNext, int slot, long settings) {
        long at = sendOptions;
        Native.putDouble(at + 8, timestamp);
        Native.putDouble(at + 16, next);
        Native.putByte(at + 24, hasNext ? 1 : 0);
        Native.putByte(at + 25, slot(slot));
        Native.putInt(at + 28, slot);
        Native.putLong(at + 32, settings);
        return at;
    }

    /** Fills in the options of a receive; a negative timeout stands for none. */
    long receive(int slot, double timeout) {
        long at = receiveOptions;
        Native.putDouble(at + 8, timeout);
        Native.putByte(at + 16, timeout >= 0 ? 1 : 0);
        Native.putByte(at + 17, slot(slot));
        Native.putInt(at + 20, slot);
        return at;
    }

    /**
     * Fills in the expected properties of an array. A type or shape that is null allows any, and so does a
     * negative extent.
     */
    long expected(DType dtype, long[] shape) {
        long at = expected;
        if (shape != null && shape.length > Native.MAX_DIMS) {
            throw new LigamentException.Usage("an array has at most " + Native.MAX_DIMS + " dimensions, not "
                    + shape.length);
        }
        Native.putInt(at + 8, dtype == null ? 0 : dtype.number);
        Native.putInt(at + 12, shape == null ? 0 : shape.length);
        Native.putByte(at + 16, 0);
        Native.putByte(at + 17, shape == null ? 0 : 1);
        for (int i = 0; shape != null && i < shape.length; i++) {
            Native.putLong(at + 24 + 8L * i, shape[i]);
        }
        return at;
    }

    /** Returns true if a slot is given. */
    static int slot(int slot) {
        if (slot >= 0) {
            return 1;
        }
        if (slot == Instance.NO_SLOT) {
            return 0;
        }
        throw new LigamentException.Usage("there is no slot " + slot);
    }

    /** Fills in a lig_array for elements next to each other in one dimension. */
    long row(DType type, long length, long data) {
        long at = array;
        Native.putInt(at, type.number);
        Native.putInt(at + 4, 1);
        Native.putLong(at + 8, 0);
        Native.putLong(at + 16, length);
        Native.putLong(at + 80, Native.NULL);
        Native.putLong(at + 88, data);
        Native.putLong(at + 96, Native.NULL);
        Native.putLong(at + 104, Native.NULL);
        return at;
    }

    /** Fills in a lig_array; strides, names and unit are addresses or NULL. */
    long array(DType type, long[] shape, Order order, long[] byteStrides, long data, long names, long unit) {
        long at = array;
        Native.putInt(at, type.number);
        Native.putInt(at + 4, shape.length);
        Native.putInt(at + 8, order.ordinal());
        Native.putInt(at + 12, 0);
        for (int i = 0; i < shape.length; i++) {
            Native.putLong(at + 16 + 8L * i, shape[i]);
        }
        if (byteStrides == null) {
            Native.putLong(at + 80, Native.NULL);
        } else {
            for (int i = 0; i < byteStrides.length; i++) {
                Native.putLong(strides + 8L * i, byteStrides[i]);
            }
            Native.putLong(at + 80, strides);
        }
        Native.putLong(at + 88, data);
        Native.putLong(at + 96, names);
        Native.putLong(at + 104, unit);
        return at;
    }
}
