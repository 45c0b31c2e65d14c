"""Common parts of the tests with several processes: the command, a compiler, and a watchdog for every run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))  # for `whole`


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: only in `make test-all`; tests/run says in which suite")


@pytest.fixture(scope="session")
def ligament():
    """The command under test."""
    found = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    assert found, "there is no command `ligament`; run `make build` first"
    return found


def compiler(tmp_path_factory, *command):
    """A function that compiles a source file against the build tree with `command`, once a session."""
    made = {}

    def compile(source):
        source = Path(source)
        if source not in made:
            program = tmp_path_factory.mktemp("programs") / source.stem
            built = ROOT / "target/release"
            subprocess.run(
                [*command, "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program),
                 f"-I{ROOT}/crates/capi/include", f"-L{built}", "-lligament", f"-Wl,-rpath,{built}"],
                check=True,
            )
            made[source] = program
        return made[source]

    return compile


@pytest.fixture(scope="session")
def compile_cpp(tmp_path_factory):
    """Compiles one C++ file."""
    return compiler(tmp_path_factory, "g++", "-std=c++17", f"-I{ROOT}/bindings/cpp/include")


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory):
    """Compiles one C file."""
    return compiler(tmp_path_factory, "gcc", "-std=c11")


class Outcome:
    """A run that is over."""

    def __init__(self, status, text, directory):
        self.status, self.text, self.directory = status, text, directory

    def file(self, instance, name):
        """The text of a file that an instance left in its working directory."""
        found = list((self.directory / "instances" / instance).rglob(name))
        assert len(found) == 1, f"{name} of {instance}: {found}\n{self.text}"
        return found[0].read_text()


@pytest.fixture
def run(ligament, tmp_path):
    """Runs a model, given as text, to its end. Returns the exit status, the output, and the run directory."""
    count = 0

    def run(model, *arguments, limit=120):
        nonlocal count
        count += 1
        file = tmp_path / f"model{count}.ymmsl"
        file.write_text(model)
        directory = tmp_path / f"run{count}"
        done = subprocess.run(
            [ligament, "run", str(file), "--run-dir", str(directory), *arguments],
            cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=limit,
        )
        return Outcome(done.returncode, done.stdout, directory)

    return run


@pytest.fixture
def python_program(tmp_path):
    """Writes a component in Python, and returns its implementation as yMMSL."""

    def write(name, body):
        path = tmp_path / f"{name}.py"
        path.write_text("from ligament import *\n" + body)
        return f"{{executable: {sys.executable}, args: [{path}]}}"

    return write
