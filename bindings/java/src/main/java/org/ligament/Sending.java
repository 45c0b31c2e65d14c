package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The calls by which an {@link Instance} sends, and lends memory for messages. */
abstract class Sending extends Asking {
    /**
     * A thread that makes no calls and never starts. Memory that it can use can also be closed by other
     * threads.
     */
    private static final Thread OTHER = Thread.ofPlatform().name("other").unstarted(() -> { });

    private final List<Loan> loans = new ArrayList<>();

    Sending(long handle, boolean lent) {
        super(handle, lent);
    }

    // Sending. A call returns as soon as the value is stored: the caller may then change its memory. It does
    // nothing if the port is not connected.

    /** Sends a number. */
    public void send(String port, double timestamp, double value) {
        sendDouble(port, timestamp, 0, false, value, Instance.NO_SLOT);
    }

    /** Sends a number on a slot of a vector port. */
    public void send(String port, double timestamp, double value, int slot) {
        sendDouble(port, timestamp, 0, false, value, slot);
    }

    /** Sends a number, with the time of the next message. */
    public void send(String port, Times times, double value) {
        sendDouble(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, Instance.NO_SLOT);
    }

    /** Sends a number, with the time of the next message, on a slot of a vector port. */
    public void send(String port, Times times, double value, int slot) {
        sendDouble(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot);
    }

    /** Sends an integer. */
    public void send(String port, double timestamp, long value) {
        sendLong(port, timestamp, 0, false, value, Instance.NO_SLOT);
    }

    /** Sends an integer on a slot of a vector port. */
    public void send(String port, double timestamp, long value, int slot) {
        sendLong(port, timestamp, 0, false, value, slot);
    }

    /** Sends an integer, with the time of the next message. */
    public void send(String port, Times times, long value) {
        sendLong(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, Instance.NO_SLOT);
    }

    /** Sends an integer, with the time of the next message, on a slot of a vector port. */
    public void send(String port, Times times, long value, int slot) {
        sendLong(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot);
    }

    /**
     * Sends a value: null (no value), {@link Boolean}, integers ({@link java.math.BigInteger} up to 2^64 - 1),
     * numbers, {@link Complex}, {@link String}, {@code byte[]} (bytes), arrays of Java's other numbers, {@link
     * Array}, {@link ArrayView}, {@link Loan}, {@link java.util.List}, {@link Map}, records (maps by the names
     * of their components), {@link Settings}, or {@link Value}.
     */
    public void send(String port, double timestamp, Object value) {
        sendObject(port, timestamp, 0, false, value, Instance.NO_SLOT, Native.NULL);
    }

    /** Sends a value on a slot of a vector port. */
    public void send(String port, double timestamp, Object value, int slot) {
        sendObject(port, timestamp, 0, false, value, slot, Native.NULL);
    }

