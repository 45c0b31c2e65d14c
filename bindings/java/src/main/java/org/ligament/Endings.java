package org.ligament;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The end of a program: tells the run the reason if an exception that no code catches ends it, or if it closed
 * its instance too early.
 *
 * <p>Java does not tell {@code close()} if an exception is its cause. So an instance that is closed early waits
 * until the cause is known: until the exception reaches the end of its thread, or until the program ends.
 */
final class Endings {
    private Endings() {}

    private static final Set<Instance> EARLY = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> EARLY.forEach(Endings::tellEarly), "ligament"));
    }

    /** Reports exceptions to the run that end the thread which makes the instance. */
    static void watch(Instance instance) {
        Thread maker = Thread.currentThread();
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            try {
                if (before != null) {
                    before.uncaughtException(thread, thrown);
                } else {
                    System.err.print("Exception in thread \"" + thread.getName() + "\" ");
                    thrown.printStackTrace();
                }
            } finally {
                if (thread == maker) {
                    instance.tell(describe(thrown));
                }
            }
        });
    }

    static void closedEarly(Instance instance) {
        EARLY.add(instance);
    }

    private static void tellEarly(Instance instance) {
        LigamentException last = instance.lastFailure();
        instance.tell("the code closed its instance before reuseInstance() said no: "
                + (last != null ? describe(last)
                        : "an exception may have ended it, and its own output may say which; a code "
                + "that means to leave early calls finish() before"));
    }

    /** Describes an exception: its class, its text, and the line of the user's code where it was thrown. */
    static String describe(Throwable thrown) {
        StringBuilder text = new StringBuilder(one(thrown));
        Throwable cause = thrown;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        if (cause != thrown) {
            text.append(", because of ").append(one(cause));
        }
        return text.toString();
    }

    private static String one(Throwable thrown) {
        String type = thrown.getClass().getCanonicalName();
        StringBuilder text = new StringBuilder(type == null ? thrown.getClass().getName() : type);
        if (thrown.getMessage() != null) {
            text.append(": ").append(thrown.getMessage());
        }
        for (StackTraceElement line : thrown.getStackTrace()) {
            if (!LigamentException.ours(line) && !line.getClassName().startsWith("java.")
                    && !line.getClassName().startsWith("sun.")) {
                text.append(" (" + line.getFileName() + ":" + line.getLineNumber() + ")");
                break;
            }
        }
        return text.toString();
    }
}
