package org.ligament;

import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/** The rules for all calls of an {@link Instance}: one thread at a time, errors, and the end of waits. */
abstract class Calling {
    /** The user of a light component's instance while none of its functions runs; this thread never starts. */
    private static final Thread NOBODY = Thread.ofPlatform().name("nobody").unstarted(() -> { });
    /** Maximum number of names that are stored as native texts. */
    private static final int NAMES = 1024;

    final long handle;
    final String name;
    /** The number by which the library calls {@code check} for this instance. */
    final long number = Upcalls.register(this);
    /** The thread that is in a call. */
    final AtomicReference<Thread> user = new AtomicReference<>();
    volatile boolean closed;
    volatile LigamentException lastFailure;
    /** True if the library lends the instance, as it does for a light component. */
    private final boolean lent;
    /** True if that thread runs a function of a submodel, which may itself make calls. */
    private boolean inFunction;
    private final Map<String, Long> names = new HashMap<>();
    private Arena namesArena = Arena.ofAuto();
    /** The native texts before the last time that names were dropped; a call may still use one. */
    private Arena namesBefore;
    private BooleanSupplier interruptCheck;
    private Throwable checkFailed;

    /** Makes the object of an instance that the library has made, or lends. */
    Calling(long handle, boolean lent) {
        this.handle = handle;
        this.lent = lent;
        if (lent) {
            user.set(NOBODY);
        }
        Scratch scratch = Scratch.get();
        try {
            name = Native.text((long) Native.INSTANCE_NAME.invokeExact(handle));
            scratch.check((int) Native.SET_INTERRUPT_CHECK.invokeExact(handle, Upcalls.INTERRUPTED, number,
                    scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The name, such as "micro[3]". */
    public String name() {
        return name;
    }

    // One thread at a time.

    /**
     * Begins a call. Returns true if the instance was free, and false if it was lent to a function of a
     * submodel in this thread.
     */
    boolean enter() {
        Thread here = Thread.currentThread();
        Thread its = user.compareAndExchange(null, here);
        if (its == null) {
            if (closed) {
                user.set(null);
                throw new LigamentException.Usage("the instance " + name + " is closed");
            }
            return true;
        }
        if (its == here && inFunction && !closed) {
            return false;
        }
        throw busy(its, here);
    }

    void leave(boolean first) {
        if (first) {
            user.setRelease(null);
        }
    }

    private LigamentException busy(Thread its, Thread here) {
        if (closed) {
            return new LigamentException.Usage("the instance " + name + " is closed");
        }
        if (its == NOBODY) {
            return new LigamentException.Usage("the instance " + name
                    + " is a light component's; it may be used in the "
                    + "submodel's functions and constructor only");
        }
        if (its == here) {
            return new LigamentException.Usage("the instance " + name
                    + " is in a call: neither an interrupt check nor isDone() "
                    + "may use it");
        }
        return new LigamentException.Usage("the instance " + name + " is used by the thread " + its.getName()
                + " at this moment; " + here.getName() + " may call it when that is done");
    }

    /** Begins a function of a submodel. */
    void functionBegins() {
        if (lent) {
            user.set(Thread.currentThread());
        }
        inFunction = true;
    }

    /** Ends a function of a submodel. */
    void functionEnds() {
        inFunction = false;
        if (lent) {
            user.set(NOBODY);
        }
    }

    /** The function that the library calls while it waits, in the waiting thread. */
    boolean interrupted() {
        if (Thread.currentThread().isInterrupted()) {
            return true;
        }
        if (interruptCheck == null) {
            return false;
        }
        boolean function = inFunction;
        inFunction = false;
        try {
            return interruptCheck.getAsBoolean();
        } catch (Throwable thrown) {
            checkFailed = thrown;
            return true;
        } finally {
            inFunction = function;
        }
    }

    private RuntimeException failure(Scratch scratch, int status) {
        if (status == 7) {
            Throwable thrown = checkFailed;
            checkFailed = null;
            if (thrown != null) {
                Native.never(thrown);
            }
        }
        LigamentException failure = status == 7 && Thread.currentThread().isInterrupted()
                ? new LigamentException.Interrupted("the thread was interrupted while the instance " + name
                        + " waited")
                : scratch.failure(status);
        lastFailure = failure;
        return failure;
    }

    void check(Scratch scratch, int status) {
        if (status != 0) {
            throw failure(scratch, status);
        }
    }

    /** The name of a port or setting as native text, which is made once. */
    long name(String text) {
        Long known = names.get(text);
        if (known != null) {
            return known;
        }
        if (names.size() >= NAMES) {
            names.clear();
            namesBefore = namesArena;
            namesArena = Arena.ofAuto();
        }
        long made = Native.terminated(text, namesArena, "the name");
        names.put(text, made);
        return made;
    }

    // Waiting.

    /**
     * Sets a function that can interrupt a wait. While a call waits, the library calls {@code check} at least
     * once a second. If it returns true, the call throws {@link LigamentException.Interrupted}; if it throws an
     * exception, the call throws that one. {@link Thread#interrupt} ends a wait without this. {@code check} may
     * not use the instance; null removes it.
     */
    public void setInterruptCheck(BooleanSupplier check) {
        boolean first = enter();
        interruptCheck = check;
        leave(first);
    }
}
