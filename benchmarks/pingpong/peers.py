"""All programs that the ping-pong compares: their build, tuning, start and requirements.

A program has a name like "openmpi/cma"; the part before the slash is its family. All C programs are compiled
with the same flags.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lib import mpi
from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, first_line, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "pingpong"
VENV = BUILD / "venv"
MUSCLE3 = "0.11.0"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-D_GNU_SOURCE", "-Wall", "-Wno-unused-function"]
DEBIAN = f"{mpi.PACKAGES} libzmq3-dev"
BOTH = ("plain", "worked")
ALL = ("plain", "worked", "echo")


@dataclass(frozen=True)
class Program:
    """A competitor. `tuning` lists its tuning for the reader, and is part of the result."""

    name: str
    label: str
    modes: tuple
    tuning: str = ""
    options: tuple = ()  # of the launcher
    environment: dict = field(default_factory=dict)
    latency: float = 1e-7  # approximate seconds in one direction, which determine the number of rounds
    per_byte: float = 2e-10
    most_repetitions: int = 99
    empty_only: bool = False

    @property
    def family(self):
        return self.name.split("/")[0]


def _open_mpi(name, tuning, pairs, options=()):
    return Program(f"openmpi/{name}", f"Open MPI, {tuning}", ALL, tuning, (*mpi.mca(**pairs), *options))


def _mpich(name, tuning, **environment):
    return Program(f"mpich/{name}", f"MPICH, {tuning}", ALL, tuning, (), environment)


OB1 = {"pml": "ob1", "btl": "self,vader"}
NO_CMA = {**OB1, "btl_vader_single_copy_mechanism": "none"}
EAGER = dict.fromkeys(("btl_vader_eager_limit", "btl_vader_rndv_eager_limit", "btl_vader_max_send_size"), 65536)
UCX = {"pml": "ucx", "pml_ucx_tls": "any", "pml_ucx_devices": "any"}
PROGRAMS = [
    Program("ligament/view", "Ligament: send, view", ALL, "lig_send_array, read in place"),
    Program("ligament/into", "Ligament: receive_into", ALL, "lig_send_array, lig_receive_into"),
    Program("ligament/loan", "Ligament: loans", ("worked",), "lig_loan_create, lig_send_loan, read in place"),
    Program("ligament/python", "Ligament: Python", ("plain",), "send, receive; NumPy views", latency=2e-6),
    Program("bare/inline", "bare line", ("plain",), "one cache line each way", empty_only=True),
    Program("bare/one", "bare, one copy", ALL, "memcpy into shared memory, read there"),
    Program("bare/two", "bare, two copies", ALL, "memcpy into shared memory, memcpy out of it"),
    Program("bare/loan", "bare, no copy", ("worked",), "written and read in shared memory"),
    Program("bare/python", "bare, Python", ("plain",), "numpy.copyto into shared memory", latency=1e-6),
    _open_mpi("cma", "vader, copies directly (CMA)", {**OB1, "btl_vader_single_copy_mechanism": "cma"}),
    _open_mpi("copy", "vader, through shared memory", NO_CMA),
    _open_mpi("eager", "vader, through shared memory, eager to 64 KiB", {**NO_CMA, **EAGER}),
    _open_mpi("ucx", "UCX over posix and CMA", UCX, options=("-x", "UCX_TLS=posix,cma,self")),
    _mpich("cma", "UCX over posix and CMA", UCX_TLS="posix,cma,self"),
    _mpich("copy", "UCX over posix, no CMA", UCX_TLS="posix,self"),
    _mpich("eager", "UCX over posix, always eager", UCX_TLS="posix,self", UCX_RNDV_THRESH="inf"),
    Program(
        "zeromq",
        "ZeroMQ, ipc",
        ALL,
        "PAIR sockets, zmq_send, read in place",
        latency=4e-5,
        per_byte=1e-9,
        most_repetitions=3,
    ),
    Program("file", "file in memory", ALL, "pwrite, pread, a count in shared memory", latency=1e-6,
            most_repetitions=3),
    Program(
        "muscle3",
        f"MUSCLE 3 ({MUSCLE3}), Python",
        ("plain",),
        "muscle_manager, Python components",
        latency=3e-4,
        per_byte=5.5e-9,
        most_repetitions=3,
    ),
]
# Measured only if the user names it: a library that does not count messages and does not check for taps.
BY_NAME = [Program("unwatched/view", "Ligament without rows", ("plain",),
                   "as ligament/view, without rows and looks")]


# ---- what is needed ------------------------------------------------------------------------------------------
def missing(programs):
    """Returns one sentence for each missing thing that these programs need, with the way to install it."""
    families = {program.family for program in programs}
    found = []
    if not shutil.which("gcc"):
        found.append("gcc is missing; install it with: apt-get install build-essential")
    found += mpi.missing(families, DEBIAN)
    if "zeromq" in families and shutil.which("gcc"):
        probe = subprocess.run(["gcc", "-E", "-include", "zmq.h", "-xc", "/dev/null"], capture_output=True,
                               check=False)
        if probe.returncode:
            found.append(f"ZeroMQ's header zmq.h is missing; install it with: apt-get install {DEBIAN}")
    if families & {"ligament", "unwatched"}:
        absent = Ligament().missing()
        if not absent and any(program.name == "ligament/python" for program in programs):
            absent = _python_missing()
        found += absent
    return found


def _python_missing():
    """Installs the Python package from the wheel of `make build` into the environment of the benchmark."""
    ensure_venv()
    wheels = sorted((REPOSITORY / "target/wheels").glob("ligament_coupling-*.whl"),
                    key=lambda wheel: wheel.stat().st_mtime)
    if wheels:
        run([VENV / "bin/pip", "install", "-q", "--no-deps", "--force-reinstall", wheels[-1]], seconds=120)
    try:
        run([VENV / "bin/python", "-c", "import ligament"], seconds=60)
    except CannotMeasure:
        return [
            f"the Python package ligament-coupling is missing in {VENV} and in target/wheels; build it first: "
            f"make build"]
    return []


def ensure_venv():
    """Makes a Python environment with MUSCLE 3 and NumPy once under build/."""
    stamp = VENV / f"muscle3-{MUSCLE3}"
    if stamp.exists():
        return
    try:
        run([sys.executable, "-m", "venv", "--clear", VENV], seconds=120)
        run([VENV / "bin/pip", "install", "-q", f"muscle3=={MUSCLE3}", "numpy"], seconds=600)
    except CannotMeasure as problem:
        raise CannotMeasure(
            f"cannot make the Python environment {VENV} with muscle3=={MUSCLE3}; it needs python3-venv "
            f"(apt-get install python3-venv) and PyPI:\n{problem}"
        ) from None
    stamp.touch()


# ---- building ------------------------------------------------------------------------------------------------
def _compile(compiler, source, name, *more):
    run([compiler, *FLAGS, HERE / source, "-o", OUT / name, *more], seconds=120)


def _unwatched():
    """Builds the library without counters and taps from this repository. Returns the flags for compiling
    against it."""
    target = OUT / "unwatched"
    flags = f"{os.environ.get('RUSTFLAGS', '')} --cfg ligament_unwatched".strip()
    run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "ligament-capi"], seconds=1800,
        folder=REPOSITORY,
        environment={"CARGO_TARGET_DIR": str(target), "RUSTFLAGS": flags})
    library = target / "release"
    return [f"-I{REPOSITORY}/crates/capi/include", f"-L{library}", f"-Wl,-rpath,{library}", "-lligament"]


def build(programs):
    """Compiles what these programs need into build/benchmarks/pingpong."""
    OUT.mkdir(parents=True, exist_ok=True)
    names = {program.name for program in programs}
    families = {program.family for program in programs}
    _compile("gcc", "line.c", "libline.so", "-shared", "-fPIC")
    # always, because it measures the distance of the cores
    _compile("gcc", "bare.c", "bare_inline", "-DBARE_INLINE")
    for kind in ("one", "two", "loan"):
        if f"bare/{kind}" in names:
            _compile("gcc", "bare.c", f"bare_{kind}", f"-DBARE_{kind.upper()}")
        way = {"one": "view", "two": "into", "loan": "loan"}[kind]
        if f"ligament/{way}" in names:
            _compile("gcc", "ligament.c", f"ligament_{way}", f"-DLIGAMENT_{way.upper()}", *Ligament().flags(),
                     "-lm")
    if "unwatched/view" in names:
        _compile("gcc", "ligament.c", "unwatched_view", "-DLIGAMENT_VIEW", *_unwatched(), "-lm")
    for family in ("openmpi", "mpich"):
        if family in families:
            _compile(f"mpicc.{family}", "mpi.c", f"mpi_{family}")
    if "zeromq" in families:
        _compile("gcc", "zeromq.c", "zeromq", "-lzmq")
    if "file" in families:
        _compile("gcc", "file.c", "file")
    if families & {"muscle3"} or names & {"bare/python", "ligament/python"}:
        ensure_venv()


# ---- starting ------------------------------------------------------------------------------------------------
def _model(folder, executable, arguments):
    """Writes the model file with its two programs. Returns its path and the folder of its run."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [(HERE / "pingpong.ymmsl").read_text(encoding="utf-8"), "programs:"]
    for component, side in (("ping", "a"), ("pong", "b")):
        words = ", ".join(f"'{word}'" for word in [*arguments, side])
        lines += [
            f"  {component}:",
            f"    description: Side {side.upper()}",
            "    ports: {o_i: out, s: in}",
            "    base_env: manager",
            f"    executable: {executable}",
            f"    args: [{words}]",
        ]
    lines += ["resources:", "  ping: {threads: 1}", "  pong: {threads: 1}", ""]
    file = folder / "pingpong.ymmsl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def command(program, scratch):
    """Returns the command line of a program. `scratch` is an empty folder for its files."""
    name = program.name
    python = VENV / "bin/python"
    if program.family in mpi.TITLES:
        return [*mpi.launcher(program.family, 2, program.options), OUT / f"mpi_{program.family}"]
    if name in ("muscle3", "ligament/python"):
        model = _model(scratch, python, [HERE / f"peer_{program.family}.py"])
    elif program.family in ("ligament", "unwatched"):
        model = _model(scratch, OUT / name.replace("/", "_"), [])
    elif name == "bare/python":
        return [python, HERE / "peer_bare.py"]
    else:
        return [OUT / name.replace("/", "_")]
    run_folder = scratch / "run"
    if program.family == "muscle3":
        run_folder.mkdir()
        return [VENV / "bin/muscle_manager", "--start-all", "--run-dir", run_folder, model]
    return [Ligament().command, "run", model, "--run-dir", run_folder]


def versions(programs):
    """Returns the versions of the measured programs among these."""
    families = {program.family for program in programs}
    found = mpi.versions(families)
    if "zeromq" in families:
        found["ZeroMQ"] = first_line("pkg-config", "--modversion", "libzmq")
    if "ligament" in families:
        found["Ligament"] = Ligament().version()
    if families & {"muscle3"} or any(program.name.endswith("/python") for program in programs):
        script = (
            "import sys, importlib.metadata as m;"
            "print(sys.version.split()[0], m.version('numpy'), m.version('muscle3'))"
        )
        words = run([VENV / "bin/python", "-c", script], seconds=60).split()
        found.update(zip(("Python", "NumPy", "MUSCLE 3"), words))
    return found
