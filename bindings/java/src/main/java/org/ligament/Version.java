package org.ligament;

/** The version of the native library. */
public final class Version {
    private Version() {}

    /** The version of the library that is loaded, such as "0.1.0". */
    public static String version() {
        Library.load();
        try {
            return Native.text((long) Native.VERSION.invokeExact());
        } catch (Throwable thrown) {
            throw Native.never(thrown);
        }
    }

    /** Version and place of the library, for people. */
    public static String describe() {
        return "Ligament " + version() + ", " + Library.place();
    }
}
