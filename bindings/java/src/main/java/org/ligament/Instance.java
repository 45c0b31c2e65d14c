package org.ligament;

import java.lang.foreign.Arena;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * An instance of a component in a running model: joins the run, goes through the reuse loop, asks for ports and
 * settings, sends and receives. Any thread may use it, one at a time. A call during a call of another thread
 * throws {@link LigamentException.Usage}.
 *
 * <p>Make it in a {@code try}. An exception that no code catches ends the whole run, with its class, text and
 * line as the reason. So does a code that closes the instance before {@link #reuseInstance} has returned false,
 * because an exception has the same effect. A code that ends early on purpose calls {@link #finish} first.
 */
public final class Instance extends Checkpoints implements AutoCloseable {
    /** The value for "no slot", for a port that is not a vector port. */
    public static final int NO_SLOT = -1;

    /**
     * True if the instance is over: reuseInstance returned false, the instance was finished, or it ended the
     * run.
     */
    private volatile boolean over;

    /** Joins the run that started this program, with the ports of the model. */
    public Instance() {
        this(null, new InstanceFlag[0]);
    }

    /**
     * Joins the run that started this program, with the ports of this code, which must fit the model's.
     *
     * @param ports the names of the ports by operator; "name[]" is a vector port
     * @param flags unusual behaviour
     */
    public Instance(Map<Operator, ? extends Collection<String>> ports, InstanceFlag... flags) {
        this(ports, new Parallelism(0, 0), flags);
    }

    /**
     * Does the same for an instance with a known number of ranks and threads.
     *
     * @param ports the names of the ports by operator, or null for those of the model
     * @param parallelism the number of ranks and threads
     * @param flags unusual behaviour
     */
    public Instance(Map<Operator, ? extends Collection<String>> ports, Parallelism parallelism,
            InstanceFlag... flags) {
        super(join(ports, parallelism, flags), false);
        Endings.watch(this);
    }

    /** Makes the object of a light component's instance. */
    Instance(long lentHandle) {
        super(lentHandle, true);
    }

    private static long join(Map<Operator, ? extends Collection<String>> ports, Parallelism parallelism,
            InstanceFlag[] flags) {
        Library.load();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            long options = options(ports, flags, arena);
            Native.putInt(options + 40, parallelism.ranks());
            Native.putInt(options + 44, parallelism.threads());
            scratch.check((int) Native.INSTANCE_CREATE.invokeExact(options, scratch.out, scratch.error));
            return Native.getLong(scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    static long options(Map<Operator, ? extends Collection<String>> ports, InstanceFlag[] flags, Arena arena) {
        long options = arena.allocate(Native.INSTANCE_OPTIONS_SIZE, 8).address();
        Native.putLong(options, Native.INSTANCE_OPTIONS_SIZE);
        if (ports != null) {
            int count = ports.values().stream().mapToInt(Collection::size).sum();
            long port = arena.allocate((long) Native.PORT_SIZE * Math.max(1, count), 8).address();
            Native.putLong(options + 8, port);
            Native.putLong(options + 16, count);
            for (Operator operator : Operator.values()) {
                Collection<String> of = ports.get(operator);
                for (String each : of == null ? List.<String>of() : of) {
                    Native.putInt(port, operator.number);
                    Native.putLong(port + 8, Native.terminated(each, arena, "a port's name"));
                    port += Native.PORT_SIZE;
                }
            }
        }
        long bits = 0;
        for (InstanceFlag flag : flags) {
            bits |= flag.bit;
        }
        Native.putLong(options + 24, bits);
        Native.putLong(options + 32, Native.terminated("java", arena, "the language"));
        return options;
    }

    // The life of an instance.

    /** The index within the component: one number for each dimension of the multiplicity. */
    public int[] index() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            long count = (long) Native.INSTANCE_INDEX.invokeExact(handle, scratch.out);
            int[] index = new int[(int) count];
            long numbers = Native.getLong(scratch.out);
            Arrays.setAll(index, i -> (int) Native.getLong(numbers + 8L * i));
            return index;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * The number of this rank within its instance, if the model says that each rank speaks for itself;
     * otherwise 0.
     */
    public int rank() {
        boolean first = enter();
        try {
            return (int) Native.INSTANCE_RANK.invokeExact(handle);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * The number of ranks of the instance that speak for themselves; 1 if the model does not give {@code
     * ranks:}.
     */
    public int ranks() {
        boolean first = enter();
        try {
            return (int) Native.INSTANCE_RANKS.invokeExact(handle);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** The name of the run. */
    public String runName() {
        boolean first = enter();
        try {
            return Native.text((long) Native.RUN_NAME.invokeExact(handle));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Returns true if the code is to go through its execution loop once more. Waits for a message on each
     * connected F_INIT port. After false, the instance is over.
     */
    public boolean reuseInstance() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.REUSE_INSTANCE.invokeExact(handle, scratch.out, scratch.error));
            boolean again = Native.getByte(scratch.out) != 0;
            over |= !again;
            return again;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Applies changes of settings. Call it once in each step, before the step's work, with the step's model
     * time in s. Returns true if settings have changed; the code then reads the settings that the step needs
     * again. All instances that a change concerns make it in their first step at or after the same model time.
     * The call waits while instances agree on a change, and while the run is halted.
     */
    public boolean steer(double time) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.STEER.invokeExact(handle, time, scratch.out, scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Declares that a setting can be steered.
     *
     * @param setting the name by which the code reads the setting
     * @param minimum the smallest permitted value; may be infinite
     * @param maximum the largest permitted value; may be infinite
     * @param unit the unit, for people; may be empty
     * @param restart true if the code reads the setting once in each pass of the reuse loop, and not in each
     * step
     */
    public void declareSteerable(String setting, double minimum, double maximum, String unit, boolean restart) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            long name = Native.terminated(setting, arena, "the setting's name");
            long measure = Native.terminated(unit, arena, "the unit");
            check(scratch, (int) Native.DECLARE_STEERABLE.invokeExact(handle, name, minimum, maximum, measure,
                    (byte) (restart ? 1 : 0), scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Ends all conduits on which this instance sends, and signs off. {@link #reuseInstance} does this before it
     * returns false.
     */
    public void finish() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.FINISH.invokeExact(handle, scratch.error));
            over = true;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Ends the whole run because of an error in this code; {@code why} is shown to the user. */
    public void errorShutdown(String why) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            check(scratch, (int) Native.ERROR_SHUTDOWN.invokeExact(handle,
                    Native.terminated(why, arena, "the reason"),
                    scratch.error));
            over = true;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Frees the instance. Received messages stay valid; loans do not. If {@link #reuseInstance} has not
     * returned false and {@link #finish} was not called, the whole run ends when this program ends, or at once
     * if an exception ends it. A second call does nothing.
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        boolean first = enter();
        if (!first) {
            throw new LigamentException.Usage("the instance " + name
                    + " cannot be closed in a function of its submodel");
        }
        try {
            boolean foreign = endLoans();
            closed = true;
            // The memory of another thread's loan stays until this process ends, because that thread cannot be
            // told.
            if (over && !foreign) {
                release();
            } else if (!over) {
                Endings.closedEarly(this);
            }
        } finally {
            leave(true);
        }
    }

    private void release() {
        Upcalls.unregister(number);
        try {
            Native.INSTANCE_FREE.invokeExact(handle);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** Ends the object of a light component's instance. */
    void ends() {
        closed = true;
        endLoans();
        Upcalls.unregister(number);
    }

    boolean isOver() {
        return over;
    }

    void isOver(boolean now) {
        over = now;
    }

    LigamentException lastFailure() {
        return lastFailure;
    }

    /** Ends the run, from any thread, unless another thread is in a call. For the end of the program. */
    void tell(String why) {
        if (over || user.compareAndExchange(null, Thread.currentThread()) != null) {
            return;
        }
        over = true;
        try (Arena arena = Arena.ofConfined()) {
            long text = Builder.put((why.replace('\0', ' ')
                    + '\0').getBytes(java.nio.charset.StandardCharsets.UTF_8), arena);
            int status = (int) Native.ERROR_SHUTDOWN.invokeExact(handle, text, Native.NULL);
        } catch (Throwable thrown) {
            // No code is left that could handle the exception.
        } finally {
            user.set(null);
        }
    }

    // Formal submodels.

    /**
     * Runs a submodel as long as there are messages to start from. An exception of one of its functions ends
     * the whole run with its class, text and line, and is thrown again. If the instance has the flag {@link
     * InstanceFlag#USES_CHECKPOINT_API}, the state of a {@link SubmodelState} is saved and restored, too.
     */
    public void runSubmodel(Submodel submodel) throws Exception {
        boolean first = enter();
        if (!first) {
            throw new LigamentException.Usage("a submodel of " + name + " runs already");
        }
        Running running = new Running(this, submodel, new Running.Failure());
        long user = Upcalls.register(running);
        try (Arena arena = Arena.ofConfined()) {
            long error = arena.allocate(Native.ERROR_SIZE).address();
            boolean hasState = submodel instanceof SubmodelState;
            int status = (int) Native.RUN_SUBMODEL.invokeExact(
                    handle, Running.functions(arena, user, hasState), error);
            over = true;
            running.failure.rethrow();
            if (status != 0) {
                over = false;
                lastFailure = LigamentException.of(status, Native.text(error));
                throw lastFailure;
            }
        } catch (Exception thrown) {
            throw thrown;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            Upcalls.unregister(user);
            leave(true);
        }
    }

    /**
     * Joins the run as a mapper, and maps as long as messages come. An exception of the mapper ends the whole
     * run with its class, text and line, and is thrown again.
     */
    public static void runMapper(Mapper mapper) throws Exception {
        try (Instance instance = new Instance(mapper.ports(), mapper.flags())) {
            instance.runSubmodel(mapper);
        }
    }

    /**
     * Runs all instances of this program, and returns when all of them are over. If the model does not say that
     * the program is light, the process is one instance, which is run alone. {@code make} makes the submodel of
     * an instance, which may be used in the submodel's constructor and functions. A function is called when
     * each connected port of its operator, and each slot, has a message or the end of its conduit. So a
     * function can receive once from each port. An exception of a function ends the whole run, and is thrown
     * again.
     */
    public static void runLight(Function<Instance, ? extends Submodel> make) throws Exception {
        runLight(null, make);
    }

    /** Does the same, with the ports of every instance (null for those of the model), and with flags. */
    public static void runLight(Map<Operator, ? extends Collection<String>> ports,
            Function<Instance, ? extends Submodel> make, InstanceFlag... flags) throws Exception {
        Library.load();
        Running.Light light = new Running.Light(make, new Running.Failure(),
                List.of(flags).contains(InstanceFlag.USES_CHECKPOINT_API));
        long context = Upcalls.register(light);
        try (Arena arena = Arena.ofConfined()) {
            long error = arena.allocate(Native.ERROR_SIZE).address();
            int status = (int) Native.RUN_LIGHT.invokeExact(
                    Running.light(arena, context, options(ports, flags, arena), light.savesState()), error);
            light.failure().rethrow();
            if (status != 0) {
                throw LigamentException.of(status, Native.text(error));
            }
        } catch (Exception thrown) {
            throw thrown;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            Upcalls.unregister(context);
        }
    }

    @Override
    public String toString() {
        return "the instance " + name + (closed ? ", closed" : "");
    }
}
