// The micro model: a heater with a thermostat under a part of the plate. It is asked with the temperatures of all cells
// and answers with the heating of each. Ligament is called as C, through Java's Foreign Function & Memory API (JDK 22).

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

public final class Heater {
    public static void main(String[] args) throws Throwable {
        try (Arena arena = Arena.ofConfined()) {
            new Heater(arena).run();
        } catch (LigamentException problem) {
            System.err.println(problem.getMessage());
            System.exit(1);
        }
    }

    private void run() throws Throwable {
        MemorySegment version = arena.allocate(JAVA_INT, 2);
        abiVersion.invokeExact(version, version.asSlice(4));
        if (version.get(JAVA_INT, 0) != 0 || version.get(JAVA_INT, 4) < 1) {
            throw new LigamentException("this program is written for version 0.1 of Ligament's C ABI, or a later 0.x");
        }

        MemorySegment ports = arena.allocate(PORT, 2);
        setPort(ports.asSlice(0, PORT), F_INIT, "temperature");
        setPort(ports.asSlice(PORT.byteSize(), PORT), O_F, "heating");
        MemorySegment options = arena.allocate(INSTANCE_OPTIONS);
        options.set(JAVA_LONG, 0, options.byteSize());
        set(INSTANCE_OPTIONS, options, "ports", ports);
        options.set(JAVA_LONG, offset(INSTANCE_OPTIONS, "port_count"), 2);
        set(INSTANCE_OPTIONS, options, "language", arena.allocateFrom("java"));

        MemorySegment result = arena.allocate(ADDRESS);
        check((int) instanceCreate.invokeExact(options, result, error));
        MemorySegment instance = result.get(ADDRESS, 0);
        try {
            while (reuse(instance)) {
                answer(instance);
            }
        } catch (LigamentException problem) {
            // Freeing alone would end the instance as if all were well, and others would fail for want of answers.
            MemorySegment why = arena.allocateFrom(problem.getMessage());
            int status = (int) errorShutdown.invokeExact(instance, why, MemorySegment.NULL);
            throw problem;
        } finally {
            instanceFree.invokeExact(instance);
        }
    }

    private boolean reuse(MemorySegment instance) throws Throwable {
        MemorySegment again = arena.allocate(JAVA_BOOLEAN);
        check((int) reuseInstance.invokeExact(instance, again, error));
        return again.get(JAVA_BOOLEAN, 0);
    }

    /** One pass: reads the temperatures where the plate put them, and writes the heating where the plate will read it. */
    private void answer(MemorySegment instance) throws Throwable {
        try (Arena pass = Arena.ofConfined()) {
            MemorySegment result = pass.allocate(ADDRESS);
            check((int) receive.invokeExact(instance, temperaturePort, MemorySegment.NULL, result, error));
            MemorySegment message = result.get(ADDRESS, 0);
            try {
                MemorySegment view = pass.allocate(ARRAY_VIEW);
                MemorySegment times = pass.allocate(TIMES);
                check((int) messageArray.invokeExact(message, view, error));
                check((int) messageTimes.invokeExact(message, times, error));
                MemorySegment loan = heat(instance, view, pass);
                MemorySegment at = pass.allocate(SEND_OPTIONS);
                at.set(JAVA_LONG, 0, at.byteSize());
                at.set(JAVA_DOUBLE, offset(SEND_OPTIONS, "timestamp"), times.get(JAVA_DOUBLE, 0));
                check((int) sendLoan.invokeExact(instance, heatingPort, at, loan, error));
            } finally {
                messageFree.invokeExact(message);
            }
        }
    }

