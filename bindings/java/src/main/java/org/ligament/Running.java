package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandles;
import java.nio.charset.StandardCharsets;
import java.util.function.Function;

/**
 * A submodel whose functions the library calls. No exception may leave them, so the first one is stored and
 * thrown again afterwards.
 */
final class Running {
    final Instance instance;
    final Submodel submodel;
    final Failure failure;

    Running(Instance instance, Submodel submodel, Failure failure) {
        this.instance = instance;
        this.submodel = submodel;
        this.failure = failure;
    }

    /** The first exception. */
    static final class Failure {
        private Throwable thrown;

        void rethrow() throws Exception {
            switch (thrown) {
                case null -> { }
                case Error error -> throw error;
                case Exception exception -> throw exception;
                default -> throw new IllegalStateException(thrown);
            }
        }

        /**
         * Stores an exception, and writes its description for the run. Returns the status for the library;
         * throws nothing.
         */
        int keep(Throwable given, long error) {
            try {
                if (thrown == null) {
                    thrown = given;
                }
                write(Endings.describe(thrown), error);
                return thrown instanceof LigamentException known ? known.status() : 2;
            } catch (Throwable worse) {
                return 2; // Nothing more can be said, for want of memory or stack.
            }
        }
    }

    /** The common part of all light components of a process. */
    record Light(Function<Instance, ? extends Submodel> make, Failure failure, boolean savesState) {}

