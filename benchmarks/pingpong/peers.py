"""Every program that the ping-pong compares: how it is built, tuned and started, and what it needs.

A program has a name like "openmpi/cma"; the part before the slash is its family. All C programs are compiled with
the same flags.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from lib.machine import BUILD, REPOSITORY, CannotMeasure, first_line, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "pingpong"
VENV = BUILD / "venv"
MUSCLE3 = "0.11.0"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-D_GNU_SOURCE", "-Wall", "-Wno-unused-function"]
DEBIAN = "openmpi-bin libopenmpi-dev mpich libmpich-dev libzmq3-dev"
BOTH = ("plain", "worked")
ALL = ("plain", "worked", "echo")


@dataclass(frozen=True)
class Program:
    """One competitor. `tuning` is what an expert set, for the reader; it is part of the result."""

    name: str
    label: str
    modes: tuple
    tuning: str = ""
    options: tuple = ()  # of the launcher
    environment: dict = field(default_factory=dict)
    latency: float = 1e-7  # about; seconds one way, to choose how many rounds are worth their time
    per_byte: float = 2e-10
    most_repetitions: int = 99
    empty_only: bool = False

    @property
    def family(self):
        return self.name.split("/")[0]


def _open_mpi(name, tuning, *pairs, options=()):
    mca = [word for key, value in pairs for word in ("--mca", key, value)]
    return Program(f"openmpi/{name}", f"Open MPI, {tuning}", ALL, tuning, (*mca, *options))


def _mpich(name, tuning, **environment):
    return Program(f"mpich/{name}", f"MPICH, {tuning}", ALL, tuning, (), environment)


OB1 = (("pml", "ob1"), ("btl", "self,vader"))
NO_CMA = ("btl_vader_single_copy_mechanism", "none")
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
    _open_mpi("cma", "vader, copies directly (CMA)", *OB1, ("btl_vader_single_copy_mechanism", "cma")),
    _open_mpi("copy", "vader, through shared memory", *OB1, NO_CMA),
    _open_mpi(
        "eager",
        "vader, through shared memory, eager to 64 KiB",
        *OB1,
        NO_CMA,
        ("btl_vader_eager_limit", "65536"),
        ("btl_vader_rndv_eager_limit", "65536"),
        ("btl_vader_max_send_size", "65536"),
    ),
    _open_mpi(
        "ucx",
        "UCX over posix and CMA",
        ("pml", "ucx"),
        ("pml_ucx_tls", "any"),
        ("pml_ucx_devices", "any"),
        options=("-x", "UCX_TLS=posix,cma,self"),
    ),
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
    Program("file", "file in memory", ALL, "pwrite, pread, a count in shared memory", latency=1e-6, most_repetitions=3),
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


# ---- what is needed ------------------------------------------------------------------------------------------
def _debian(what):
    return f"{what} is missing; install it with: apt-get install {DEBIAN}"


def missing(programs):
    """One sentence for each thing that these programs need and that is not here, with how to install it."""
    families = {program.family for program in programs}
    found = []
    if not shutil.which("gcc"):
        found.append("gcc is missing; install it with: apt-get install build-essential")
    for family, title in (("openmpi", "Open MPI"), ("mpich", "MPICH")):
        if family in families and not (shutil.which(f"mpicc.{family}") and shutil.which(f"mpirun.{family}")):
            found.append(_debian(f"{title} (mpicc.{family}, mpirun.{family})"))
    if "zeromq" in families and shutil.which("gcc"):
        probe = subprocess.run(["gcc", "-E", "-include", "zmq.h", "-xc", "/dev/null"], capture_output=True, check=False)
        if probe.returncode:
            found.append(_debian("ZeroMQ's header zmq.h"))
    if "ligament" in families:
        found += Ligament().missing(python=any(program.name == "ligament/python" for program in programs))
    return found


class Ligament:
    """Where this project's own build is: LIGAMENT_PREFIX as `make install` fills it, or this repository's build."""

    def __init__(self):
        prefix = os.environ.get("LIGAMENT_PREFIX")
        if prefix:
            root = Path(prefix)
            self.command, self.library, self.headers = root / "bin/ligament", root / "lib", root / "include"
        else:
            target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
            self.command, self.library = target / "ligament", target
            self.headers = REPOSITORY / "crates/capi/include"

    def missing(self, python):
        files = [self.command, self.library / "libligament.so", self.headers / "ligament.h"]
        absent = [f"{file} is missing; build Ligament first: make build" for file in files if not file.exists()]
        if python and not absent:
            ensure_venv()
            absent += self._python()
        return absent

    def _python(self):
        """The Python package goes into the benchmark's own environment, from the wheel that `make build` made."""
        wheels = sorted((REPOSITORY / "target/wheels").glob("ligament-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
        if wheels:
            run([VENV / "bin/pip", "install", "-q", "--no-deps", "--force-reinstall", wheels[-1]], seconds=120)
        try:
            run([VENV / "bin/python", "-c", "import ligament"], seconds=60)
        except CannotMeasure:
            return [
                f"the Python package ligament is missing in {VENV} and in target/wheels; build it first: make build"
            ]
        return []


def ensure_venv():
    """A Python environment with MUSCLE 3 and NumPy, made once under build/."""
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


def build(programs):
    """Compiles what these programs need into build/benchmarks/pingpong."""
    OUT.mkdir(parents=True, exist_ok=True)
    names = {program.name for program in programs}
    families = {program.family for program in programs}
    _compile("gcc", "line.c", "libline.so", "-shared", "-fPIC")
    _compile("gcc", "bare.c", "bare_inline", "-DBARE_INLINE")  # always: it tells where the cores are
    for kind in ("one", "two", "loan"):
        if f"bare/{kind}" in names:
            _compile("gcc", "bare.c", f"bare_{kind}", f"-DBARE_{kind.upper()}")
        way = {"one": "view", "two": "into", "loan": "loan"}[kind]
        if f"ligament/{way}" in names:
            where = Ligament()
            _compile(
                "gcc", "ligament.c", f"ligament_{way}", f"-DLIGAMENT_{way.upper()}", f"-I{where.headers}",
                f"-L{where.library}", f"-Wl,-rpath,{where.library}", "-lligament", "-lm",
            )  # fmt: skip
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
    """The model file with its two programs, and the folder of its run."""
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
    """The command line of a program; `scratch` is an empty folder for whatever it leaves behind."""
    name = program.name
    python = VENV / "bin/python"
    if program.family == "openmpi":
        return ["mpirun.openmpi", "--bind-to", "none", "-np", "2", *program.options, OUT / "mpi_openmpi"]
    if program.family == "mpich":
        return ["mpirun.mpich", "-bind-to", "none", "-np", "2", OUT / "mpi_mpich"]
    if name in ("muscle3", "ligament/python"):
        model = _model(scratch, python, [HERE / f"peer_{program.family}.py"])
    elif program.family == "ligament":
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
    """The versions of what is measured, as far as these programs are in it."""
    families = {program.family for program in programs}
    asked = {
        "openmpi": ("Open MPI", ["mpirun.openmpi", "--version"]),
        "mpich": ("MPICH", ["mpichversion"]),
        "zeromq": ("ZeroMQ", ["pkg-config", "--modversion", "libzmq"]),
    }
    found = {title: first_line(*words) for family, (title, words) in asked.items() if family in families}
    if "ligament" in families:
        found["Ligament"] = first_line(str(Ligament().command), "--version")
    if families & {"muscle3"} or any(program.name.endswith("/python") for program in programs):
        script = (
            "import sys, importlib.metadata as m;"
            "print(sys.version.split()[0], m.version('numpy'), m.version('muscle3'))"
        )
        words = run([VENV / "bin/python", "-c", script], seconds=60).split()
        found.update(zip(("Python", "NumPy", "MUSCLE 3"), words))
    return found
