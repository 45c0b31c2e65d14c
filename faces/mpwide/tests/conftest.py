"""An installation of Ligament and of the face over it, programs of the tests, and ports for them."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FACE = HERE.parent
sys.path.insert(0, str(HERE.parents[2] / "bindings" / "c" / "tests"))
from fixtures import prefix  # noqa: E402, F401

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="session")
def face(prefix, tmp_path_factory):  # noqa: F811
    """The folder in which the face is installed."""
    folder = tmp_path_factory.mktemp("face")
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    places = [f"PREFIX={folder / 'mpwide'}", f"BUILD={folder / 'build'}"]
    command = ["make", "--silent", "-C", FACE, "install", *places, "CXXFLAGS=-O1 -g -Werror"]
    subprocess.run(command, env=environment, check=True)
    return folder / "mpwide"


@pytest.fixture(scope="session")
def program(face, tmp_path_factory):
    """Gives the program that is made of a source file of this folder."""
    made = {}

    def program(name, source=None):
        if name not in made:
            made[name] = tmp_path_factory.mktemp("programs") / name
            environment = os.environ | {"PKG_CONFIG_PATH": str(face / "lib" / "pkgconfig")}
            found = subprocess.run(["pkg-config", "--cflags", "--libs", "mpwide"], env=environment, check=True,
                                   capture_output=True, text=True)
            command = ["g++", "-std=c++17", "-g", "-O1", "-pthread", *WARNINGS, source or HERE / f"{name}.cpp"]
            libraries = [*found.stdout.split(), f"-Wl,-rpath,{face / 'lib'}"]
            subprocess.run([*command, "-o", made[name], *libraries], check=True)
        return made[name]

    return program


@pytest.fixture(scope="session")
def key(face, tmp_path_factory):
    """A key's file, as `mpwide-key` makes it."""
    file = tmp_path_factory.mktemp("key") / "path.key"
    subprocess.run([face / "bin" / "mpwide-key", file], check=True)
    return file


@pytest.fixture
def ports():
    """The first of ten ports in a row that are free."""
    for first in range(20000 + os.getpid() % 1000 * 10, 31000, 10):
        sockets = []
        try:
            for port in range(first, first + 10):
                sockets.append(socket.create_server(("", port)))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise OSError("no ten ports in a row are free")
