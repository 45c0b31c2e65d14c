package org.ligament;

/** The version of the native library. */
public final class Version {
    private Version() {}

    /** The version of the loaded library, such as "0.1.0". */
    public static String version() {
        Library.load();
        try {
            return Native.text((long) Native.VERSION.invokeExact());
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** The version and the file of the library, for people. */
    public static String describe() {
        return "Ligament " + version() + ", " + Library.place();
    }
}
