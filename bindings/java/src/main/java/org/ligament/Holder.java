package org.ligament;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An object with memory of the library until it is closed: a message, a copied value, or a loan. It belongs to
 * one thread, which may hand it over. Segments of its memory are confined to that thread, because closing a
 * shared segment costs a thousand times as much.
 */
abstract class Holder implements AutoCloseable {
    /**
     * The thread to which it belongs. It is null between {@link #handOver} and the next use; the thread of that
     * use then owns it.
     */
    private volatile Thread owner = Thread.currentThread();
    private Arena arena;
    private volatile boolean closed;

    private static final VarHandle OWNER;

    static {
        try {
            OWNER = MethodHandles.lookup().findVarHandle(Holder.class, "owner", Thread.class);
        } catch (ReflectiveOperationException impossible) {
            throw new ExceptionInInitializerError(impossible);
        }
    }

    /** The kind of object, for errors, such as "the message". */
    abstract String what();

    /** Returns the memory to the library. */
    abstract void free();

    /** The library's handle of the message; NULL if the object is no message. */
    long message() {
        return Native.NULL;
    }

    /** The origin, in words for errors; empty for an object that was built. */
    String origin() {
        return "";
    }

    final void check() {
        Thread here = Thread.currentThread();
        if (owner != here) {
            take(here);
        }
        if (closed) {
            throw new LigamentException.Usage(what() + " is closed");
        }
    }

    private void take(Thread here) {
        if (!OWNER.compareAndSet(this, null, here)) {
            if (closed) {
                throw new LigamentException.Usage(what() + " is closed");
            }
            Thread its = owner;
            if (its != here) {
                throw new LigamentException.Usage(what() + " belongs to the thread "
                        + (its == null ? "?" : its.getName())
                        + ", not to " + here.getName() + "; call handOver() there first");
            }
        }
    }

    /** Makes a segment for memory of the library. The segment ends with this object. */
    final MemorySegment segment(long address, long size) {
        check();
        if (arena == null) {
            arena = Arena.ofConfined();
        }
        return Native.memory(address, size).reinterpret(arena, null);
    }

    /**
     * Hands the object over to the next thread that uses it. Its segments, buffers and array views are closed;
     * ask for them again in the other thread.
     */
    public final void handOver() {
        check();
        closeViews();
        owner = null;
    }

    final boolean isClosed() {
        return closed;
    }

    /**
     * Returns true if this thread may use the object. An object that was handed over then belongs to this
     * thread.
     */
    final boolean isMine() {
        Thread here = Thread.currentThread();
        return owner == here || OWNER.compareAndSet(this, null, here);
    }

    final void closeViews() {
        if (arena != null) {
            arena.close();
            arena = null;
        }
    }

    /**
     * Marks the object and all of its segments as closed. The caller frees the memory, or the library has freed
     * it.
     */
    final void end() {
        closeViews();
        closed = true;
    }

    /** Returns the memory to the library. Segments and buffers of it then fail. A second call does nothing. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        check();
        end();
        free();
    }
}
