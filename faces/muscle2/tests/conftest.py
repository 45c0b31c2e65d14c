"""An installation of Ligament and of the face over it, and programs of the tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FACE = HERE.parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "c" / "tests"))
from fixtures import prefix  # noqa: E402, F401

COMPILERS = {
    ".cpp": ["g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    ".c": ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"],
    ".f90": ["gfortran", "-fallow-argument-mismatch"],
}


@pytest.fixture(scope="session")
def ligament():
    """The command that runs the models."""
    found = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    assert found, "there is no command `ligament`; run `make build` first"
    return found


@pytest.fixture(scope="session")
def face(prefix, tmp_path_factory):  # noqa: F811
    """The folder in which the face is installed."""
    folder = tmp_path_factory.mktemp("face")
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    places = [f"PREFIX={folder / 'muscle2'}", f"BUILD={folder / 'build'}"]
    command = ["make", "--silent", "-C", FACE, "install", *places, "CXXFLAGS=-O1 -g -Werror"]
    subprocess.run(command, env=environment, check=True)
    return folder / "muscle2"


@pytest.fixture(scope="session")
def program(face, tmp_path_factory):
    """Gives the program that is made of a source file."""
    made = {}

    def program(name, source=None):
        source = source or HERE / name
        if name not in made:
            made[name] = tmp_path_factory.mktemp("programs") / source.stem
            environment = os.environ | {"PKG_CONFIG_PATH": str(face / "lib" / "pkgconfig")}
            found = subprocess.run(["pkg-config", "--cflags", "--libs", "muscle2"], env=environment, check=True,
                                   capture_output=True, text=True)
            libraries = [*found.stdout.split(), f"-Wl,-rpath,{face / 'lib'}"]
            subprocess.run([*COMPILERS[source.suffix], source, "-o", made[name], *libraries], check=True)
        return made[name]

    return program
