package muscle.core.kernel;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.List;
import muscle.core.Session;
import muscle.exception.MUSCLEConduitExhaustedException;
import muscle.exception.MUSCLEDatatypeException;

/** Runs a class as an instance: {@code java -cp … muscle.core.kernel.Start CLASS}. */
public final class Start {
    /** Exit statuses of MUSCLE 2. */
    private static final int OUT_OF_MEMORY_STATUS = 2;
    private static final int CONDUIT_STATUS = 6;
    private static final int DATATYPE_STATUS = 7;
    private static final int EXCEPTION_STATUS = 8;

    /** Packages whose lines in a stack trace are not the user's. */
    private static final List<String> OWN_PACKAGES = List.of("muscle.core.", "muscle.exception.",
            "eu.mapperproject.", "org.ligament.", "java.", "jdk.", "sun.");

    private Start() {}

    /**
     * Runs a class, and ends the program.
     *
     * @param arguments the name of the class
     */
    public static void main(String[] arguments) {
        if (arguments.length != 1) {
            System.err.println("usage: java -cp CLASSES muscle.core.kernel.Start CLASS");
            System.exit(EXCEPTION_STATUS);
        }
        System.exit(run(arguments[0]));
    }

    /** Runs the class whose name {@code java} was given. */
    static void runStartedClass(String[] arguments) {
        String command = System.getProperty("sun.java.command", "");
        String name = command.split("\\s", 2)[0].replace('/', '.');
        if (arguments.length > 0) {
            System.err.println("the class " + name + " of MUSCLE 2 takes no arguments; use settings");
            System.exit(EXCEPTION_STATUS);
        }
        main(new String[] {name});
    }

    private static int run(String name) {
        Session session = null;
        try {
            RawInstance instance = make(name);
            session = Session.open();
            instance.beforeExecute();
            instance.connectPortals();
            instance.execute();
            instance.afterExecute();
            session.finish();
            return 0;
        } catch (Throwable thrown) {
            thrown.printStackTrace();
            if (session != null) {
                session.fail(described(thrown));
            }
            return status(thrown);
        }
    }

    private static RawInstance make(String name) throws Throwable {
        Class<?> type;
        try {
            type = Class.forName(name, true, ClassLoader.getSystemClassLoader());
        } catch (ClassNotFoundException missing) {
            throw new IllegalArgumentException("there is no class " + name + " in the class path "
                    + System.getProperty("java.class.path"), missing);
        }
        if (!RawInstance.class.isAssignableFrom(type)) {
            throw new IllegalArgumentException("the class " + name + " is no instance of MUSCLE 2; extend "
                    + "CAController, Submodel or Mapper of muscle.core.kernel");
        }
        try {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            return (RawInstance) constructor.newInstance();
        } catch (NoSuchMethodException | InstantiationException other) {
            throw new IllegalArgumentException("the class " + name
                    + " cannot be made; it must not be abstract, and "
                    + "needs a constructor without arguments", other);
        } catch (InvocationTargetException inConstructor) {
            throw inConstructor.getCause();
        }
    }

    private static int status(Throwable thrown) {
        return switch (thrown) {
            case OutOfMemoryError full -> OUT_OF_MEMORY_STATUS;
            case MUSCLEConduitExhaustedException end -> CONDUIT_STATUS;
            case MUSCLEDatatypeException other -> DATATYPE_STATUS;
            default -> EXCEPTION_STATUS;
        };
    }

    /** Describes an exception: its class, its text, and the line of the user's code where it was thrown. */
    private static String described(Throwable thrown) {
        for (StackTraceElement line : thrown.getStackTrace()) {
            if (OWN_PACKAGES.stream().noneMatch(line.getClassName()::startsWith)) {
                return thrown + " (" + line.getFileName() + ":" + line.getLineNumber() + ")";
            }
        }
        return thrown.toString();
    }
}
