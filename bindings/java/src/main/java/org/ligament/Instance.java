package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * An instance of a component in a running model: joins the run, goes through the reuse loop, asks for ports and
 * settings, sends and receives. Any thread may use it, one at a time; a second one that calls it meanwhile gets
 * a {@link LigamentException.Usage}.
 *
 * <p>Make it in a {@code try}. An exception that nobody catches ends the whole run, with its class, text and
 * line as the reason. So does a code that closes the instance before {@link #reuseInstance} has said no: that
 * is what an exception does. A code that means to leave early calls {@link #finish} before.
 */
public final class Instance implements AutoCloseable {
    /** Stands for no slot, where a port is not a vector port. */
    public static final int NO_SLOT = -1;

    /**
     * Who uses the instance of a light component while none of its functions runs; this thread never starts.
     */
    private static final Thread NOBODY = Thread.ofPlatform().name("nobody").unstarted(() -> { });
    /** As many names are kept as native texts. */
    private static final int NAMES = 1024;

    private final long handle;
    /** Whether the library lends it: that of a light component. */
    private final boolean lent;
    private final String name;
    /** By which the library knows this, where it asks whether to give up. */
    private final long number = Upcalls.register(this);
    /** The thread that is in a call. */
    private final AtomicReference<Thread> user = new AtomicReference<>();
    /** Whether that thread is in a function of a submodel, which may call in its turn. */
    private boolean inFunction;
    private volatile boolean closed;
    /** Whether the instance needs nothing any more: it said no, was finished, or ended the run. */
    private volatile boolean over;
    private final Map<String, Long> names = new HashMap<>();
    private Arena namesArena = Arena.ofAuto();
    /** Those before the names were forgotten, which a call may be using. */
    private Arena namesBefore;
    private final List<Loan> loans = new ArrayList<>();
    private BooleanSupplier interruptCheck;
    private Throwable checkFailed;
    private volatile LigamentException lastFailure;

    /** Joins the run that started this program, with the ports that the model gives it. */
    public Instance() {
        this(null, new InstanceFlag[0]);
    }

    /**
     * Joins the run that started this program, with the ports that this code has, which must fit the model's.
     *
     * @param ports the names of the ports by operator; "name[]" is a vector port
     * @param flags what is to be otherwise than usual
     */
    public Instance(Map<Operator, ? extends Collection<String>> ports, InstanceFlag... flags) {
        this(ports, new Parallelism(0, 0), flags);
    }

    /**
     * The same, for an instance of which it is known how many ranks and threads it has.
     *
     * @param ports the names of the ports by operator, or null for those of the model
     * @param parallelism how many ranks and threads
     * @param flags what is to be otherwise than usual
     */
    public Instance(Map<Operator, ? extends Collection<String>> ports, Parallelism parallelism,
            InstanceFlag... flags) {
        Library.load();
        lent = false;
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            long options = options(ports, flags, arena);
            Native.putInt(options + 40, parallelism.ranks());
            Native.putInt(options + 44, parallelism.threads());
            scratch.check((int) Native.INSTANCE_CREATE.invokeExact(options, scratch.out, scratch.error));
            handle = Native.getLong(scratch.out);
            name = Native.text((long) Native.INSTANCE_NAME.invokeExact(handle));
            scratch.check((int) Native.SET_INTERRUPT_CHECK.invokeExact(handle, Upcalls.INTERRUPTED, number,
                    scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
        Endings.watch(this);
    }

    /** That of a light component. */
    Instance(long lentHandle) {
        handle = lentHandle;
        lent = true;
        user.set(NOBODY);
        Scratch scratch = Scratch.get();
        try {
            name = Native.text((long) Native.INSTANCE_NAME.invokeExact(handle));
            scratch.check((int) Native.SET_INTERRUPT_CHECK.invokeExact(handle, Upcalls.INTERRUPTED, number,
                    scratch.error));
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

    // One thread at a time.

    /**
     * Begins a call. Gives whether the instance was free, rather than lent to a function of a submodel in this
     * thread.
     */
    private boolean enter() {
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

    private void leave(boolean first) {
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

    /** A function of a submodel begins. */
    void functionBegins() {
        if (lent) {
            user.set(Thread.currentThread());
        }
        inFunction = true;
    }

    /** A function of a submodel ends. */
    void functionEnds() {
        inFunction = false;
        if (lent) {
            user.set(NOBODY);
        }
    }

    /** What the library asks while it waits, in the thread that waits. */
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

    private void check(Scratch scratch, int status) {
        if (status != 0) {
            throw failure(scratch, status);
        }
    }

    /** A port's or setting's name as native text, made once. */
    private long name(String text) {
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

    // Life.

    /** Such as "micro[3]". */
    public String name() {
        return name;
    }

    /** Its number among those of its component: one for each dimension of the multiplicity. */
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
     * Whether to go through the execution loop (again): waits for a message on each connected F_INIT port. When
     * it says no, the instance is over.
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
     * Ends all conduits that this instance sends on, and signs off. {@link #reuseInstance} does so when it says
     * no.
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
     * Frees the instance. Messages that were received stay valid; loans do not. If {@link #reuseInstance} has
     * not said no and {@link #finish} was not called, the whole run ends when this program does, or at once if
     * an exception ends it. A second call does nothing.
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
            // The memory of another thread's loan stays for as long as this process; nothing could tell that
            // thread.
            if (over && !foreign) {
                release();
            } else if (!over) {
                Endings.closedEarly(this);
            }
        } finally {
            leave(true);
        }
    }

    /** Gives all loans of this thread back. Gives whether another thread has one. */
    private boolean endLoans() {
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

    private void release() {
        Upcalls.unregister(number);
        try {
            Native.INSTANCE_FREE.invokeExact(handle);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** A light component is over. */
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

    /** Ends the run, whoever calls, unless some thread is in a call; for the end of the program. */
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
            // There is nobody left to be told.
        } finally {
            user.set(null);
        }
    }

    // Formal submodels.

    /**
     * Runs a submodel for as long as there are start messages. What one of its functions throws ends the whole
     * run with its class, text and line, and comes out here.
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
            int status = (int) Native.RUN_SUBMODEL.invokeExact(handle, Running.functions(arena, user), error);
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
     * Runs all instances of this program in this one process, which the model calls light, and returns when all
     * of them are over; without that, the one instance that this process is. {@code make} makes the submodel of
     * an instance; that may be used in the submodel's constructor and functions. A function is called when
     * there is a message, or the conduit's end, on each connected port of its operator, so that each port can
     * be received from once in a function. What one throws ends the whole run, and comes out here.
     */
    public static void runLight(Function<Instance, ? extends Submodel> make) throws Exception {
        runLight(null, make);
    }

    /** The same, with the ports that every instance has. */
    public static void runLight(Map<Operator, ? extends Collection<String>> ports,
            Function<Instance, ? extends Submodel> make, InstanceFlag... flags) throws Exception {
        Library.load();
        Running.Light light = new Running.Light(make, new Running.Failure());
        long context = Upcalls.register(light);
        try (Arena arena = Arena.ofConfined()) {
            long error = arena.allocate(Native.ERROR_SIZE).address();
            int status = (int) Native.RUN_LIGHT.invokeExact(
                    Running.light(arena, context, options(ports, flags, arena)), error);
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

    // Waiting.

    /**
     * While the library waits, {@code check} is asked at least once a second whether to give up with
     * {@link LigamentException.Interrupted}; what it throws comes out of the call. {@link Thread#interrupt}
     * ends a wait without that. It may not use the instance; null takes it away.
     */
    public void setInterruptCheck(BooleanSupplier check) {
        boolean first = enter();
        interruptCheck = check;
        leave(first);
    }

    // Ports.

    /** The ports with each operator, in the model's order, without "[]". */
    public Map<Operator, List<String>> listPorts() {
        Map<Operator, List<String>> ports = new EnumMap<>(Operator.class);
        for (Operator operator : Operator.values()) {
            List<String> of = listPorts(operator);
            if (!of.isEmpty()) {
                ports.put(operator, of);
            }
        }
        return ports;
    }

    /** The ports with this operator, in the model's order, without "[]". */
    public List<String> listPorts(Operator operator) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.LIST_PORTS.invokeExact(handle, operator.number, scratch.out,
                    scratch.error));
            return list(Native.getLong(scratch.out));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** The texts of a list of names, which is freed. */
    private static List<String> list(long names) throws Throwable {
        try {
            List<String> list = new ArrayList<>();
            long count = (long) Native.NAMES_COUNT.invokeExact(names);
            for (long i = 0; i < count; i++) {
                list.add(Native.text((long) Native.NAMES_AT.invokeExact(names, i)));
            }
            return list;
        } finally {
            Native.NAMES_FREE.invokeExact(names);
        }
    }

    /** Asks about a port or a setting; the answer is in the scratch's first result. */
    private Scratch about(MethodHandle function, String what) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) function.invokeExact(handle, name(what), scratch.out, scratch.error));
            return scratch;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Whether something is connected to a port. */
    public boolean isConnected(String port) {
        return Native.getByte(about(Native.IS_CONNECTED, port).out) != 0;
    }

    /** Whether a port has slots. */
    public boolean isVectorPort(String port) {
        return Native.getByte(about(Native.IS_VECTOR_PORT, port).out) != 0;
    }

    /**
     * Whether {@link #setPortLength} can set the number of the port's slots: of vector ports joined to vector
     * ports.
     */
    public boolean isResizable(String port) {
        return Native.getByte(about(Native.IS_RESIZABLE, port).out) != 0;
    }

    /**
     * How many slots a vector port has; for a resizable one that receives: as many as came with the last
     * message.
     */
    public int getPortLength(String port) {
        return Math.toIntExact(Native.getLong(about(Native.GET_PORT_LENGTH, port).out));
    }

    /**
     * Sets the number of slots of a resizable port, which is 0 at first. Its receivers learn it with each
     * message.
     */
    public void setPortLength(String port, int length) {
        if (length < 0) {
            throw new LigamentException.Usage("a port cannot have " + length + " slots");
        }
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.SET_PORT_LENGTH.invokeExact(handle, name(port), (long) length,
                    scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    // Settings.

    /** The names of the settings that this instance can ask for. */
    public List<String> listSettings() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.LIST_SETTINGS.invokeExact(handle, scratch.out, scratch.error));
            return list(Native.getLong(scratch.out));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** What a setting is. */
    public SettingKind getSettingKind(String setting) {
        int kind = Native.getInt(about(Native.GET_SETTING_TYPE, setting).out);
        if (kind < 1 || kind > SettingKind.values().length) {
            throw new LigamentException.Unexpected("the setting \"" + setting + "\" is of a type (" + kind
                    + ") that this version does not know");
        }
        return SettingKind.values()[kind - 1];
    }

    /** A setting that is true or false. */
    public boolean getSettingBoolean(String setting) {
        return Native.getByte(about(Native.GET_SETTING_BOOL, setting).out) != 0;
    }

    /** A setting that is an integer. */
    public long getSettingLong(String setting) {
        return Native.getLong(about(Native.GET_SETTING_INT, setting).out);
    }

    /** A setting that is an integer and fits {@code int}. */
    public int getSettingInt(String setting) {
        long value = getSettingLong(setting);
        if (value != (int) value) {
            throw new LigamentException.SettingType("setting \"" + setting + "\" is " + value
                    + ", which does not fit int");
        }
        return (int) value;
    }

    /** A setting that is a number, also an integer. */
    public double getSettingDouble(String setting) {
        return Native.getDouble(about(Native.GET_SETTING_FLOAT, setting).out);
    }

    /** A setting that is text. */
    public String getSettingString(String setting) {
        // The text stays until the same setting is asked for again, which this reads under the same lock.
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.GET_SETTING_STRING.invokeExact(handle, name(setting), scratch.out,
                    scratch.error));
            return Native.text(Native.getLong(scratch.out));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** A setting that is a list of integers. */
    public long[] getSettingLongs(String setting) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.GET_SETTING_INT_LIST.invokeExact(handle, name(setting), scratch.out,
                    scratch.out2,
                    scratch.error));
            long numbers = Native.getLong(scratch.out);
            long[] list = new long[Math.toIntExact(Native.getLong(scratch.out2))];
            Arrays.setAll(list, i -> Native.getLong(numbers + 8L * i));
            return list;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** A setting that is a list of numbers, also of integers. */
    public double[] getSettingDoubles(String setting) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.GET_SETTING_FLOAT_LIST.invokeExact(handle, name(setting), scratch.out,
                    scratch.out2,
                    scratch.error));
            return doubles(Native.getLong(scratch.out), Native.getLong(scratch.out2));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** A setting that is a list of lists of numbers: its rows, which may be of different lengths. */
    public double[][] getSettingGrid(String setting) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.GET_SETTING_FLOAT_GRID.invokeExact(handle, name(setting), scratch.out,
                    scratch.out2,
                    scratch.error));
            long row = Native.getLong(scratch.out);
            double[][] rows = new double[Math.toIntExact(Native.getLong(scratch.out2))][];
            Arrays.setAll(rows, i -> doubles(Native.getLong(row + (long) i * Native.FLOAT_ROW_SIZE),
                    Native.getLong(row + (long) i * Native.FLOAT_ROW_SIZE + 8)));
            return rows;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    private static double[] doubles(long numbers, long count) {
        double[] list = new double[Math.toIntExact(count)];
        Arrays.setAll(list, i -> Native.getDouble(numbers + 8L * i));
        return list;
    }

    /**
     * A setting as what it is: Boolean, Long, Double, String, {@code long[]}, {@code double[]} or
     * {@code double[][]}.
     */
    public Object getSetting(String setting) {
        return switch (getSettingKind(setting)) {
            case BOOL -> getSettingBoolean(setting);
            case INT -> getSettingLong(setting);
            case FLOAT -> getSettingDouble(setting);
            case STRING -> getSettingString(setting);
            case INT_LIST -> getSettingLongs(setting);
            case FLOAT_LIST -> getSettingDoubles(setting);
            case FLOAT_GRID -> getSettingGrid(setting);
        };
    }

    private static <T> T orElse(Function<String, T> ask, String setting, T otherwise) {
        try {
            return ask.apply(setting);
        } catch (LigamentException.SettingUnset unset) {
            return otherwise;
        }
    }

    /** A setting that is true or false, or {@code otherwise} if it is not set. */
    public boolean getSettingBoolean(String setting, boolean otherwise) {
        return orElse(this::getSettingBoolean, setting, otherwise);
    }

    /** A setting that is an integer, or {@code otherwise} if it is not set. */
    public long getSettingLong(String setting, long otherwise) {
        return orElse(this::getSettingLong, setting, otherwise);
    }

    /** A setting that is an integer and fits {@code int}, or {@code otherwise} if it is not set. */
    public int getSettingInt(String setting, int otherwise) {
        return orElse(this::getSettingInt, setting, otherwise);
    }

    /** A setting that is a number, or {@code otherwise} if it is not set. */
    public double getSettingDouble(String setting, double otherwise) {
        return orElse(this::getSettingDouble, setting, otherwise);
    }

    /** A setting that is text, or {@code otherwise} if it is not set. */
    public String getSettingString(String setting, String otherwise) {
        return orElse(this::getSettingString, setting, otherwise);
    }

    /** A setting that is a list of integers, or {@code otherwise} if it is not set. */
    public long[] getSettingLongs(String setting, long[] otherwise) {
        return orElse(this::getSettingLongs, setting, otherwise);
    }

    /** A setting that is a list of numbers, or {@code otherwise} if it is not set. */
    public double[] getSettingDoubles(String setting, double[] otherwise) {
        return orElse(this::getSettingDoubles, setting, otherwise);
    }

    /** A setting that is a list of lists of numbers, or {@code otherwise} if it is not set. */
    public double[][] getSettingGrid(String setting, double[][] otherwise) {
        return orElse(this::getSettingGrid, setting, otherwise);
    }

    // The log.

    /** Writes a line to the run's log, if the model lets lines of this level through. */
    public void log(LogLevel level, String text) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            check(scratch, (int) Native.LOG.invokeExact(handle, level.ordinal(),
                    Native.terminated(text, arena, "the line"), scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    // Sending. It returns as soon as the value is stored: what happens to the caller's memory afterwards is
    // never seen. It does nothing if the port is not connected.

    /** Sends a number. */
    public void send(String port, double timestamp, double value) {
        sendDouble(port, timestamp, 0, false, value, NO_SLOT);
    }

    /** Sends a number on a slot of a vector port. */
    public void send(String port, double timestamp, double value, int slot) {
        sendDouble(port, timestamp, 0, false, value, slot);
    }

    /** Sends a number, with the time of the next message. */
    public void send(String port, Times times, double value) {
        sendDouble(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, NO_SLOT);
    }

    /** Sends a number, with the time of the next message, on a slot of a vector port. */
    public void send(String port, Times times, double value, int slot) {
        sendDouble(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot);
    }

    /** Sends an integer. */
    public void send(String port, double timestamp, long value) {
        sendLong(port, timestamp, 0, false, value, NO_SLOT);
    }

    /** Sends an integer on a slot of a vector port. */
    public void send(String port, double timestamp, long value, int slot) {
        sendLong(port, timestamp, 0, false, value, slot);
    }

    /** Sends an integer, with the time of the next message. */
    public void send(String port, Times times, long value) {
        sendLong(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, NO_SLOT);
    }

    /** Sends an integer, with the time of the next message, on a slot of a vector port. */
    public void send(String port, Times times, long value, int slot) {
        sendLong(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot);
    }

    /**
     * Sends a value: null (nothing), {@link Boolean}, integers ({@link java.math.BigInteger} up to 2^64 - 1),
     * numbers, {@link Complex}, {@link String}, {@code byte[]} (bytes), arrays of Java's other numbers,
     * {@link Array}, {@link ArrayView}, {@link Loan}, {@link java.util.List}, {@link Map}, records (maps by the
     * names of their components), {@link Settings}, or {@link Value}.
     */
    public void send(String port, double timestamp, Object value) {
        sendObject(port, timestamp, 0, false, value, NO_SLOT, Native.NULL);
    }

    /** Sends a value on a slot of a vector port. */
    public void send(String port, double timestamp, Object value, int slot) {
        sendObject(port, timestamp, 0, false, value, slot, Native.NULL);
    }

    /** Sends a value, with the time of the next message. */
    public void send(String port, Times times, Object value) {
        sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, NO_SLOT,
                Native.NULL);
    }

    /** Sends a value, with the time of the next message, on a slot of a vector port. */
    public void send(String port, Times times, Object value, int slot) {
        sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), value, slot, Native.NULL);
    }

    /**
     * Sends a received message on: its value and times, under the settings that came with it, if it has some.
     */
    public void send(String port, Message message) {
        send(port, message, NO_SLOT);
    }

    /** Sends a received message on, on a slot of a vector port. */
    public void send(String port, Message message, int slot) {
        Times times = message.times();
        Value overlay = message.settings();
        sendObject(port, times.timestamp(), times.next(), times.hasNextTimestamp(), message.value(), slot,
                overlay == null ? Native.NULL : overlay.handle);
    }

    /**
     * Sends a value under an overlay of settings, for components that serve others under different settings.
     *
     * @param overlay settings by name: {@link Message#settings},
             {@link Settings} or a {@link Map}; null for those in force here
     */
    public void sendUnder(Object overlay, String port, Times times, Object value) {
        sendUnder(overlay, port, times, value, NO_SLOT);
    }

    /** Sends a value under an overlay of settings, on a slot of a vector port. */
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
                        check(scratch, (int) Native.SEND_BYTES.invokeExact(handle, to, options, Builder.put(b, arena),
                                (long) b.length, scratch.error));
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

    /** Sends elements in a row that were copied to the scratch's memory. */
    private void sendSmall(Scratch scratch, long port, long options, DType type, long length) throws Throwable {
        long array = scratch.row(type, length, scratch.small().address());
        check(scratch, (int) Native.SEND_ARRAY.invokeExact(handle, port, options, array, scratch.error));
    }

    /**
     * Sends an array with one copy, or two of few elements: of memory that nobody can close meanwhile from
     * where it is, else by way of a loan.
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

    private static final Thread OTHER = Thread.ofPlatform().name("other").unstarted(() -> { });

    /** Whether the library can use an array's memory from where it is, for the time of a call. */
    private static boolean isReadable(Array array) {
        MemorySegment memory = array.rawMemory();
        int alignment = array.dtype().partSize();
        boolean aligned = (memory.address() + array.offset()) % alignment == 0;
        for (long stride : array.rawStrides() == null ? new long[0] : array.rawStrides()) {
            aligned &= stride % alignment == 0;
        }
        return aligned && staysOpen(memory);
    }

    /** Whether native memory stays open during a call: it is for ever, or can be closed by this thread only. */
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
     * Memory for an array in row-major order, to be filled and sent, without a copy if it has more than 64 KiB.
     */
    public Loan loan(DType dtype, long... shape) {
        return loan(dtype, Order.ROW_MAJOR, shape);
    }

    /** Memory for an array in this order. */
    public Loan loan(DType dtype, Order order, long... shape) {
        Strided.check(shape);
        return loan(dtype, order, shape.clone(), Native.NULL, Native.NULL);
    }

    /** Memory for an array of the type, shape, order, names and unit of another. */
    public Loan loanLike(ArrayView other) {
        return loanLike(other.dtype(), other.order(), other.shape(), other.names(), other.unit());
    }

    /**
     * Memory for an array of the type, shape, order, names and unit of another, whose elements are not looked
     * at.
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
            Loan loan = new Loan(this, Native.getLong(scratch.out), Native.getLong(scratch.out2), dtype, shape,
                    order);
            loans.add(loan);
            return loan;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Gives a loan back unsent. */
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

    // Receiving.

    /** Waits for the next message on a port. Close it. */
    public Message receive(String port) {
        return receive(port, NO_SLOT, -1);
    }

    /** Waits for the next message on a slot of a vector port. Close it. */
    public Message receive(String port, int slot) {
        return receive(port, slot, -1);
    }

    /** Waits for the next message on a port, no longer than this. */
    public Message receiveWithin(String port, Duration wait) {
        return receive(port, NO_SLOT, seconds(wait));
    }

    /** Waits for the next message on a slot of a vector port, no longer than this. */
    public Message receiveWithin(String port, Duration wait, int slot) {
        return receive(port, slot, seconds(wait));
    }

    private static double seconds(Duration wait) {
        return wait.isNegative() ? 0 : wait.getSeconds() + wait.getNano() * 1e-9;
    }

    private Message receive(String port, int slot, double timeout) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.RECEIVE.invokeExact(handle, name(port), scratch.receive(slot, timeout),
                    scratch.out,
                    scratch.error));
            return new Message(Native.getLong(scratch.out), port);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Waits for the next message on a port; null if nothing is connected there, for inputs for which the code has
     * a value of its own. Close it.
     */
    public Message receiveIfConnected(String port) {
        return receiveIfConnected(port, NO_SLOT);
    }

    /** The same for a slot of a vector port. */
    public Message receiveIfConnected(String port, int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.RECEIVE_IF_CONNECTED.invokeExact(handle, name(port),
                    scratch.receive(slot, -1), scratch.out, scratch.error));
            long message = Native.getLong(scratch.out);
            return message == Native.NULL ? null : new Message(message, port);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Receives an array into the caller's, which says what type and shape must come. If something else comes
     * the message is consumed all the same, and nothing is written.
     */
    public Times receiveInto(String port, Array into) {
        return receiveInto(port, into, NO_SLOT);
    }

    /** Receives an array into the caller's, from a slot of a vector port. */
    public Times receiveInto(String port, Array into, int slot) {
        if (into.rawMemory().isReadOnly()) {
            throw new LigamentException.Usage("the array to receive into is read-only");
        }
        if (into.rawStrides() != null || !isReadable(into)) {
            try (Message message = receive(port, slot)) {
                message.array().copyTo(into);
                return message.times();
            }
        }
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            long described = scratch.array(into.dtype(), into.rawShape(), into.order(), null,
                    into.rawMemory().address() + into.offset(), Native.NULL, Native.NULL);
            check(scratch, (int) Native.RECEIVE_INTO.invokeExact(handle, name(port), scratch.receive(slot, -1),
                    described,
                    scratch.times, scratch.error));
            return Times.read(scratch.times);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Receives an array of one dimension into the caller's, which is as long. */
    public Times receiveInto(String port, double[] into) {
        return receiveInto(port, Array.of(into), NO_SLOT);
    }

    /** Whether a receive would return at once, also because the conduit has ended. */
    public boolean poll(String port) {
        return poll(port, NO_SLOT);
    }

    /** Whether a receive on a slot of a vector port would return at once. */
    public boolean poll(String port, int slot) {
        boolean first = enter();
        try {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.POLL.invokeExact(handle, name(port), scratch.receive(slot, -1),
                    scratch.out,
                    scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Waits until one of several ports can be received from, and gives its place among them. */
    public int waitAny(String... ports) {
        return waitAny(-1, Arrays.stream(ports).map(PortSlot::new).toList());
    }

    /** Waits until one of several ports and slots can be received from, and gives its place among them. */
    public int waitAny(List<PortSlot> ports) {
        return waitAny(-1, ports);
    }

    /** Waits until one of several ports and slots can be received from, no longer than this. */
    public int waitAnyWithin(List<PortSlot> ports, Duration wait) {
        return waitAny(seconds(wait), ports);
    }

    private int waitAny(double timeout, List<PortSlot> ports) {
        boolean first = enter();
        try (Arena arena = Arena.ofConfined()) {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.WAIT_ANY.invokeExact(handle, entries(ports, arena), (long) ports.size(),
                    scratch.receive(NO_SLOT, timeout), scratch.out, scratch.error));
            return (int) Native.getLong(scratch.out);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    private static long entries(List<PortSlot> ports, Arena arena) {
        long entries = arena.allocate((long) Native.PORT_SLOT_SIZE * Math.max(1, ports.size()), 8).address();
        for (int i = 0; i < ports.size(); i++) {
            long entry = entries + (long) i * Native.PORT_SLOT_SIZE;
            int slot = ports.get(i).slot();
            Native.putLong(entry, Native.terminated(ports.get(i).port(), arena, "the port's name"));
            Native.putByte(entry + 8, Scratch.slot(slot));
            Native.putInt(entry + 12, slot);
        }
        return entries;
    }

    /**
     * Receives from whichever of several ports is first. A conduit that ends is passed over for as long as another
     * one may bring something. Close what it gives.
     */
    public Received receiveAny(String... ports) {
        return receiveAny(-1, Arrays.stream(ports).map(PortSlot::new).toList());
    }

    /** Receives from whichever of several ports and slots is first. */
    public Received receiveAny(List<PortSlot> ports) {
        return receiveAny(-1, ports);
    }

    /** Receives from whichever of several ports and slots is first, waiting no longer than this. */
    public Received receiveAnyWithin(List<PortSlot> ports, Duration wait) {
        return receiveAny(seconds(wait), ports);
    }

    private Received receiveAny(double timeout, List<PortSlot> ports) {
        boolean first = enter();
        try (Arena arena = Arena.ofConfined()) {
            Scratch scratch = Scratch.get();
            check(scratch, (int) Native.RECEIVE_ANY.invokeExact(handle, entries(ports, arena), (long) ports.size(),
                    scratch.receive(NO_SLOT, timeout), scratch.out, scratch.out2, scratch.error));
            int which = (int) Native.getLong(scratch.out);
            return new Received(which, new Message(Native.getLong(scratch.out2), ports.get(which).port()));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    @Override
    public String toString() {
        return "the instance " + name + (closed ? ", closed" : "");
    }
}
