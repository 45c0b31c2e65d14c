package org.ligament;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Something that has memory of the library's until it is closed: a message, a copied value, a loan. It belongs
 * to one thread, which may hand it over. Segments of the memory are confined to that thread, because to close a
 * shared one would cost a thousand times as much.
 */
abstract class Holder implements AutoCloseable {
    /** The thread that it belongs to; none between {@link #handOver} and the next use, which takes it. */
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

    /** What it is, for people: "the message". */
    abstract String what();

    /** Gives the memory back. */
    abstract void free();

    /** The message that the library holds; NULL if this is none. */
    long message() {
        return Native.NULL;
    }

    /** Where it came from, in words for errors; empty for what was built. */
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

    /** A segment for memory of the library's, which ends with this. */
    final MemorySegment segment(long address, long size) {
        check();
        if (arena == null) {
            arena = Arena.ofConfined();
        }
        return Native.memory(address, size).reinterpret(arena, null);
    }

    /**
     * Lets another thread have this: the next one that uses it. Segments, buffers and array views that were
     * asked for before are closed; ask for them anew there.
     */
    public final void handOver() {
        check();
        closeViews();
        owner = null;
    }

    final boolean isClosed() {
        return closed;
    }

    /** Whether this thread may use it; takes what was handed over. */
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
     * From now on it is closed, and so are all segments of it; who calls this frees the memory, or the library
     * has.
     */
    final void end() {
        closeViews();
        closed = true;
    }

    /** Gives the memory back. Segments and buffers of it fail from then on. A second call does nothing. */
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
