package org.ligament;

import java.util.ArrayList;
import java.util.List;

/**
 * An error of Ligament. The text says what is wrong, where, and what to do. The class gives the kind of error.
 * The stack trace begins in the code that called Ligament.
 */
public class LigamentException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int status;

    LigamentException(int status, String text) {
        super(text);
        this.status = status;
    }

    /** The number of this error's status in the C interface, such as 2 for a wrong use. */
    public int status() {
        return status;
    }

    /** The name of this status, such as {@code LIG_ERR_USAGE}. */
    public String statusName() {
        return status > 0 && status < NAMES.length ? "LIG_ERR_" + NAMES[status] : "unknown";
    }

    private static final String[] NAMES = {"", "REGISTRATION", "USAGE", "UNEXPECTED", "CLOSED", "SETTING_UNSET",
            "TIMED_OUT",
        "INTERRUPTED", "OUT_OF_MEMORY", "RUN_ENDS", "SYSTEM", "PANIC", "SETTING_TYPE"};

    /** Removes the lines of the binding, so that the first line is the user's. */
    @Override
    public synchronized Throwable fillInStackTrace() {
        super.fillInStackTrace();
        StackTraceElement[] all = getStackTrace();
        List<StackTraceElement> kept = new ArrayList<>(all.length);
        for (StackTraceElement line : all) {
            if (!kept.isEmpty() || !ours(line)) {
                kept.add(line);
            }
        }
        if (!kept.isEmpty()) {
            setStackTrace(kept.toArray(new StackTraceElement[0]));
        }
        return this;
    }

    /**
     * Returns true if a line of a stack trace belongs to this binding, or to the JDK's code between the binding
     * and its caller.
     */
    static boolean ours(StackTraceElement line) {
        String name = line.getClassName();
        return name.startsWith("org.ligament.") || name.startsWith("java.lang.foreign.")
                || name.startsWith("java.lang.invoke.") || name.startsWith("jdk.internal.");
    }

    /** Returns the exception for a status. */
    static LigamentException of(int status, String text) {
        return switch (status) {
            case 1 -> new Registration(text);
            case 2 -> new Usage(text);
            case 3 -> new Unexpected(text);
            case 4 -> new Closed(text);
            case 5 -> new SettingUnset(text);
            case 6 -> new TimedOut(text);
            case 7 -> new Interrupted(text);
            case 8 -> new OutOfMemory(text);
            case 9 -> new RunEnds(text);
            case 10 -> new SystemFailed(text);
            case 11 -> new Panic(text);
            case 12 -> new SettingType(text);
            default -> new LigamentException(status, text);
        };
    }

    /** There is no run to join, the run refused this instance, or the native library was not found. */
    public static final class Registration extends LigamentException {
        private static final long serialVersionUID = 1;

        Registration(String text) {
            super(1, text);
        }
    }

    /**
     * A call that cannot work: an unknown port, a missing slot, the wrong moment, the wrong thread, or after
     * the end.
     */
    public static final class Usage extends LigamentException {
        private static final long serialVersionUID = 1;

        Usage(String text) {
            super(2, text);
        }
    }

    /** A message or value is of another kind, type or shape than the requested one. */
    public static final class Unexpected extends LigamentException {
        private static final long serialVersionUID = 1;

        Unexpected(String text) {
            super(3, text);
        }
    }

    /** The conduit has ended: no more messages will arrive on this port. */
    public static final class Closed extends LigamentException {
        private static final long serialVersionUID = 1;

        Closed(String text) {
            super(4, text);
        }
    }

    /** A setting cannot be read. */
    public abstract static sealed class Setting extends LigamentException {
        private static final long serialVersionUID = 1;

        Setting(int status, String text) {
            super(status, text);
        }
    }

    /** A setting is not set. */
    public static final class SettingUnset extends Setting {
        private static final long serialVersionUID = 1;

        SettingUnset(String text) {
            super(5, text);
        }
    }

    /** A setting is of another type than the requested one. */
    public static final class SettingType extends Setting {
        private static final long serialVersionUID = 1;

        SettingType(String text) {
            super(12, text);
        }
    }

    /** No message arrived within the time allowed. */
    public static final class TimedOut extends LigamentException {
        private static final long serialVersionUID = 1;

        TimedOut(String text) {
            super(6, text);
        }
    }

    /**
     * The thread was interrupted while it waited ({@link Thread#interrupt}); its interrupt status is still set.
     */
    public static final class Interrupted extends LigamentException {
        private static final long serialVersionUID = 1;

        Interrupted(String text) {
            super(7, text);
        }
    }

    /** The run has too little memory to store the message. */
    public static final class OutOfMemory extends LigamentException {
        private static final long serialVersionUID = 1;

        OutOfMemory(String text) {
            super(8, text);
        }
    }

    /** The run is ending; the text gives the reason. */
    public static final class RunEnds extends LigamentException {
        private static final long serialVersionUID = 1;

        RunEnds(String text) {
            super(9, text);
        }
    }

    /** The operating system failed, or another process sent wrong data. */
    public static final class SystemFailed extends LigamentException {
        private static final long serialVersionUID = 1;

        SystemFailed(String text) {
            super(10, text);
        }
    }

    /** The library itself has a fault. The instance should not be used any more. */
    public static final class Panic extends LigamentException {
        private static final long serialVersionUID = 1;

        Panic(String text) {
            super(11, text);
        }
    }
}
