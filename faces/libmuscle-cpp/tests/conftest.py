"""An installation of Ligament and of the face over it, and the programs of the tests."""

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

__all__ = ["HERE", "run_model"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="session")
def face(prefix, tmp_path_factory):  # noqa: F811
    """The folder in which the face is installed."""
    folder = tmp_path_factory.mktemp("face")
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    places = [f"PREFIX={folder / 'libmuscle'}", f"BUILD={folder / 'build'}", f"MPICXX={mpicxx() or ''}"]
    command = ["make", "--silent", "-j2", "-C", FACE, "install", *places, "CXXFLAGS=-O0 -g -Werror"]
    subprocess.run(command, env=environment, check=True)
    return folder / "libmuscle"


def mpicxx():
    """Open MPI's compiler, if it is installed."""
    return shutil.which("mpicxx.openmpi")


@pytest.fixture(scope="session")
def program(face, prefix, tmp_path_factory):  # noqa: F811
    """Gives the program that is made of a source file of this folder, in C++14 as MUSCLE 3's are."""
    made = {}

    def program(name, package="libmuscle", compiler="g++", source=None):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("programs") / name
            environment = os.environ | {"PKG_CONFIG_PATH": str(face / "lib" / "pkgconfig")}
            found = subprocess.run(["pkg-config", "--cflags", "--libs", package, "ymmsl"], env=environment,
                                   check=True, capture_output=True, text=True)
            strict = WARNINGS if compiler == "g++" else []
            command = [compiler, "-std=c++14", "-g", "-O0", *strict, source or HERE / f"{name}.cpp"]
            places = [f"-Wl,-rpath,{face / 'lib'}", f"-Wl,-rpath-link,{prefix / 'lib'}"]
            subprocess.run([*command, "-o", made[name], *found.stdout.split(), *places], check=True)
        return made[name]

    return program
