import java.util.Objects;

/**
 * The checks of the Java test programs: methods that end the program with an error if a condition does not
 * hold.
 */
final class Check {
    private Check() {}

    interface Action {
        void run() throws Throwable;
    }

    static void holds(boolean condition) {
        if (!condition) {
            throw new AssertionError("not so");
        }
    }

    static void equal(Object actual, Object wanted) {
        if (!Objects.deepEquals(actual, wanted)) {
            throw new AssertionError(actual + " is not " + wanted);
        }
    }

    /** Checks that an action throws this exception, with these words in its text. */
    static <T extends Throwable> T fails(Class<T> type, String words, Action action) {
        try {
            action.run();
        } catch (Throwable thrown) {
            if (!type.isInstance(thrown)) {
                throw new AssertionError("not " + type, thrown);
            }
            if (!String.valueOf(thrown.getMessage()).contains(words)) {
                throw new AssertionError("\"" + thrown.getMessage() + "\" does not say \"" + words + "\"",
                        thrown);
            }
            return type.cast(thrown);
        }
        throw new AssertionError("what should say \"" + words + "\" was not thrown");
    }
}
