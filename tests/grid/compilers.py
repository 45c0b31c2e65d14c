"""Compiles the programs of these tests against the library that was built."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "target/release"
INCLUDES = [f"-I{ROOT}/bindings/cpp/include", f"-I{ROOT}/crates/capi/include"]
LIBRARY = [TARGET / "libligament.so", f"-Wl,-rpath,{TARGET}"]
FORTRAN = [ROOT / "bindings/fortran/src" / name for name in ("ligament.f90", "ligament_descriptors.c")]


def compiled(words, source, program):
    """Compiles a file in C or C++. `words` are the compiler and its options."""
    subprocess.run([*words, *INCLUDES, source, "-o", program, *LIBRARY], check=True)
    return str(program)


def compiled_fortran(options, source, program):
    """Compiles a file in Fortran together with the binding."""
    subprocess.run(["gfortran", *options, "-J", program.parent, *INCLUDES, *FORTRAN, source, "-o", program,
                    *LIBRARY], check=True)
    return str(program)
