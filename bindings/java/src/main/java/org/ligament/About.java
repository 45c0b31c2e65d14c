package org.ligament;

/**
 * The program that {@code java -jar ligament.jar} runs: it prints the versions of Java and of the library. It
 * is compiled for old releases of Java, so that it can report that they are too old.
 */
public final class About {
    private static final int OLDEST = 22;

    private About() {}

    /** Prints the versions, and exits with status 1 if Ligament cannot work here. */
    public static void main(String[] arguments) throws Exception {
        int release = Runtime.version().feature();
        String java = "Java " + System.getProperty("java.version") + " in " + System.getProperty("java.home");
        if (release < OLDEST) {
            System.err.println("Ligament needs Java " + OLDEST + " or newer; this is " + java
                    + ". Set JAVA_HOME or PATH to a newer one");
            System.exit(1);
        }
        try {
            System.out.println(Class.forName("org.ligament.Version").getMethod("describe").invoke(null) + "; "
                    + java);
        } catch (java.lang.reflect.InvocationTargetException refused) {
            System.err.println(refused.getCause().getMessage());
            System.exit(1);
        }
    }
}
