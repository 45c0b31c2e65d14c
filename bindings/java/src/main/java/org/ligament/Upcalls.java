package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Functions that the library calls, and the objects that it calls them about, which it knows by numbers. */
final class Upcalls {
    private Upcalls() {}

    private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
    private static final AtomicLong NEXT = new AtomicLong(1);

    /** A number for an object, until it is taken back. */
    static long register(Object object) {
        long number = NEXT.getAndIncrement();
        OBJECTS.put(number, object);
        return number;
    }

    static <T> T of(long number, Class<T> type) {
        return type.cast(OBJECTS.get(number));
    }

    static void unregister(long number) {
        OBJECTS.remove(number);
    }

    /**
     * The address of a function that stands for a static method here or in {@link Running}; it stays for ever.
     */
    static long stub(MethodHandles.Lookup lookup, String name, FunctionDescriptor type) {
        try {
            MethodHandle method = lookup.findStatic(lookup.lookupClass(), name, type.toMethodType());
            return Linker.nativeLinker().upcallStub(method, type, Arena.global()).address();
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** What the library asks while it waits. */
    static final long INTERRUPTED = stub(MethodHandles.lookup(), "interrupted",
            FunctionDescriptor.of(JAVA_BOOLEAN, JAVA_LONG));

    @SuppressWarnings("unused")
    private static boolean interrupted(long user) {
        try {
            return ((Instance) OBJECTS.get(user)).interrupted();
        } catch (Throwable thrown) {
            return false; // No exception may leave; the next call meets whatever is wrong.
        }
    }
}
