"""Builds the drivers. Each language has a program for each of its source files in drivers/."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "tests"))
import rust_examples  # noqa: E402

DRIVERS = HERE / "drivers"
TARGET = ROOT / "target" / "release"
INCLUDES = [f"-I{ROOT / folder}" for folder in ("crates/capi/include", "bindings/cpp/include")]
LIBRARY = [str(TARGET / "libligament.so"), f"-Wl,-rpath,{TARGET}"]


def compiled(command, folder):
    subprocess.run(command, cwd=folder, check=True)


def c(name, folder):
    warnings = ["-std=c11", "-Wall", "-Wextra", "-O1"]
    compiled(["gcc", *warnings, *INCLUDES, DRIVERS / f"{name}.c", "-o", f"{name}-c", *LIBRARY], folder)
    return [str(folder / f"{name}-c")]


def cpp(name, folder):
    # tests/sanitizers/run sets LIGAMENT_TEST_CFLAGS.
    warnings = ["-std=c++17", "-Wall", "-Wextra", "-O1", "-pthread",
                *os.environ.get("LIGAMENT_TEST_CFLAGS", "").split()]
    compiled(["g++", *warnings, *INCLUDES, DRIVERS / f"{name}.cpp", "-o", f"{name}-cpp", *LIBRARY], folder)
    return [str(folder / f"{name}-cpp")]


def python(name, _):
    return [sys.executable, str(DRIVERS / f"{name}.py")]


def rust(name, _):
    # `cargo test` builds the drivers in Rust as examples, so they are not compiled again here.
    return [str(rust_examples.example(f"conformance-{name}"))]


def fortran(name, folder):
    source = ROOT / "bindings" / "fortran" / "src"
    warnings = ["-Wall", "-Wextra", "-O1"]
    compiled(["gcc", *warnings, *INCLUDES, "-c", source / "ligament_descriptors.c"], folder)
    compiled(["gfortran", "-std=f2018", "-cpp", *warnings, f"-I{DRIVERS}", source / "ligament.f90",
              DRIVERS / f"{name}.f90", "ligament_descriptors.o", "-o", f"{name}-fortran", *LIBRARY], folder)
    return [str(folder / f"{name}-fortran")]


def java(name, folder):
    binding = ROOT / "bindings" / "java"
    jdk = Path(subprocess.run([binding / "jdk"], check=True, capture_output=True, text=True).stdout.strip())
    compiled([binding / "build", folder / "ligament.jar"], folder)
    compiled([jdk / "bin/javac", "--release", "22", "-Xlint:all", "-Werror", "-cp", "ligament.jar", "-d",
              "classes",
              DRIVERS / f"{name.capitalize()}.java"], folder)
    # The run sets the path of the library.
    path = f"{folder / 'ligament.jar'}:{folder / 'classes'}"
    return [str(jdk / "bin/java"), "--enable-native-access=ALL-UNNAMED", "-cp", path, name.capitalize()]


LANGUAGES = {"c": c, "cpp": cpp, "fortran": fortran, "java": java, "python": python, "rust": rust}
SUFFIXES = {"c": ".c", "cpp": ".cpp", "fortran": ".f90", "java": ".java", "python": ".py", "rust": ".rs"}


def sources(language):
    """Returns the sources of the two programs of a language, without comments."""
    found = [path for path in sorted(DRIVERS.iterdir()) if path.suffix == SUFFIXES[language]]
    assert len(found) == 2, found
    comment = {".f90": r"![^'\n]*$", ".py": r"#.*$|^\s*\"\"\"(?:.|\n)*?\"\"\""}.get(SUFFIXES[language],
                                                                                    r"//.*$|/\*(?:.|\n)*?\*/")
    return "\n".join(re.sub(comment, "", path.read_text(), flags=re.M) for path in found)
