package org.ligament;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/**
 * The functions of {@code ligament.h}, and memory by its address. Handles, pointers and {@code size_t} are
 * {@code long}, which has the right size on every platform of Ligament. So a call makes no segment and pins no
 * object. A caller that passes an address keeps the memory valid until the call returns.
 */
final class Native {
    private Native() {}

    static final long NULL = 0;
    static final int MAX_DIMS = 8;

    // Offsets and sizes of the structs (docs/reference/c-abi.md).
    static final int ERROR_SIZE = 1024;
    static final int PORT_SIZE = 16;
    static final int INSTANCE_OPTIONS_SIZE = 48;
    static final int SEND_OPTIONS_SIZE = 40;
    static final int RECEIVE_OPTIONS_SIZE = 24;
    static final int ARRAY_SIZE = 112;
    static final int VIEW_SIZE = 160;
    static final int TIMES_SIZE = 24;
    static final int EXPECTED_SIZE = 88;
    static final int PORT_SLOT_SIZE = 16;
    static final int FLOAT_ROW_SIZE = 16;
    static final int SUBMODEL_SIZE = 80;
    static final int LIGHT_SIZE = 48;

    /**
     * All memory of the process. Only memory that the library has named, or that {@link Scratch} holds, is read
     * or written.
     */
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    static long getLong(long address) {
        return ALL.get(JAVA_LONG, address);
    }

    static int getInt(long address) {
        return ALL.get(JAVA_INT, address);
    }

    static byte getByte(long address) {
        return ALL.get(JAVA_BYTE, address);
    }

    static double getDouble(long address) {
        return ALL.get(JAVA_DOUBLE, address);
    }

    static void putLong(long address, long value) {
        ALL.set(JAVA_LONG, address, value);
    }

    static void putInt(long address, int value) {
        ALL.set(JAVA_INT, address, value);
    }

    static void putByte(long address, int value) {
        ALL.set(JAVA_BYTE, address, (byte) value);
    }

    static void putDouble(long address, double value) {
        ALL.set(JAVA_DOUBLE, address, value);
    }

    /** A segment for memory of the library. The caller knows how long the memory stays. */
    static MemorySegment memory(long address, long size) {
        return ALL.asSlice(address, size);
    }

    /** Text that ends with a NUL. */
    static String text(long address) {
        return address == NULL ? null : ALL.getString(address);
    }