    private static void write(String text, long error) {
        byte[] bytes = text.replace('\0', ' ').getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, Native.ERROR_SIZE - 1);
        // The text is not cut in the middle of a character.
        while (length < bytes.length && length > 0 && (bytes[length] & 0xc0) == 0x80) {
            length--;
        }
        for (int i = 0; i < length; i++) {
            Native.putByte(error + i, bytes[i]);
        }
        Native.putByte(error + length, 0);
    }

    private interface Operation {
        void run(Submodel submodel, Instance instance) throws Exception;
    }

    private static int call(long user, long error, Operation operation) {
        Running running = null;
        try {
            running = Upcalls.of(user, Running.class);
            if (running.failure.thrown != null) {
                return running.failure.keep(running.failure.thrown, error);
            }
            running.instance.functionBegins();
            operation.run(running.submodel, running.instance);
            return 0;
        } catch (Throwable thrown) {
            return running == null ? 2 : running.failure.keep(thrown, error);
        } finally {
            if (running != null) {
                running.instance.functionEnds();
            }
        }
    }

    @SuppressWarnings("unused")
    private static int initialise(long instance, long user, long error) {
        return call(user, error, Submodel::initialise);
    }

    /** If it throws, the pass is over, and the next function reports the exception. */
    @SuppressWarnings("unused")
    private static boolean isDone(long user) {
        Running running = null;
        try {
            running = Upcalls.of(user, Running.class);
            return running.submodel.isDone();
        } catch (Throwable thrown) {
            if (running != null && running.failure.thrown == null) {
                running.failure.thrown = thrown;
            }
            return true;
        }
    }

    @SuppressWarnings("unused")
    private static int observe(long instance, long user, long error) {
        return call(user, error, Submodel::observe);
    }

    @SuppressWarnings("unused")
    private static int solve(long instance, long user, long error) {
        return call(user, error, Submodel::solve);
    }

    @SuppressWarnings("unused")
    private static int observeFinal(long instance, long user, long error) {
        return call(user, error, Submodel::observeFinal);
    }

    @SuppressWarnings("unused")
    private static int save(long instance, long user, long error) {
        return call(user, error, (submodel, own) -> ((SubmodelState) submodel).save(own));
    }

    @SuppressWarnings("unused")
    private static int restore(long instance, long user, long error) {
        return call(user, error, (submodel, own) -> ((SubmodelState) submodel).restore(own));
    }

    @SuppressWarnings("unused")
    private static int modelTime(long user, long time, long error) {
        Running running = null;
        try {
            running = Upcalls.of(user, Running.class);
            Native.putDouble(time, ((SubmodelState) running.submodel).modelTime());
            return 0;
        } catch (Throwable thrown) {
            return running == null ? 2 : running.failure.keep(thrown, error);
        }
    }

    /** Makes a light component. */
    @SuppressWarnings("unused")
    private static int make(long handle, long context, long user, long error) {
        Light light = null;
        Instance instance = null;
        try {
            light = Upcalls.of(context, Light.class);
            instance = new Instance(handle);
            instance.functionBegins();
            Submodel submodel = light.make.apply(instance);
            if (submodel == null) {
                throw new LigamentException.Usage("there is no submodel for " + instance.name()
                        + ": null was made");
            }
            if (light.savesState && !(submodel instanceof SubmodelState)) {
                throw new LigamentException.Usage("the submodel of " + instance.name() + " does not implement "
                        + "SubmodelState, which the flag USES_CHECKPOINT_API asks for (ligament explain "
                        + "checkpoint-flags)");
            }
            Native.putLong(user, Upcalls.register(new Running(instance, submodel, light.failure)));
            return 0;
        } catch (Throwable thrown) {
            return light == null ? 2 : light.failure.keep(thrown, error);
        } finally {
            if (instance != null) {
                instance.functionEnds();
            }
        }
    }

    /** Ends a light component. */
    @SuppressWarnings("unused")
    private static void release(long user) {
        try {
            Running running = Upcalls.of(user, Running.class);
            Upcalls.unregister(user);
            if (running == null) {
                return;
            }
            running.instance.ends();
            try {
                running.submodel.close();
            } catch (Throwable thrown) {
                if (running.failure.thrown == null) {
                    running.failure.thrown = thrown;
                }
            }
        } catch (Throwable thrown) {
            // No exception may leave this function.
        }
    }

    private static final FunctionDescriptor OPERATION =
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG);
    private static final MethodHandles.Lookup HERE = MethodHandles.lookup();
    private static final long INITIALISE = Upcalls.stub(HERE, "initialise", OPERATION);
    private static final long IS_DONE = Upcalls.stub(HERE, "isDone",
            FunctionDescriptor.of(JAVA_BOOLEAN, JAVA_LONG));
    private static final long OBSERVE = Upcalls.stub(HERE, "observe", OPERATION);
    private static final long SOLVE = Upcalls.stub(HERE, "solve", OPERATION);
    private static final long OBSERVE_FINAL = Upcalls.stub(HERE, "observeFinal", OPERATION);
    private static final long SAVE = Upcalls.stub(HERE, "save", OPERATION);
    private static final long RESTORE = Upcalls.stub(HERE, "restore", OPERATION);
    private static final long MODEL_TIME = Upcalls.stub(HERE, "modelTime", OPERATION);

    /** lig_submodel, with the functions of a {@link SubmodelState} or without them. */
    static long functions(Arena arena, long user, boolean hasState) {
        long functions = arena.allocate(Native.SUBMODEL_SIZE, 8).address();
        long[] members = {Native.SUBMODEL_SIZE, INITIALISE, IS_DONE, OBSERVE, SOLVE, OBSERVE_FINAL, user,
            hasState ? SAVE : Native.NULL, hasState ? RESTORE : Native.NULL,
            hasState ? MODEL_TIME : Native.NULL};
        for (int i = 0; i < members.length; i++) {
            Native.putLong(functions + 8L * i, members[i]);
        }
        return functions;
    }

    /** lig_light. */
    static long light(Arena arena, long context, long options, boolean savesState) {
        long make = Upcalls.stub(HERE, "make", FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG,
                JAVA_LONG));
        long release = Upcalls.stub(HERE, "release", FunctionDescriptor.ofVoid(JAVA_LONG));
        long light = arena.allocate(Native.LIGHT_SIZE, 8).address();
        long[] members = {Native.LIGHT_SIZE, functions(arena, Native.NULL, savesState), make, release, context,
            options};
        for (int i = 0; i < members.length; i++) {
            Native.putLong(light + 8L * i, members[i]);
        }
        return light;
    }
}
