"""Compiles the tests of the Fortran binding, and finds the files that they share with those of the C face."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "c" / "tests"))
from fixtures import prefix, program  # noqa: E402, F401
from programs import flags  # noqa: E402

STRICT = ["gfortran", "-std=f2018", "-Wall", "-Wextra", "-Werror", "-g", "-fcheck=all"]
# Comparing numbers is what tests do; and gfortran 12 wrongly finds allocatable variables without a value.
LENIENT = ["-Wno-compare-reals", "-Wno-maybe-uninitialized"]
SANITISED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


class Compiler:
    """Compiles Fortran programs against the binding as it is installed, whose objects are made once."""

    def __init__(self, prefix, directory, extra=()):
        self.prefix, self.directory, self.extra = prefix, directory, list(extra)
        sources = prefix / "share" / "ligament" / "fortran"
        cflags, self.libs = flags(prefix)
        self.objects = [directory / "ligament.o", directory / "ligament_descriptors.o"]
        for command in (
            [*STRICT, *self.extra, "-J", directory, "-c", sources / "ligament.f90", "-o", self.objects[0]],
            ["gcc", "-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
             *self.extra, *cflags,
             "-c", sources / "ligament_descriptors.c", "-o", self.objects[1]],
        ):
            subprocess.run(command, check=True)
        self.made = {}

    def __call__(self, source, *more):
        """The program of a source file; the same file only once."""
        source = Path(source)
        if source not in self.made:
            program = self.directory / f"{source.stem}-{len(self.made)}"
            command = [*STRICT, *LENIENT, *self.extra, *more, "-J", self.directory, source, *self.objects, "-o",
                       program, *self.libs,
                       f"-Wl,-rpath,{self.prefix / 'lib'}"]
            subprocess.run(command, check=True, cwd=self.directory)
            self.made[source] = program
        return self.made[source]


@pytest.fixture(scope="session")
def fortran(prefix, tmp_path_factory):  # noqa: F811
    return Compiler(prefix, tmp_path_factory.mktemp("fortran"))


@pytest.fixture(scope="session")
def sanitised(prefix, tmp_path_factory):  # noqa: F811
    return Compiler(prefix, tmp_path_factory.mktemp("sanitised"), SANITISED)