    /** Sends a value, with the time of the next message. */
    public void send(String port, Times times, Object value) {
        sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, Instance.NO_SLOT,
                Native.NULL);
    }

    /** Sends a value, with the time of the next message, on a slot of a vector port. */
    public void send(String port, Times times, Object value, int slot) {
        sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot, Native.NULL);
    }

    /**
     * Sends a received message on: its value and its times, with the settings that came with it, if there are
     * any.
     */
    public void send(String port, Message message) {
        send(port, message, Instance.NO_SLOT);
    }

    /** Sends a received message on, on a slot of a vector port. */
    public void send(String port, Message message, int slot) {
        Times times = message.times();
        Value overlay = message.settings();
        sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), message.value(), slot,
                overlay == null ? Native.NULL : overlay.handle);
    }

    /**
     * Sends a value with an overlay of settings, for components that serve several others with different
     * settings.
     *
     * @param overlay settings by name: {@link Message#settings}, {@link Settings} or a {@link Map}; null for
     * those in force at this instance
     */
    public void sendUnder(Object overlay, String port, Times times, Object value) {
        sendUnder(overlay, port, times, value, Instance.NO_SLOT);
    }

    /** Sends a value with an overlay of settings, on a slot of a vector port. */
    public void sendUnder(Object overlay, String port, Times times, Object value, int slot) {
        try (Builder builder = new Builder()) {
            sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot,
                    builder.overlay(overlay));
        }
    }

    private void sendDouble(String port, double timestamp, double next, boolean hasNext, double value,
            int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.SEND_FLOAT.invokeExact(handle, name(port),
                    scratch.send(timestamp, next, hasNext, slot, Native.NULL), value, scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    private void sendLong(String port, double timestamp, double next, boolean hasNext, long value, int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.SEND_INT.invokeExact(handle, name(port),
                    scratch.send(timestamp, next, hasNext, slot, Native.NULL), value, scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    private void sendObject(String port, double timestamp, double next, boolean hasNext, Object value, int slot,
            long overlay) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            long to = name(port);
            long options = scratch.send(timestamp, next, hasNext, slot, overlay);
            switch (value) {
                case null -> sendValue(scratch, to, options, Native.NULL);
                case double[] d when d.length * 8L <= Scratch.SMALL -> {
                    MemorySegment.copy(d, 0, scratch.small(), JAVA_DOUBLE, 0, d.length);
                    sendSmall(scratch, to, options, DType.FLOAT64, d.length);
                }
                case float[] f when f.length * 4L <= Scratch.SMALL -> {
                    MemorySegment.copy(f, 0, scratch.small(), JAVA_FLOAT, 0, f.length);
                    sendSmall(scratch, to, options, DType.FLOAT32, f.length);
                }
                case long[] l when l.length * 8L <= Scratch.SMALL -> {
                    MemorySegment.copy(l, 0, scratch.small(), JAVA_LONG, 0, l.length);
                    sendSmall(scratch, to, options, DType.INT64, l.length);
                }
                case int[] i when i.length * 4L <= Scratch.SMALL -> {
                    MemorySegment.copy(i, 0, scratch.small(), JAVA_INT, 0, i.length);
                    sendSmall(scratch, to, options, DType.INT32, i.length);
                }
                case byte[] b when b.length <= Scratch.SMALL -> {
                    MemorySegment.copy(b, 0, scratch.small(), JAVA_BYTE, 0, b.length);
                    check(scratch, (int) Native.SEND_BYTES.invokeExact(handle, to, options,
                            scratch.small().address(),
                            (long) b.length, scratch.error));
                }
                case Array array -> sendArray(scratch, to, options, array);
                case double[] d -> sendArray(scratch, to, options, Array.of(d));
                case float[] f -> sendArray(scratch, to, options, Array.of(f));
                case long[] l -> sendArray(scratch, to, options, Array.of(l));
                case int[] i -> sendArray(scratch, to, options, Array.of(i));
                case Loan loan -> sendLoan(scratch, to, options, loan);
                case ArrayView view -> sendKept(scratch, to, options, view.value());
                case Value kept -> sendKept(scratch, to, options, kept);
                case Boolean b -> check(scratch, (int) Native.SEND_BOOL.invokeExact(handle, to, options,
                        (byte) (b ? 1 : 0), scratch.error));
                case byte[] b -> {
                    try (Arena arena = Arena.ofConfined()) {
                        check(scratch,
                            (int) Native.SEND_BYTES.invokeExact(
                                handle, to, options, Builder.put(b, arena), (long) b.length, scratch.error));
                    }
                }
                default -> {
                    try (Builder builder = new Builder()) {
                        sendValue(scratch, to, options, builder.value(value));
                    }
                }
            }
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    private void sendKept(Scratch scratch, long port, long options, Value value) throws Throwable {
        value.holder.check();
        sendValue(scratch, port, options, value.handle);
    }

    private void sendValue(Scratch scratch, long port, long options, long value) throws Throwable {
        check(scratch, (int) Native.SEND.invokeExact(handle, port, options, value, scratch.error));
    }

    /** Sends contiguous elements that were copied to the scratch memory. */
    private void sendSmall(Scratch scratch, long port, long options, DType type, long length) throws Throwable {
        long array = scratch.row(type, length, scratch.small().address());
        check(scratch, (int) Native.SEND_ARRAY.invokeExact(handle, port, options, array, scratch.error));
    }

    /**
     * Sends an array with one copy, or with two if it has few elements. Memory that no other thread can close
     * meanwhile is used in place; other memory is copied to a loan.
     */
    private void sendArray(Scratch scratch, long port, long options, Array array) throws Throwable {
        if (array.rawNames() == null && array.rawUnit() == null) {
            sendArray(scratch, port, options, array, Native.NULL, Native.NULL);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            sendArray(scratch, port, options, array, Builder.names(array.rawNames(), arena),
                    Builder.unit(array.rawUnit(), arena));
        }
    }

    private void sendArray(Scratch scratch, long port, long options, Array array, long names, long unit)
            throws Throwable {
        long bytes = array.bytes();
        if (isReadable(array)) {
            long described = scratch.array(array.dtype(), array.rawShape(), array.order(), array.rawStrides(),
                    array.rawMemory().address() + array.offset(), names, unit);
            check(scratch, (int) Native.SEND_ARRAY.invokeExact(handle, port, options, described,
                    scratch.error));
        } else if (bytes <= Scratch.SMALL) {
            array.gather(scratch.small());
            long described = scratch.array(array.dtype(), array.rawShape(), array.order(), null,
                    scratch.small().address(), names, unit);
            check(scratch, (int) Native.SEND_ARRAY.invokeExact(handle, port, options, described,
                    scratch.error));
        } else {
            long described = scratch.array(array.dtype(), array.rawShape(), array.order(), null, Native.NULL,
                    names, unit);
            check(scratch, (int) Native.LOAN_CREATE_LIKE.invokeExact(handle, described, scratch.out,
                    scratch.out2,
                    scratch.error));
            long loan = Native.getLong(scratch.out);
            try {
                array.gather(Native.memory(Native.getLong(scratch.out2), bytes));
            } catch (Throwable thrown) {
                freeLoan(loan);
                throw thrown;
            }
            check(scratch, (int) Native.SEND_LOAN.invokeExact(handle, port, options, loan, scratch.error));
        }
    }

    /** Returns true if the library can use an array's memory in place during a call. */
    static boolean isReadable(Array array) {
        MemorySegment memory = array.rawMemory();
        int alignment = array.dtype().partSize();
        boolean aligned = (memory.address() + array.offset()) % alignment == 0;
        for (long stride : array.rawStrides() == null ? new long[0] : array.rawStrides()) {
            aligned &= stride % alignment == 0;
        }
        return aligned && staysOpen(memory);
    }

    /**
     * Returns true if native memory stays open during a call: it stays for ever, or only this thread can close
     * it.
     */
    private static boolean staysOpen(MemorySegment memory) {
        if (!memory.isNative() || !memory.isAccessibleBy(Thread.currentThread()) || !memory.scope().isAlive()) {
            return false;
        }
        return !memory.isAccessibleBy(OTHER) || memory.scope().equals(Arena.global().scope());
    }

    private void sendLoan(Scratch scratch, long port, long options, Loan loan) throws Throwable {
        owns(loan);
        loan.check();
        loan.end();
        loans.remove(loan);
        check(scratch, (int) Native.SEND_LOAN.invokeExact(handle, port, options, loan.handle, scratch.error));
    }

    private void owns(Loan loan) {
        if (loan.instance != this) {
            throw new LigamentException.Usage("the loan was made by the instance " + loan.instance.name
                    + ", not by " + name);
        }
    }

    // Loans.

    /**
     * Lends memory for an array in row-major order, to be filled and sent, without a copy if it has more than
     * 64 KiB.
     */
    public Loan loan(DType dtype, long... shape) {
        return loan(dtype, Order.ROW_MAJOR, shape);
    }

    /** Lends memory for an array in this order. */
    public Loan loan(DType dtype, Order order, long... shape) {
        Strided.check(shape);
        return loan(dtype, order, shape.clone(), Native.NULL, Native.NULL);
    }

    /** Lends memory for an array with the type, shape, order, names and unit of another. */
    public Loan loanLike(ArrayView other) {
        return loanLike(other.dtype(), other.order(), other.shape(), other.names(), other.unit());
    }

    /**
     * Lends memory for an array with the type, shape, order, names and unit of another, whose elements are not
     * read.
     */
    public Loan loanLike(Array other) {
        return loanLike(other.dtype(), other.order(), other.shape(), other.rawNames(), other.rawUnit());
    }

    private Loan loanLike(DType dtype, Order order, long[] shape, String[] names, String unit) {
        try (Arena arena = Arena.ofConfined()) {
            return loan(dtype, order, shape, Builder.names(names, arena), Builder.unit(unit, arena));
        }
    }

    private Loan loan(DType dtype, Order order, long[] shape, long names, long unit) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            long described = scratch.array(dtype, shape, order, null, Native.NULL, names, unit);
            check(scratch, (int) Native.LOAN_CREATE_LIKE.invokeExact(handle, described, scratch.out,
                    scratch.out2,
                    scratch.error));
            Loan loan = new Loan((Instance) this, Native.getLong(scratch.out), Native.getLong(scratch.out2),
                    dtype, shape, order);
            loans.add(loan);
            return loan;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Takes a loan back without sending it. */
    void free(Loan loan) {
        if (closed) {
            return; // Then it went with the instance.
        }
        boolean first = enter();
        try {
            loans.remove(loan);
            freeLoan(loan.handle);
        } finally {
            leave(first);
        }
    }

    private void freeLoan(long loan) {
        try {
            Native.LOAN_FREE.invokeExact(handle, loan);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** Takes all loans of this thread back. Returns true if another thread has one. */
    boolean endLoans() {
        boolean foreign = false;
        for (Loan loan : new ArrayList<>(loans)) {
            if (loan.isMine()) {
                loan.end();
                freeLoan(loan.handle);
            } else {
                foreign = true;
            }
        }
        loans.clear();
        return foreign;
    }
}