    /** Fills a loan with the heating for a view of the temperatures. */
    private MemorySegment heat(MemorySegment instance, MemorySegment view, Arena pass) throws Throwable {
        double target = setting(instance, "target");
        double power = setting(instance, "power");
        if (view.get(JAVA_INT, 0) != FLOAT64 || view.get(JAVA_INT, 4) != 2) {
            throw new LigamentException("the temperatures must be float64 in 2 dimensions");
        }
        long nX = view.get(JAVA_LONG, offset(ARRAY_VIEW, "shape"));
        long nY = view.get(JAVA_LONG, offset(ARRAY_VIEW, "shape") + 8);
        long strideX = view.get(JAVA_LONG, offset(ARRAY_VIEW, "strides"));
        long strideY = view.get(JAVA_LONG, offset(ARRAY_VIEW, "strides") + 8);
        MemorySegment data = view.get(ADDRESS, offset(ARRAY_VIEW, "data"));
        MemorySegment temperature = data.reinterpret((nX - 1) * strideX + (nY - 1) * strideY + 8).asReadOnly();

        MemorySegment wanted = pass.allocate(ARRAY);
        wanted.set(JAVA_INT, 0, FLOAT64);
        wanted.set(JAVA_INT, offset(ARRAY, "ndim"), 2);
        wanted.set(JAVA_INT, offset(ARRAY, "order"), COLUMN_MAJOR);
        wanted.set(JAVA_LONG, offset(ARRAY, "shape"), nX);
        wanted.set(JAVA_LONG, offset(ARRAY, "shape") + 8, nY);
        MemorySegment loan = pass.allocate(ADDRESS);
        MemorySegment lent = pass.allocate(ADDRESS);
        check((int) loanCreateLike.invokeExact(instance, wanted, loan, lent, error));
        MemorySegment heating = lent.get(ADDRESS, 0).reinterpret(8 * nX * nY);

        // The heater lies under the quarter of the plate where both x and y are small.
        heating.fill((byte) 0);
        for (long y = 0; y < nY / 2; y++) {
            for (long x = 0; x < nX / 2; x++) {
                double here = temperature.get(JAVA_DOUBLE, x * strideX + y * strideY);
                heating.set(JAVA_DOUBLE, 8 * (x + nX * y), power * Math.max(0, target - here));
            }
        }
        return loan.get(ADDRESS, 0);
    }

    private double setting(MemorySegment instance, String name) throws Throwable {
        try (Arena call = Arena.ofConfined()) {
            MemorySegment value = call.allocate(JAVA_DOUBLE);
            check((int) getSettingFloat.invokeExact(instance, call.allocateFrom(name), value, error));
            return value.get(JAVA_DOUBLE, 0);
        }
    }

    private void check(int status) {
        if (status != 0) {
            throw new LigamentException(error.getString(0));
        }
    }

    /** What the library said when a call did not go well. */
    private static final class LigamentException extends RuntimeException {
        LigamentException(String message) {
            super(message);
        }
    }

    // What this code needs of ligament.h, by hand: four constants, six structs, twelve functions. docs/reference/c-abi.md
    // has the offsets.

    private static final int F_INIT = 1;
    private static final int O_F = 4;
    private static final int FLOAT64 = 11;
    private static final int COLUMN_MAJOR = 1;

