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

/** Functions that the library calls, and numbers for the objects that the calls are about. */
final class Upcalls {
    private Upcalls() {}

    private static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
    private static final AtomicLong NEXT = new AtomicLong(1);

    /** Returns a number for an object, which is valid until the object is removed. */
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
     * Returns the address of a function that calls a static method of this class or of {@link Running}. It is
     * valid for ever.
     */
    static long stub(MethodHandles.Lookup lookup, String name, FunctionDescriptor type) {
        try {
            MethodHandle method = lookup.findStatic(lookup.lookupClass(), name, type.toMethodType());
            return Linker.nativeLinker().upcallStub(method, type, Arena.global()).address();
        } catch (ReflectiveOperationException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** The function that the library calls while it waits. */
    static final long INTERRUPTED = stub(MethodHandles.lookup(), "interrupted",
            FunctionDescriptor.of(JAVA_BOOLEAN, JAVA_LONG));

    @SuppressWarnings("unused")
    private static boolean interrupted(long user) {
        try {
            return ((Instance) OBJECTS.get(user)).interrupted();
        } catch (Throwable thrown) {
            return false; // No exception may leave this function; the next call finds the mistake.
        }
    }
}
