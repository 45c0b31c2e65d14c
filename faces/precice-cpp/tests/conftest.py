"""An installation of Ligament and of the face over it, the programs of the tests, and runs of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
FACE = HERE.parent
ROOT = HERE.parents[2]
PYTHON_FACE = ROOT / "faces/precice-python"
PATHS = [str(PYTHON_FACE), str(PYTHON_FACE / "tests"), str(ROOT / "examples/oscillator")]
sys.path[:0] = [str(ROOT / "bindings/c/tests"), *PATHS]
from fixtures import prefix  # noqa: E402, F401

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O0"]
LANGUAGES = {"mass.cpp": ["g++", "-std=c++14"], "mass.c": ["gcc", "-std=c99"],
             "field.cpp": ["g++", "-std=c++17"], "access.cpp": ["g++", "-std=c++14"],
             "access.c": ["gcc", "-std=c99"], "parts.cpp": ["g++", "-std=c++14"]}


@pytest.fixture(scope="session")
def face(prefix, tmp_path_factory):  # noqa: F811
    """The folder in which the face is installed."""
    folder = tmp_path_factory.mktemp("face")
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    places = [f"PREFIX={folder / 'precice'}", f"BUILD={folder / 'build'}"]
    command = ["make", "--silent", "-j2", "-C", FACE, "install", *places, "CXXFLAGS=-O0 -g -Werror"]
    subprocess.run(command, env=environment, check=True)
    return folder / "precice"


@pytest.fixture(scope="session")
def program(face, prefix, tmp_path_factory):  # noqa: F811
    """Gives the program that is made of a source file of this folder."""
    made = {}

    def program(source):
        if source not in made:
            made[source] = tmp_path_factory.mktemp("programs") / source.replace(".", "_")
            environment = os.environ | {"PKG_CONFIG_PATH": str(face / "lib" / "pkgconfig")}
            flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libprecice"], env=environment,
                                   check=True, capture_output=True, text=True).stdout.split()
            places = [f"-Wl,-rpath,{face / 'lib'}", f"-Wl,-rpath-link,{prefix / 'lib'}", "-lm"]
            subprocess.run([*LANGUAGES[source], *WARNINGS, HERE / source, "-o", made[source], *flags, *places],
                           check=True)
        return made[source]

    return program


@pytest.fixture
def coupled(prefix, tmp_path):  # noqa: F811
    """Converts the text of a configuration, and runs it with a command for each participant."""
    from precice.convert import main

    def coupled(text, samples=1, **programs):
        configuration, model = tmp_path / "precice-config.xml", tmp_path / "model.ymmsl"
        configuration.write_text(text)
        words = [word for name, command in programs.items()
                 for word in ("--program", f"{name.replace('_', '-')}={command}")]
        assert main([str(configuration), "-o", str(model), "--samples", str(samples), *words]) == 0
        environment = os.environ | {"PYTHONPATH": ":".join(PATHS)}
        command = [prefix / "bin/ligament", "run", model, "--run-dir", tmp_path / "run", "--overcommit"]
        return subprocess.run(command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)

    return coupled
