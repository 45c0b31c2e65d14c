"""All programs that pass the token: their tuning, build and start.

A program has a name like "openmpi/cma"; the part before the slash is its family. All are compiled with the same
flags.
"""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from lib import mpi
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "oversubscribed"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-D_GNU_SOURCE", "-Wall", "-Wextra"]


@dataclass(frozen=True)
class Program:
    """A competitor. `tuning` lists its tuning for the reader, and is part of the result."""

    name: str
    tuning: str
    options: tuple = ()  # of the launcher
    environment: dict = field(default_factory=dict)
    # True if the program waits without yielding. Its laps take seconds, so it is measured less often.
    spins: bool = False

    @property
    def family(self):
        return self.name.split("/")[0]


def _open_mpi(name, tuning, pairs, options=()):
    words = mpi.mca(mpi_yield_when_idle=1, **pairs)
    return Program(f"openmpi/{name}", f"mpi_yield_when_idle; {tuning}", (*words, *options))


VADER = {"pml": "ob1", "btl": "self,vader"}
EAGER = dict.fromkeys(("btl_vader_eager_limit", "btl_vader_rndv_eager_limit", "btl_vader_max_send_size"),
                      1 << 17)
UCX = {"pml": "ucx", "pml_ucx_tls": "any", "pml_ucx_devices": "any"}
PROGRAMS = [
    Program("ligament", "lig_send and lig_send_array, read in place"),
    _open_mpi("cma", "vader, copies directly (CMA)", {**VADER, "btl_vader_single_copy_mechanism": "cma"}),
    _open_mpi("eager", "vader, through shared memory, eager to 128 KiB",
              {**VADER, "btl_vader_single_copy_mechanism": "none", **EAGER}),
    _open_mpi("ucx", "UCX over posix and CMA", UCX, ("-x", "UCX_TLS=posix,cma,self")),
    Program("mpich", "UCX over posix and CMA; has no way to make it yield", (), {"UCX_TLS": "posix,cma,self"},
            True),
    Program("bare/yield", "shared memory, sched_yield until the token is there"),
    Program("bare/futex", "shared memory, sleeps at once"),
    Program("bare/spin", "shared memory, looks for 36 µs, then sleeps"),
]


def named(name):
    return next(program for program in PROGRAMS if program.name == name)


def missing(programs):
    """Returns one sentence for each missing thing that these programs need, with the way to install it."""
    families = {program.family for program in programs}
    found = [] if shutil.which("gcc") else ["gcc is missing; install it with: apt-get install build-essential"]
    found += mpi.missing(families)
    return found + (Ligament().missing() if "ligament" in families else [])


def build(programs):
    """Compiles what these programs need into build/benchmarks/oversubscribed."""
    OUT.mkdir(parents=True, exist_ok=True)
    for family in sorted({program.family for program in programs}):
        compiler, source, more = {
            "ligament": ("gcc", "ligament.c", Ligament().flags),
            "bare": ("gcc", "bare.c", list),
        }.get(family, (f"mpicc.{family}", "mpi.c", list))
        run([compiler, *FLAGS, HERE / source, "-o", OUT / f"ring_{family}", *more()], seconds=120)


def _model(folder, processes):
    """Returns a model of a ring. Its components differ only in their argument."""
    ring = range(processes)
    lines = ["ymmsl_version: v0.1", "model:", "  name: ring", "  components:"]
    lines += [f"    p{i}: {{implementation: p{i}, ports: {{o_i: out, s: in}}}}" for i in ring]
    lines += ["  conduits:", *(f"    p{i}.out: p{(i + 1) % processes}.in" for i in ring), "implementations:"]
    lines += [f"  p{i}: {{executable: {OUT / 'ring_ligament'}, args: ['{i}']}}" for i in ring]
    file = folder / "ring.ymmsl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def command(program, processes, scratch):
    """Returns the command line of a program. `scratch` is an empty folder for its files."""
    if program.family in mpi.TITLES:
        return [*mpi.launcher(program.family, processes, program.options), OUT / f"ring_{program.family}"]
    if program.family == "bare":
        return [OUT / "ring_bare", program.name.split("/")[1]]
    return [Ligament().command, "run", _model(scratch, processes), "--run-dir", scratch / "run", "--quiet"]


def play(program, processes, plan, cores, scratch, seconds):
    """Runs a ring with its plan, [(kind, bytes, amount, laps)] as ring.h reads it. Returns the output of each
    position."""
    out, page = scratch / "result", scratch / "page"
    page.write_bytes(bytes(4096))
    environment = {
        **program.environment,
        **mpi.ENVIRONMENT,
        "RING_PLAN": "".join(" ".join(map(str, stage)) + ";" for stage in plan),
        "RING_COUNT": str(processes),
        "RING_OUT": str(out),
        "RING_PAGE": str(page),
    }
    words = command(program, processes, scratch)
    output = run(words, seconds=seconds, environment=environment, folder=scratch, cores=cores)
    files = [out.with_suffix(f".{position}") for position in range(processes)]
    if not all(file.exists() for file in files):
        raise CannotMeasure(f"{words[0]} left no results of all {processes} positions:\n{output[-2000:]}")
    return [file.read_text(encoding="utf-8").splitlines() for file in files]
