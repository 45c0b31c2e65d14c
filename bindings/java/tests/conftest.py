"""Makes the fixtures of the C face available to the tests of the Java face, and builds the Java programs, once
a session."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "c" / "tests"))
from fixtures import prefix, program  # noqa: E402, F401


class Java:
    """A new enough JDK, the jar of the build tree, and the test programs."""

    def __init__(self, home, directory, library):
        self.home, self.directory, self.library = Path(home), directory, library
        self.jar = directory / "ligament.jar"
        self.classes = directory / "classes"
        self.class_path = f"{self.jar}:{self.classes}"
        subprocess.run([HERE.parent / "build", self.jar], check=True)
        self.compile(self.classes, *sorted((HERE / "programs").glob("*.java")))

    def compile(self, classes, *sources):
        """Compiles against the jar, without warnings."""
        subprocess.run(
            [self.home / "bin/javac", "--release", "22", "-Xlint:all,-serial", "-Werror", "-cp", self.jar, "-d",
             classes, *sources], check=True,
        )

    def command(self, name, *options, class_path=None):
        return [self.home / "bin/java", "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1",
                f"-Dligament.library={self.library}", *options, "-cp", class_path or self.class_path, name]

    def program(self, name, *options, class_path=None):
        """Makes a script that runs a class, for models."""
        words = " ".join(f"'{word}'" for word in self.command(name, *options, class_path=class_path))
        script = self.directory / f"run-{len(list(self.directory.glob('run-*')))}-{name}"
        script.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        script.chmod(0o755)
        return script


@pytest.fixture(scope="session")
def java(prefix, tmp_path_factory):
    done = subprocess.run([HERE.parent / "jdk"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return Java(done.stdout.strip(), tmp_path_factory.mktemp("java"), prefix / "lib" / "libligament.so.0")
