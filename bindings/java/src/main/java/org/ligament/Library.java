package org.ligament;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Finds the native library, and checks that it is the right one. */
final class Library {
    private Library() {}

    static final String FILE = "libligament.so.0";
    static final int ABI_MAJOR = 0;
    static final int ABI_MINOR = 2;

    private static volatile SymbolLookup loaded;
    private static volatile String place;

    /** The file of the loaded library. */
    static String place() {
        return place;
    }

    /** Loads the library, unless it is loaded. All of the binding calls this before it uses {@link Native}. */
    static void load() {
        if (loaded == null) {
            synchronized (Library.class) {
                if (loaded == null) {
                    loaded = find();
                }
            }
        }
    }

    static MemorySegment symbol(String name) {
        load();
        return loaded.find(name).orElseThrow(() -> new LigamentException.Registration(
                "the library has no function " + name
                        + ": it is older than this binding; install the newer one"));
    }

    private static SymbolLookup find() {
        List<String> tried = new ArrayList<>();
        String property = System.getProperty("ligament.library");
        if (property != null && !property.isEmpty()) {
            return named(property, "the system property ligament.library");
        }
        String variable = System.getenv("LIGAMENT_LIBRARY");
        if (variable != null && !variable.isEmpty()) {
            return named(variable, "the environment variable LIGAMENT_LIBRARY");
        }
        tried.add("neither the system property ligament.library nor the environment variable LIGAMENT_LIBRARY "
                + "names it");

        String path = System.getProperty("java.library.path", "");
        for (String folder : path.split(File.pathSeparator)) {
            if (!folder.isEmpty() && Files.isRegularFile(Path.of(folder, FILE))) {
                return open(Path.of(folder, FILE));
            }
        }
        tried.add("it is in no folder of java.library.path (" + path + ")");

        Path beside = besideTheJar();
        if (beside != null) {
            if (Files.isRegularFile(beside)) {
                return open(beside);
            }
            tried.add("there is no " + beside);
        }

        try {
            return checked(SymbolLookup.libraryLookup(FILE, Arena.global()), FILE);
        } catch (IllegalArgumentException absent) {
            tried.add("the system's loader (LD_LIBRARY_PATH, ldconfig) does not find it");
        }

        String command = saidByTheCommand();
        if (command != null && Files.isRegularFile(Path.of(command))) {
            return open(Path.of(command));
        }
        tried.add("no command `ligament` in PATH says where it is (`ligament config --library`)");
        throw new LigamentException.Registration(FILE + " was not found: " + String.join("; ", tried)
                + ". Start Java with -Dligament.library=\"$(ligament config --library)\"");
    }

    /** The library of the installation that has the jar in share/java. */
    private static Path besideTheJar() {
        try {
            Path jar = Path.of(Library.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            Path prefix = jar.toAbsolutePath().getParent().getParent().getParent();
            return jar.toString().endsWith(".jar") && prefix != null ? prefix.resolve("lib").resolve(FILE)
                    : null;
        } catch (URISyntaxException | RuntimeException unknown) {
            return null;
        }
    }

    private static String saidByTheCommand() {
        try {
            Process process = new ProcessBuilder("ligament", "config", "--library")
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")))
                    .start();
            String said = new String(process.getInputStream().readAllBytes()).strip();
            return process.waitFor(10, TimeUnit.SECONDS) && process.exitValue() == 0 ? said : null;
        } catch (IOException absent) {
            return null;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    /** The library that the user has named. If it cannot be loaded, no other is tried. */
    private static SymbolLookup named(String name, String by) {
        Path path = Path.of(name);
        if (Files.isDirectory(path)) {
            path = path.resolve(FILE);
        }
        if (!Files.isRegularFile(path)) {
            throw new LigamentException.Registration("there is no " + path + ", which " + by + " names");
        }
        return open(path);
    }

    private static SymbolLookup open(Path path) {
        try {
            return checked(SymbolLookup.libraryLookup(path.toAbsolutePath(), Arena.global()), path.toString());
        } catch (IllegalArgumentException refused) {
            throw new LigamentException.Registration(path + " cannot be loaded: " + refused.getMessage());
        }
    }

    private static SymbolLookup checked(SymbolLookup library, String name) {
        MemorySegment function = library.find("lig_abi_version").orElseThrow(
                () -> new LigamentException.Registration(name
                        + " is not Ligament's library: it has no lig_abi_version"));
        MethodHandle version = Linker.nativeLinker().downcallHandle(function,
                FunctionDescriptor.ofVoid(ADDRESS, ADDRESS));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment major = arena.allocate(JAVA_INT);
            MemorySegment minor = arena.allocate(JAVA_INT);
            version.invokeExact(major, minor);
            if (major.get(JAVA_INT, 0) != ABI_MAJOR || minor.get(JAVA_INT, 0) < ABI_MINOR) {
                throw new LigamentException.Registration(name + " has version " + major.get(JAVA_INT, 0) + "."
                        + minor.get(JAVA_INT, 0) + " of Ligament's C ABI, but this binding needs " + ABI_MAJOR
                                + "."
                        + ABI_MINOR + " or a later " + ABI_MAJOR + ".x; install the two of one release");
            }
            place = name;
            return library;
        } catch (LigamentException wrong) {
            throw wrong;
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }
}
