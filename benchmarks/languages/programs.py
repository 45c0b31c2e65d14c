"""The ping-pong in each language: its build, its start, and its requirements."""

import os
import shutil
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, first_line, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "languages"
FLAGS = ["-O3", "-march=native", "-Wall"]
LANGUAGES = {"c": "C", "cpp": "C++", "rust": "Rust", "fortran": "Fortran", "java": "Java", "python": "Python"}
NEEDS = {"c": "gcc", "cpp": "g++", "rust": "cargo", "fortran": "gfortran"}
PACKAGES = {"gcc": "build-essential", "g++": "g++", "gfortran": "gfortran", "cargo": "cargo"}
PYTHON = REPOSITORY / ".venv/bin/python"
JAR = REPOSITORY / "bindings/java/target/ligament.jar"

# A package of its own, outside the workspace of the project.
MANIFEST = """[package]
name = "ping"
version = "0.1.0"
edition = "2021"

[[bin]]
name = "ping"
path = "{here}/ping.rs"

[dependencies]
ligament-instance = {{ path = "{repository}/crates/instance" }}

[profile.release]
lto = true
codegen-units = 1
panic = "abort"

[workspace]
"""


def jdk():
    return Path(run([REPOSITORY / "bindings/java/jdk"], seconds=30).strip())


def missing(languages):
    """Returns one sentence for each missing thing, with the way to get it."""
    found = list(Ligament().missing())
    for language in languages:
        program = NEEDS.get(language)
        if program and not shutil.which(program):
            found.append(f"{program} is missing; install it with: apt-get install {PACKAGES[program]}")
    if "java" in languages:
        try:
            jdk()
        except CannotMeasure:
            found.append("a JDK of version 22 or newer is missing; set JAVA_HOME to one")
        if not JAR.exists():
            found.append(f"{JAR} is missing; build it first: make build")
    if "python" in languages and not PYTHON.exists():
        found.append(f"{PYTHON} is missing; build it first: make build")
    return found


def build(languages):
    """Compiles the programs into build/benchmarks/languages."""
    OUT.mkdir(parents=True, exist_ok=True)
    flags = Ligament().flags()
    fortran = REPOSITORY / "bindings/fortran/src"
    commands = {
        "c": ["gcc", "-std=gnu11", *FLAGS, HERE / "ping.c", "-o", OUT / "ping_c", *flags],
        "cpp": ["g++", "-std=c++17", *FLAGS, HERE / "ping.cpp", "-o", OUT / "ping_cpp",
                f"-I{REPOSITORY / 'bindings/cpp/include'}", *flags],
        "fortran": ["gfortran", *FLAGS, f"-J{OUT}", fortran / "ligament.f90",
                    fortran / "ligament_descriptors.c",
                    HERE / "ping.f90", "-o", OUT / "ping_fortran", *flags],
    }
    for language, words in commands.items():
        if language in languages:
            run(words, seconds=300, folder=fortran if language == "fortran" else OUT)
    if "rust" in languages:
        package = OUT / "rust"
        package.mkdir(exist_ok=True)
        (package / "Cargo.toml").write_text(MANIFEST.format(here=HERE, repository=REPOSITORY), encoding="utf-8")
        # The lock file of the project pins the versions with which it has been tested.
        shutil.copy(REPOSITORY / "Cargo.lock", package)
        run(["cargo", "build", "--release", "--quiet"], seconds=900, folder=package,
            environment={"CARGO_TARGET_DIR": str(OUT / "target"), "RUSTFLAGS": "-C target-cpu=native"})
        shutil.copy(OUT / "target/release/ping", OUT / "ping_rust")
    if "java" in languages:
        run([jdk() / "bin/javac", "-cp", JAR, "-d", OUT, HERE / "Ping.java"], seconds=120)


def words(language):
    """Returns the command that starts the program in a language, without its arguments."""
    if language == "java":
        access = "--enable-native-access=ALL-UNNAMED"
        # Each side has one core, so the JVM gets one thread for garbage collection.
        return [jdk() / "bin/java", access, "-XX:+UseSerialGC", "-cp", f"{JAR}:{OUT}", "Ping"]
    if language == "python":
        return [PYTHON, HERE / "ping.py"]
    return [OUT / f"ping_{language}"]


def _model(folder, language, bytes_, rounds, cores):
    lines = ["ymmsl_version: v0.1", "model:", "  name: ping", "  components:"]
    lines += [f"    {side}: {{implementation: {side}, ports: {{o_i: out, s: in}}}}" for side in "ab"]
    lines += ["  conduits:", "    a.out: b.in", "    b.out: a.in", "implementations:"]
    for side, core in zip("ab", cores):
        arguments = ["-c", core, *words(language), side, bytes_, rounds, folder / "times"]
        listed = ", ".join(f"'{argument}'" for argument in arguments)
        lines.append(f"  {side}: {{executable: taskset, args: [{listed}]}}")
    file = folder / "ping.ymmsl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def play(language, bytes_, rounds, cores, scratch):
    """Runs a language with itself. Returns every round trip in ns."""
    model = _model(scratch, language, bytes_, rounds, cores)
    environment = {"LD_LIBRARY_PATH": str(Ligament().library), "LIGAMENT_LIBRARY": str(Ligament().library)}
    run([Ligament().command, "run", model, "--run-dir", scratch / "run", "--quiet"], seconds=120,
        environment=environment, folder=scratch)
    times = [int(line) for line in (scratch / "times").read_text(encoding="utf-8").split()]
    if len(times) != rounds:
        raise CannotMeasure(f"{language} measured {len(times)} of {rounds} round trips")
    return times


def versions(languages):
    """Returns the versions of the compilers and virtual machines."""
    found = {"ligament": Ligament().version()}
    commands = {"c": ("gcc", "--version"), "fortran": ("gfortran", "--version"), "rust": ("rustc", "--version"),
                "python": (str(PYTHON), "--version")}
    for language, command in commands.items():
        if language in languages:
            found[LANGUAGES[language]] = first_line(*command)
    if "java" in languages:
        found["Java"] = first_line(str(jdk() / "bin/java"), "-version")
    return found


def cores_here():
    return sorted(os.sched_getaffinity(0))[:2]