    /** Text that has a length. */
    static String text(long address, long size) {
        byte[] bytes = new byte[Math.toIntExact(size)];
        MemorySegment.copy(ALL, JAVA_BYTE, address, bytes, 0, bytes.length);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** The UTF-8 of a text. A text without one (half of a surrogate pair) is refused. */
    static byte[] utf8(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length != text.length() || text.indexOf('?') >= 0) {
            for (int i = 0; i < text.length(); i++) {
                char half = text.charAt(i);
                if (!Character.isSurrogate(half)) {
                    continue;
                }
                boolean pair = Character.isHighSurrogate(half)
                        && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1));
                if (!pair) {
                    throw new LigamentException.Usage("the text has half a surrogate pair at " + i
                            + ", which is no "
                            + "Unicode text");
                }
                i++;
            }
        }
        return bytes;
    }

    /** The text in memory of an arena, with a NUL at its end. A text that contains a NUL is refused. */
    static long terminated(String text, Arena arena, String what) {
        if (text == null) {
            throw new LigamentException.Usage(what + " is null");
        }
        byte[] bytes = utf8(text);
        for (byte one : bytes) {
            if (one == 0) {
                throw new LigamentException.Usage(what + " has a NUL in it: " + text.replace("\0", "\\0"));
            }
        }
        MemorySegment memory = arena.allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, memory, JAVA_BYTE, 0, bytes.length);
        return memory.address();
    }

    private static final Linker LINKER = Linker.nativeLinker();

    private static MethodHandle function(String name, FunctionDescriptor type) {
        return LINKER.downcallHandle(Library.symbol(name), type);
    }

    /**
     * A function that returns a status: {@code p} stands for a pointer or 64 bits, {@code i} for 32, {@code b}
     * for 8, {@code d} for a double.
     */
    private static MethodHandle call(String name, String arguments) {
        return function(name, FunctionDescriptor.of(JAVA_INT, layouts(arguments)));
    }

    /** A function that returns 32 bits. */
    private static MethodHandle number(String name, String arguments) {
        return call(name, arguments);
    }

    private static MethodHandle pointer(String name, String arguments) {
        return function(name, FunctionDescriptor.of(JAVA_LONG, layouts(arguments)));
    }

    private static MethodHandle nothing(String name, String arguments) {
        return function(name, FunctionDescriptor.ofVoid(layouts(arguments)));
    }

    static MemoryLayout[] layouts(String arguments) {
        MemoryLayout[] layouts = new MemoryLayout[arguments.length()];
        for (int i = 0; i < layouts.length; i++) {
            layouts[i] = switch (arguments.charAt(i)) {
                case 'p' -> JAVA_LONG;
                case 'i' -> JAVA_INT;
                case 'b' -> JAVA_BYTE;
                default -> JAVA_DOUBLE;
            };
        }
        return layouts;
    }

    // The library itself.
    static final MethodHandle VERSION = pointer("lig_version", "");
    // The life of an instance.
    static final MethodHandle INSTANCE_CREATE = call("lig_instance_create", "ppp");
    static final MethodHandle INSTANCE_FREE = nothing("lig_instance_free", "p");
    static final MethodHandle REUSE_INSTANCE = call("lig_reuse_instance", "ppp");
    static final MethodHandle STEER = call("lig_steer", "pdpp");
    static final MethodHandle DECLARE_STEERABLE = call("lig_declare_steerable", "ppddpbp");
    static final MethodHandle RESUMING = call("lig_resuming", "ppp");
    static final MethodHandle LOAD_SNAPSHOT = call("lig_load_snapshot", "ppp");
    static final MethodHandle SHOULD_INIT = call("lig_should_init", "ppp");
    static final MethodHandle SHOULD_SAVE_SNAPSHOT = call("lig_should_save_snapshot", "pdpp");
    static final MethodHandle SAVE_SNAPSHOT = call("lig_save_snapshot", "pppp");
    static final MethodHandle SHOULD_SAVE_FINAL_SNAPSHOT = call("lig_should_save_final_snapshot", "ppp");
    static final MethodHandle SAVE_FINAL_SNAPSHOT = call("lig_save_final_snapshot", "pppp");
    static final MethodHandle SNAPSHOT_DIRECTORY = call("lig_snapshot_directory", "ppp");
    static final MethodHandle FINISH = call("lig_finish", "pp");
    static final MethodHandle ERROR_SHUTDOWN = call("lig_error_shutdown", "ppp");
    static final MethodHandle RUN_SUBMODEL = call("lig_run_submodel", "ppp");
    static final MethodHandle RUN_LIGHT = call("lig_run_light", "pp");
    static final MethodHandle SET_INTERRUPT_CHECK = call("lig_set_interrupt_check", "pppp");
    static final MethodHandle INSTANCE_NAME = pointer("lig_instance_name", "p");
    static final MethodHandle RUN_NAME = pointer("lig_run_name", "p");
    static final MethodHandle INSTANCE_INDEX = pointer("lig_instance_index", "pp");
    static final MethodHandle INSTANCE_RANK = number("lig_instance_rank", "p");
    static final MethodHandle INSTANCE_RANKS = number("lig_instance_ranks", "p");
    static final MethodHandle LOG = call("lig_log", "pipp");
    // Ports, settings, and lists of names.
    static final MethodHandle NAMES_COUNT = pointer("lig_names_count", "p");
    static final MethodHandle NAMES_AT = pointer("lig_names_at", "pp");
    static final MethodHandle NAMES_FREE = nothing("lig_names_free", "p");
    static final MethodHandle LIST_PORTS = call("lig_list_ports", "pipp");
    static final MethodHandle IS_CONNECTED = call("lig_is_connected", "pppp");
    static final MethodHandle IS_VECTOR_PORT = call("lig_is_vector_port", "pppp");
    static final MethodHandle IS_RESIZABLE = call("lig_is_resizable", "pppp");
    static final MethodHandle SET_PORT_LENGTH = call("lig_set_port_length", "pppp");
    static final MethodHandle MAP_BLOCK = call("lig_map_block", "pppppp");
    static final MethodHandle MAP_RANGE = call("lig_map_range", "ppppp");
    static final MethodHandle MAP_LIST = call("lig_map_list", "ppppp");
    static final MethodHandle ARRAY_SHAPE = call("lig_array_shape", "ppppp");
    static final MethodHandle TIME = call("lig_time", "ppp");
    static final MethodHandle TICK = call("lig_tick", "ppp");
    static final MethodHandle INSERT_EVENTS = call("lig_insert_events", "pppppp");
    static final MethodHandle EVENTS = call("lig_events", "pppppp");
    static final MethodHandle GET_PORT_LENGTH = call("lig_get_port_length", "pppp");
    static final MethodHandle LIST_SETTINGS = call("lig_list_settings", "ppp");
    static final MethodHandle GET_SETTING_TYPE = call("lig_get_setting_type", "pppp");
    static final MethodHandle GET_SETTING_BOOL = call("lig_get_setting_bool", "pppp");
    static final MethodHandle GET_SETTING_INT = call("lig_get_setting_int", "pppp");
    static final MethodHandle GET_SETTING_FLOAT = call("lig_get_setting_float", "pppp");
    static final MethodHandle GET_SETTING_STRING = call("lig_get_setting_string", "pppp");
    static final MethodHandle GET_SETTING_INT_LIST = call("lig_get_setting_int_list", "ppppp");
    static final MethodHandle GET_SETTING_FLOAT_LIST = call("lig_get_setting_float_list", "ppppp");
    static final MethodHandle GET_SETTING_FLOAT_GRID = call("lig_get_setting_float_grid", "ppppp");
    // Sending.
    static final MethodHandle SEND = call("lig_send", "ppppp");
    static final MethodHandle SEND_BOOL = call("lig_send_bool", "pppbp");
    static final MethodHandle SEND_INT = call("lig_send_int", "ppppp");
    static final MethodHandle SEND_FLOAT = call("lig_send_float", "pppdp");
    static final MethodHandle SEND_BYTES = call("lig_send_bytes", "pppppp");
    static final MethodHandle SEND_ARRAY = call("lig_send_array", "ppppp");
    static final MethodHandle LOAN_CREATE_LIKE = call("lig_loan_create_like", "ppppp");
    static final MethodHandle SEND_LOAN = call("lig_send_loan", "ppppp");
    static final MethodHandle LOAN_FREE = nothing("lig_loan_free", "pp");
    // Receiving.
    static final MethodHandle RECEIVE = call("lig_receive", "ppppp");
    static final MethodHandle RECEIVE_WITH_SETTINGS = call("lig_receive_with_settings", "ppppp");
    static final MethodHandle RECEIVE_IF_CONNECTED = call("lig_receive_if_connected", "ppppp");
    static final MethodHandle RECEIVE_ANY = call("lig_receive_any", "ppppppp");
    static final MethodHandle RECEIVE_INTO = call("lig_receive_into", "pppppp");
    static final MethodHandle POLL = call("lig_poll", "ppppp");
    static final MethodHandle HAS_NEXT = call("lig_has_next", "ppppp");
    static final MethodHandle WAIT_ANY = call("lig_wait_any", "pppppp");
    static final MethodHandle MESSAGE_FREE = nothing("lig_message_free", "p");
    static final MethodHandle MESSAGE_TIMES = call("lig_message_times", "ppp");
    static final MethodHandle MESSAGE_VALUE = pointer("lig_message_value", "p");
    static final MethodHandle MESSAGE_ORIGIN = nothing("lig_message_origin", "pp");
    static final MethodHandle EXPECT_ARRAY = call("lig_expect_array", "ppppp");
    static final MethodHandle MESSAGE_SETTINGS = pointer("lig_message_settings", "p");
    // Reading values.
    static final MethodHandle VALUE_KIND = call("lig_value_kind", "p");
    static final MethodHandle VALUE_BOOL = call("lig_value_bool", "ppp");
    static final MethodHandle VALUE_INT = call("lig_value_int", "ppp");
    static final MethodHandle VALUE_UINT = call("lig_value_uint", "ppp");
    static final MethodHandle VALUE_FLOAT = call("lig_value_float", "ppp");
    static final MethodHandle VALUE_COMPLEX = call("lig_value_complex", "pppp");
    static final MethodHandle VALUE_STRING = call("lig_value_string", "ppp");
    static final MethodHandle VALUE_BYTES = call("lig_value_bytes", "pppp");
    static final MethodHandle VALUE_COUNT = call("lig_value_count", "ppp");
    static final MethodHandle VALUE_AT = call("lig_value_at", "pppp");
    static final MethodHandle VALUE_KEY = call("lig_value_key", "pppp");
    static final MethodHandle VALUE_FIND = call("lig_value_find", "pppp");
    static final MethodHandle VALUE_ARRAY = call("lig_value_array", "ppp");
    static final MethodHandle VALUE_ARRAY_NAME = call("lig_value_array_name", "pipp");
    static final MethodHandle VALUE_ARRAY_UNIT = call("lig_value_array_unit", "ppp");
    static final MethodHandle VALUE_SETTINGS = call("lig_value_settings", "ppp");
    // Building values.
    static final MethodHandle VALUE_FREE = nothing("lig_value_free", "p");
    static final MethodHandle VALUE_COPY = call("lig_value_copy", "ppp");
    static final MethodHandle NEW_NONE = pointer("lig_value_new_none", "");
    static final MethodHandle NEW_BOOL = pointer("lig_value_new_bool", "b");
    static final MethodHandle NEW_INT = pointer("lig_value_new_int", "p");
    static final MethodHandle NEW_UINT = pointer("lig_value_new_uint", "p");
    static final MethodHandle NEW_FLOAT = pointer("lig_value_new_float", "d");
    static final MethodHandle NEW_COMPLEX = pointer("lig_value_new_complex", "dd");
    static final MethodHandle NEW_STRING = pointer("lig_value_new_string", "pp");
    static final MethodHandle NEW_BYTES = pointer("lig_value_new_bytes", "pp");
    static final MethodHandle NEW_ARRAY = call("lig_value_new_array", "ppp");
    static final MethodHandle NEW_ARRAY_BORROWED = call("lig_value_new_array_borrowed", "ppp");
    static final MethodHandle NEW_LIST = pointer("lig_value_new_list", "");
    static final MethodHandle NEW_MAP = pointer("lig_value_new_map", "");
    static final MethodHandle VALUE_APPEND = call("lig_value_append", "ppp");
    static final MethodHandle VALUE_SET = call("lig_value_set", "pppp");
    static final MethodHandle NEW_SETTINGS = call("lig_value_new_settings", "ppp");

    /**
     * An exception that a method handle declares and never throws, because the functions of C throw nothing.
     */
    static AssertionError never(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown instanceof RuntimeException exception) {
            throw exception;
        }
        return new AssertionError(thrown);
    }
}
