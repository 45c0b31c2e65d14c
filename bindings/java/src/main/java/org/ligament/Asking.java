package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The calls of an {@link Instance} for its ports and settings, its clock, and its lines in the log. */
abstract class Asking extends Calling {
    Asking(long handle, boolean lent) {
        super(handle, lent);
    }

    // Ports.

    /** The names of the ports by operator, in the model's order and without "[]". */
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

    /** The names of the ports of this operator, in the model's order and without "[]". */
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

    /** Returns the texts of a list of names, and frees the list. */
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

    /** Asks about a port or a setting. The answer is in the first result of the scratch memory. */
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

    /** True if a conduit is connected to a port. */
    public boolean isConnected(String port) {
        return Native.getByte(about(Native.IS_CONNECTED, port).out) != 0;
    }

    /** True if a port has slots. */
    public boolean isVectorPort(String port) {
        return Native.getByte(about(Native.IS_VECTOR_PORT, port).out) != 0;
    }

    /**
     * True if {@link #setPortLength} can set the port's number of slots. This holds for vector ports that are
     * connected to vector ports.
     */
    public boolean isResizable(String port) {
        return Native.getByte(about(Native.IS_RESIZABLE, port).out) != 0;
    }

    /**
     * The number of slots of a vector port. For a resizable port that receives, this is the number that came
     * with the last received message.
     */
    public int getPortLength(String port) {
        return Math.toIntExact(Native.getLong(about(Native.GET_PORT_LENGTH, port).out));
    }

    /**
     * Sets the number of slots of a resizable port, which is 0 at first. Each message tells it to the
     * receivers.
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

    /**
     * Says that this rank has a block of the port's array, until the next map. The block begins at the indices
     * {@code start}, which count from 0, and has the shape {@code shape}.
     */
    public void mapBlock(String port, long[] start, long[] shape) {
        if (start.length != shape.length) {
            throw new LigamentException.Usage("a block has as many first indices as lengths, not "
                    + start.length + " and " + shape.length);
        }
        counts(start);
        counts(shape);
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            check(scratch, (int) Native.MAP_BLOCK.invokeExact(handle, name(port), (long) start.length,
                    numbers(arena, start), numbers(arena, shape), scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Says that this rank has the elements {@code begin} to {@code end} (not included) of the port's array,
     * until the next map. The elements are numbered from 0, so that the last index of the array runs fastest.
     */
    public void mapRange(String port, long begin, long end) {
        counts(begin, end);
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.MAP_RANGE.invokeExact(handle, name(port), begin, end, scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Says that this rank has the elements of the port's array with these numbers, in this order, until the
     * next map. No number may occur twice.
     */
    public void mapList(String port, long[] numbers) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            check(scratch, (int) Native.MAP_LIST.invokeExact(handle, name(port), numbers(arena, numbers),
                    (long) numbers.length, scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * The time of the instance's clock, in the unit of the model's times: seconds, if the model gives no other.
     * The clock is at 0 when a pass of the reuse loop begins.
     */
    public double time() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.TIME.invokeExact(handle, scratch.out, scratch.error));
            return Double.longBitsToDouble(Native.getLong(scratch.out));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Advances the clock by one tick: sends the events that are due, waits for those that are to be delivered
     * by then, and applies changes of settings, as {@code steer} does.
     *
     * @return true if settings have changed
     */
    public boolean tick() {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try {
            check(scratch, (int) Native.TICK.invokeExact(handle, scratch.out, scratch.error));
            return Native.getByte(scratch.out) != 0;
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * Sends an event. Its time lies between the time of the clock and the next tick; its id is at least 0, and
     * below the number in the model.
     */
    public void insertEvent(String port, double time, int id) {
        insertEvents(port, new double[] {time}, new int[] {id});
    }

    /** Sends events. If one of them cannot be sent, none is. */
    public void insertEvents(String port, double[] times, int[] ids) {
        if (times.length != ids.length) {
            throw new LigamentException.Usage("events have as many times as ids, not " + times.length + " and "
                    + ids.length);
        }
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            long itsTimes = arena.allocateFrom(JAVA_DOUBLE, times).address();
            long itsIds = arena.allocateFrom(JAVA_INT, ids).address();
            check(scratch, (int) Native.INSERT_EVENTS.invokeExact(handle, name(port), (long) ids.length,
                    itsTimes, itsIds, scratch.error));
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /**
     * The events that have been delivered on a port up to now and that the code has not read, in no order. Call
     * it after each {@code tick}.
     */
    public EventBatch events(String port) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        EventBatch all = new EventBatch(new double[0], new int[0]);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment place = arena.allocate(24, 8);
            while (true) {
                check(scratch, (int) Native.EVENTS.invokeExact(handle, name(port), place.address(),
                        place.address() + 8, place.address() + 16, scratch.error));
                long count = place.get(JAVA_LONG, 0);
                if (count == 0) {
                    return all;
                }
                MemorySegment times = MemorySegment.ofAddress(place.get(JAVA_LONG, 8)).reinterpret(8 * count);
                MemorySegment ids = MemorySegment.ofAddress(place.get(JAVA_LONG, 16)).reinterpret(4 * count);
                all = all.with(times.toArray(JAVA_DOUBLE), ids.toArray(JAVA_INT));
            }
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** The shape of the whole array of which a port carries a part; empty if nothing is connected. */
    public long[] arrayShape(String port) {
        boolean first = enter();
        Scratch scratch = Scratch.get();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment shape = arena.allocate(8L * Native.MAX_DIMS, 8);
            check(scratch, (int) Native.ARRAY_SHAPE.invokeExact(handle, name(port), shape.address(),
                    scratch.out, scratch.error));
            int ndim = (int) Native.getLong(scratch.out);
            return shape.asSlice(0, 8L * ndim).toArray(JAVA_LONG);
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        } finally {
            leave(first);
        }
    }

    /** Fails if an index or length is negative. */
    private static void counts(long... numbers) {
        for (long number : numbers) {
            if (number < 0) {
                throw new LigamentException.Usage("indices and lengths of a map are not negative, as "
                        + number + " is");
            }
        }
    }

    /** Returns the address of a copy of the numbers, which is valid even if there are no numbers. */
    private static long numbers(Arena arena, long[] numbers) {
        MemorySegment copy = arena.allocate(8L * numbers.length + 8, 8);
        MemorySegment.copy(numbers, 0, copy, JAVA_LONG, 0, numbers.length);
        return copy.address();
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

    /** The type of a setting. */
    public SettingKind getSettingKind(String setting) {
        int kind = Native.getInt(about(Native.GET_SETTING_TYPE, setting).out);
        if (kind < 1 || kind > SettingKind.values().length) {
            throw new LigamentException.Unexpected("the setting \"" + setting + "\" is of a type (" + kind
                    + ") that this version does not know");
        }
        return SettingKind.values()[kind - 1];
    }

    /** A setting that is a truth value. */
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

    /** A setting that is a number; integers are accepted. */
    public double getSettingDouble(String setting) {
        return Native.getDouble(about(Native.GET_SETTING_FLOAT, setting).out);
    }

    /** A setting that is text. */
    public String getSettingString(String setting) {
        // The text stays until the same setting is asked for again, and that happens only under the same lock.
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

    /** A setting that is a list of numbers; integers are accepted. */
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
     * A setting as the Java object of its type: Boolean, Long, Double, String, {@code long[]}, {@code double[]}
     * or {@code double[][]}.
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

    /** A setting that is a truth value, or {@code otherwise} if it is not set. */
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

    /** Writes a line to the run's log, if the model's log level lets lines of this level pass. */
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
}
