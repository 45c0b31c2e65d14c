"""Common parts of the tests of the C and C++ faces: an installation from the build tree, compilers, and runs
with a watchdog."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
C = ["gcc", "-std=c11", "-g", "-O1", *WARNINGS]
CPP = ["g++", "-std=c++17", "-g", "-O1", "-Wconversion", *WARNINGS]


def built():
    """The directory into which Cargo has put its results."""
    return Path(os.environ.get("LIGAMENT_BUILT", ROOT / "target" / "release"))


def install(prefix):
    """Makes an installation under `prefix`, as `make install` does."""
    subprocess.run([ROOT / "packaging" / "install.sh", prefix, built()], check=True)
    return prefix


def flags(prefix):
    """Returns the flags that pkg-config gives for the installation, to compile and to link."""
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}

    def ask(what):
        done = subprocess.run(
            ["pkg-config", what, "ligament"], env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.split()

    return ask("--cflags"), ask("--libs")


def compile_program(prefix, source, program):
    """Compiles one C or C++ file against an installation. tests/sanitizers/run adds compiler flags, and a
    program under which the compiled one runs."""
    source = Path(source)
    compiler = C if source.suffix == ".c" else CPP
    cflags, libs = flags(prefix)
    more = os.environ.get("LIGAMENT_TEST_CFLAGS", "").split()
    libs = os.environ["LIGAMENT_TEST_LIBS"].split() if "LIGAMENT_TEST_LIBS" in os.environ else libs
    under = os.environ.get("LIGAMENT_TEST_UNDER")
    binary = program.with_suffix(".bin") if under else program
    command = [*compiler, *cflags, *more, source, "-o", binary, *libs, f"-Wl,-rpath,{prefix / 'lib'}"]
    subprocess.run(command, check=True)
    if under:
        program.write_text(f'#!/bin/sh\nexec {under} {binary} "$@"\n')
        program.chmod(0o755)
    return program


def compile_object(prefix, source, result):
    """Compiles one C or C++ file of pieces of code against an installation, without linking."""
    cflags, _ = flags(prefix)
    command = [*(C if source.suffix == ".c" else CPP), *cflags, "-Wno-unused", "-c", source, "-o", result]
    subprocess.run(command, check=True)


class Outcome:
    """A run or a program that has ended."""

    def __init__(self, status, text, directory=None):
        self.status, self.text, self.directory = status, text, directory

    def output(self):
        """The output of all instances, for error messages."""
        files = sorted(self.directory.rglob("*")) if self.directory.exists() else []
        parts = [f"--- {f}\n{f.read_text(errors='replace')}" for f in files if f.is_file()
                 and f.stat().st_size < 100000]
        return self.text + "\n".join(parts)


def run_program(program, *arguments, limit=60):
    """Runs a program outside of any run of a model."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LIGAMENT_")}
    done = subprocess.run(
        [program, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=limit,
    )
    return Outcome(done.returncode, done.stdout)


def run_model(prefix, directory, model, limit=120):
    """Runs a model, given as text, to its end with the installed command."""
    directory.mkdir(exist_ok=True)
    file = directory / "model.ymmsl"
    file.write_text(model)
    done = subprocess.run(
        [prefix / "bin" / "ligament", "run", file, "--run-dir", directory / "run"], cwd=directory,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
    )
    return Outcome(done.returncode, done.stdout, directory / "run")
