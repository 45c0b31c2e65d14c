"""An installation of Ligament, of the face in C++ and of this one over it, and the programs of the tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FACE = HERE.parent
sys.path.insert(0, str(HERE.parents[2] / "bindings" / "c" / "tests"))
from fixtures import prefix  # noqa: E402, F401
from programs import run_model  # noqa: E402

__all__ = ["FACE", "HERE", "run_model"]
# Comparing numbers is what tests do; and gfortran 12 wrongly finds texts without a value.
STRICT = ["-std=f2018", "-cpp", "-g", "-O0", "-fcheck=all", "-Wall", "-Werror", "-Wno-compare-reals",
          "-Wno-maybe-uninitialized", "-Wno-unused-function"]


def compilers():
    """Open MPI's compilers, if they are installed, of C++ and Fortran."""
    return shutil.which("mpicxx.openmpi"), shutil.which("mpif90.openmpi")


def package_path(*folders):
    return os.environ | {"PKG_CONFIG_PATH": ":".join(str(folder / "lib" / "pkgconfig") for folder in folders)}


@pytest.fixture(scope="session")
def face(prefix, tmp_path_factory):  # noqa: F811
    """The folder in which both faces are installed."""
    folder = tmp_path_factory.mktemp("face")
    installed = folder / "libmuscle"
    for package in (FACE.parent / "libmuscle-cpp", FACE):
        places = [f"PREFIX={installed}", f"BUILD={folder / package.name}", f"MPICXX={compilers()[0] or ''}"]
        flags = ["CXXFLAGS=-O0 -g -Werror", "FFLAGS=-O0 -g -fcheck=all -Werror"]
        command = ["make", "--silent", "-j2", "-C", package, "install", *places, *flags]
        subprocess.run(command, env=package_path(prefix, installed), check=True)
    return installed


@pytest.fixture(scope="session")
def program(face, prefix, tmp_path_factory):  # noqa: F811
    """Gives the program that is made of source files, by default those of this folder with its name."""
    made = {}

    def program(name, sources=None, package="libmuscle_fortran", compiler="gfortran"):
        if name not in made:
            folder = tmp_path_factory.mktemp("programs")
            made[name] = folder / name
            found = subprocess.run(["pkg-config", "--cflags", "--libs", package],
                                   env=package_path(face), check=True, capture_output=True, text=True)
            sources = sources or [next(HERE.glob(f"{name}.[fF]90"))]
            strict = STRICT if compiler != "g++" else ["-std=c++14", "-g", "-O0"]
            strict = [*strict, f"-I{HERE}"] + ([f"-J{folder}"] if compiler != "g++" else [])
            places = [f"-Wl,-rpath,{face / 'lib'}", f"-Wl,-rpath-link,{prefix / 'lib'}"]
            subprocess.run([compiler, *strict, *sources, "-o", made[name], *found.stdout.split(), *places],
                           check=True)
        return made[name]

    return program