    private static final MemoryLayout PORT = MemoryLayout.structLayout(
            JAVA_INT.withName("op"), MemoryLayout.paddingLayout(4), ADDRESS.withName("name"));
    private static final MemoryLayout INSTANCE_OPTIONS = MemoryLayout.structLayout(
            JAVA_LONG.withName("size"), ADDRESS.withName("ports"), JAVA_LONG.withName("port_count"),
            JAVA_LONG.withName("flags"), ADDRESS.withName("language"));
    private static final MemoryLayout SEND_OPTIONS = MemoryLayout.structLayout(
            JAVA_LONG.withName("size"), JAVA_DOUBLE.withName("timestamp"), JAVA_DOUBLE.withName("next_timestamp"),
            JAVA_BOOLEAN.withName("has_next_timestamp"), JAVA_BOOLEAN.withName("has_slot"),
            MemoryLayout.paddingLayout(2), JAVA_INT.withName("slot"), ADDRESS.withName("settings"));
    private static final MemoryLayout ARRAY = MemoryLayout.structLayout(
            JAVA_INT.withName("dtype"), JAVA_INT.withName("ndim"), JAVA_INT.withName("order"),
            JAVA_INT.withName("reserved"), MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("shape"),
            ADDRESS.withName("strides"), ADDRESS.withName("data"), ADDRESS.withName("names"),
            ADDRESS.withName("unit"));
    private static final MemoryLayout ARRAY_VIEW = MemoryLayout.structLayout(
            JAVA_INT.withName("dtype"), JAVA_INT.withName("ndim"), JAVA_INT.withName("order"),
            JAVA_BOOLEAN.withName("contiguous"), MemoryLayout.paddingLayout(3), JAVA_LONG.withName("length"),
            MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("shape"),
            MemoryLayout.sequenceLayout(8, JAVA_LONG).withName("strides"), ADDRESS.withName("data"));
    private static final MemoryLayout TIMES = MemoryLayout.structLayout(
            JAVA_DOUBLE.withName("timestamp"), JAVA_DOUBLE.withName("next_timestamp"),
            JAVA_BOOLEAN.withName("has_next_timestamp"), MemoryLayout.paddingLayout(7));

    private final Arena arena;
    private final SymbolLookup library;
    private final MemorySegment error;
    private final MemorySegment temperaturePort;
    private final MemorySegment heatingPort;

    private final MethodHandle abiVersion;
    private final MethodHandle instanceCreate;
    private final MethodHandle instanceFree;
    private final MethodHandle reuseInstance;
    private final MethodHandle errorShutdown;
    private final MethodHandle getSettingFloat;
    private final MethodHandle receive;
    private final MethodHandle messageArray;
    private final MethodHandle messageTimes;
    private final MethodHandle messageFree;
    private final MethodHandle loanCreateLike;
    private final MethodHandle sendLoan;

    private Heater(Arena arena) {
        this.arena = arena;
        library = SymbolLookup.libraryLookup(System.getProperty("ligament.library", "libligament.so.0"), arena);
        error = arena.allocate(1024);
        temperaturePort = arena.allocateFrom("temperature");
        heatingPort = arena.allocateFrom("heating");

        abiVersion = function("lig_abi_version", FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        instanceCreate = call("lig_instance_create", ADDRESS, ADDRESS, ADDRESS);
        instanceFree = function("lig_instance_free", FunctionDescriptor.ofVoid(ADDRESS));
        reuseInstance = call("lig_reuse_instance", ADDRESS, ADDRESS, ADDRESS);
        errorShutdown = call("lig_error_shutdown", ADDRESS, ADDRESS, ADDRESS);
        getSettingFloat = call("lig_get_setting_float", ADDRESS, ADDRESS, ADDRESS, ADDRESS);
        receive = call("lig_receive", ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
        messageArray = call("lig_message_array", ADDRESS, ADDRESS, ADDRESS);
        messageTimes = call("lig_message_times", ADDRESS, ADDRESS, ADDRESS);
        messageFree = function("lig_message_free", FunctionDescriptor.ofVoid(ADDRESS));
        loanCreateLike = call("lig_loan_create_like", ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
        sendLoan = call("lig_send_loan", ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS);
    }

    /** A function of the library that returns a status. */
    private MethodHandle call(String name, MemoryLayout... parameters) {
        return function(name, FunctionDescriptor.of(JAVA_INT, parameters));
    }

    private MethodHandle function(String name, FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(library.find(name).orElseThrow(), type);
    }

    private static long offset(MemoryLayout struct, String member) {
        return struct.byteOffset(PathElement.groupElement(member));
    }

    private static void set(MemoryLayout struct, MemorySegment target, String member, MemorySegment pointer) {
        target.set(ADDRESS, offset(struct, member), pointer);
    }

    private void setPort(MemorySegment port, int operator, String name) {
        port.set(JAVA_INT, 0, operator);
        set(PORT, port, "name", arena.allocateFrom(name));
    }
}
