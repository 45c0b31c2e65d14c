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

# Java programs may call native code. A small JVM starts sooner, and the tests start many.
JVM_OPTIONS = "--enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
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


class Classes:
    """The face in Java, and the classes of the tests, as a model's class path has them."""

    def __init__(self, home, jar, folder):
        self.home, self.jar, self.classes = Path(home), jar, folder / "classes"
        sources = sorted((HERE / "java").glob("*.java"))
        self.compile(*sources)

    def compile(self, *sources):
        options = ["--release", "22", "-Xlint:all,-serial", "-Werror", "-encoding", "UTF-8"]
        subprocess.run([self.home / "bin/javac", *options, "-cp", self.jar, "-d", self.classes, *sources],
                       check=True)

    @property
    def environment(self):
        """The environment of a run: this JDK, and its options."""
        path = f"{self.home / 'bin'}:{os.environ['PATH']}"
        return os.environ | {"PATH": path, "JDK_JAVA_OPTIONS": JVM_OPTIONS}

    @property
    def path(self):
        """The lines of a cxa file for the class path."""
        return f"add_classpath '{self.jar}'\nadd_classpath '{self.classes}'\n"


@pytest.fixture(scope="session")
def java(prefix, tmp_path_factory):  # noqa: F811
    """The face in Java and the classes of the tests; skipped without a JDK."""
    done = subprocess.run([ROOT / "bindings/java/jdk"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    folder = tmp_path_factory.mktemp("java")
    # A blank and a percent sign in the path of Ligament's jar reach the class path of the face's.
    ligament_jar = folder / "50 % of all" / "ligament.jar"
    subprocess.run([ROOT / "bindings/java/build", ligament_jar], check=True)
    environment = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    subprocess.run(["make", "--silent", "-C", FACE, "java", f"BUILD={folder}", f"LIGAMENT_JAR={ligament_jar}"],
                   env=environment, check=True)
    return Classes(done.stdout.strip(), folder / "muscle2.jar", folder)
