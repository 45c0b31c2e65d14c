"""All programs that exchange messages between two machines: their tuning, their build, and their start at each
end.

A program has a name like "ligament/tls"; the part before the slash is its family. All C programs are compiled
with the same flags. The machines are two network namespaces, `a` and `b`, joined by one veth.
"""

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from lib import mpi
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, first_line, run
from lib.network import SpreadRun, await_all, can_spread, open_mpi, unavailable

HERE = Path(__file__).resolve().parent
OUT = BUILD / "lan"
VENV = BUILD / "venv"
MUSCLE3 = "0.11.0"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-function"]
LATENCY, STREAM = range(2)  # the kinds of stages, as in exchange.h
PORT = 7000


@dataclass(frozen=True)
class Program:
    """A competitor. `tuning` lists its tuning for the reader, and is part of the result."""

    name: str
    tuning: str
    small_only: bool = False  # True if no stream of large messages is measured
    round_trip: float = 1e-4  # approximate round trip in s, which determines how many are measured
    largest: int = 1 << 30

    @property
    def family(self):
        return self.name.split("/")[0]


PROGRAMS = [
    Program("ligament/plain", "lig_send_array, read in place; --no-encryption"),
    Program("ligament/tls", "lig_send_array, read in place; TLS 1.3, as is the default"),
    Program("bare/tcp",
            "one connection, TCP_NODELAY, sleeps in recv; read into fresh memory of the message's size"),
    Program("bare/wake", "one machine: two wake-ups each way, of processes that sleep on futexes at once",
            small_only=True),
    Program("bare/chain", "futex, TCP, futex: the hops of Ligament with nothing else", small_only=True),
    Program("openmpi", "btl tcp, ob1; read into the same memory each time"),
    Program("muscle3", f"MUSCLE 3 ({MUSCLE3}), Python, its TCP transport", round_trip=1e-3, largest=256 << 20),
]


def missing(programs):
    """Returns one sentence for each missing thing that these programs need, with the way to install it."""
    families = {program.family for program in programs}
    found = [f"cannot make two machines: {unavailable()}"] if unavailable() else []
    for program, package in (("gcc", "build-essential"), ("openssl", "openssl")):
        if not shutil.which(program):
            found.append(f"{program} is missing; install it with: apt-get install {package}")
    found += mpi.missing(families, "openmpi-bin libopenmpi-dev")
    if "ligament" in families:
        absent = Ligament().missing()
        if not absent and can_spread(str(Ligament().command)):
            absent = [can_spread(str(Ligament().command))]
        found += absent
    return found


def _ensure_venv():
    """Makes a Python environment with MUSCLE 3 and NumPy, made once under build/. The ping-pong uses the same
    environment."""
    stamp = VENV / f"muscle3-{MUSCLE3}"
    if not stamp.exists():
        run([sys.executable, "-m", "venv", "--clear", VENV], seconds=120)
        run([VENV / "bin/pip", "install", "-q", f"muscle3=={MUSCLE3}", "numpy"], seconds=600)
        stamp.touch()


def build(programs):
    """Compiles what these programs need into build/benchmarks/lan."""
    OUT.mkdir(parents=True, exist_ok=True)
    for program in programs:
        compiler, source, name, more = {
            "ligament": ("gcc", "ligament.c", "ligament", Ligament().flags()),
            "bare": ("gcc", f"{program.name.split('/')[-1]}.c", program.name.replace("/", "_"), ["-lpthread"]),
            "openmpi": ("mpicc.openmpi", "mpi.c", "openmpi", []),
            "muscle3": ("gcc", "effort.c", "libeffort.so", ["-shared", "-fPIC"]),
        }[program.family]
        run([compiler, *FLAGS, HERE / source, "-o", OUT / name, *more], seconds=120)
        if program.family == "muscle3":
            _ensure_venv()


# ---- starting ------------------------------------------------------------------------------------------------
def _model(scratch, words):
    """Returns a model of the two ends. The side is inserted after the first of `words` on both command lines.
    """
    ends = (("ping", "a"), ("pong", "b"))
    lines = ["ymmsl_version: v0.1", "model:", "  name: lan", "  components:"]
    lines += [f"    {name}: {{implementation: {name}, ports: {{o_i: out, s: in}}}}" for name, _ in ends]
    lines += ["  conduits: {ping.out: pong.in, pong.out: ping.in}", "implementations:"]
    lines += [f"  {name}: {{executable: {words[0]}, args: {json.dumps([side, *words[1:]])}}}"
              for name, side in ends]
    file = scratch / "lan.ymmsl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


class _Log:
    """A file for the output of all processes of a program."""

    def __init__(self, scratch):
        self.path = scratch / "log"
        self.file = open(self.path, "ab")

    def __call__(self):
        return self.path.read_text(errors="replace")

    def where(self):
        return {"stdout": self.file, "stderr": self.file}


def _start_bare(program, network, scratch, plan, out):
    log, words = _Log(scratch), [OUT / program.name.replace("/", "_")]
    if program.name == "bare/wake":
        return [network["a"].start(*words, "a", plan, out, **log.where())], log
    where = (network["b"].v4, PORT)
    return [network[side].start(*words, side, plan, out, *where, **log.where()) for side in "ba"], log


def _start_openmpi(program, network, scratch, plan, out):
    log = _Log(scratch)
    return [open_mpi(network, scratch, OUT / "openmpi", [(side, plan, out) for side in "ab"],
                     **log.where())], log


def _start_muscle3(program, network, scratch, plan, out):
    """Starts the manager on one machine. The manager starts both instances, each by a command that leads to its
    machine."""
    log, model = _Log(scratch), scratch / "lan.ymmsl"
    plan = plan.translate({ord(" "): ",", ord(";"): "/"})  # a shell interprets the command line
    lines = [(HERE.parent / "pingpong/pingpong.ymmsl").read_text(encoding="utf-8"), "programs:"]
    for name, side in (("ping", "a"), ("pong", "b")):
        peer = [VENV / "bin/python", HERE / "peer_muscle3.py", side, plan, out, OUT / "libeffort.so"]
        first, *others = network[side].words(*peer)
        lines += [f"  {name}:", f"    description: Side {side}", "    ports: {o_i: out, s: in}",
                  "    base_env: manager",
                  f"    executable: {shutil.which(first)}", f"    args: {json.dumps(others)}"]
    model.write_text("\n".join([*lines, "resources:", "  ping: {threads: 1}", "  pong: {threads: 1}", ""]),
                     encoding="utf-8")
    (scratch / "run").mkdir()
    words = ["--start-all", "--run-dir", scratch / "run", model]
    return [network["a"].start(VENV / "bin/muscle_manager", *words, **log.where(), cwd=scratch)], log


def _start_ligament(program, network, scratch, plan, out):
    model = _model(scratch, [str(OUT / "ligament"), plan, str(out)])
    spread = SpreadRun(
        str(Ligament().command), [network["a"], network["b"]], model, scratch / "run", on={1: ["pong"]},
        encrypt=program.name != "ligament/plain", options=["--quiet"], folder=scratch,
    )
    return spread.processes, spread.said


def play(program, network, stages, scratch, seconds=400):
    """Runs stages [(kind, bytes, count, warmup)] between the two machines. Returns the results of both sides by
    stage."""
    out, plan = scratch / "result", "".join(" ".join(map(str, stage)) + ";" for stage in stages)
    start = {"bare": _start_bare, "openmpi": _start_openmpi, "muscle3": _start_muscle3,
             "ligament": _start_ligament}
    processes, said = start[program.family](program, network, scratch, plan, out)
    try:
        await_all(processes, seconds, said)
    finally:
        for host in network.hosts.values():
            host.end()
            host.processes.clear()
    sides = []
    for side in "ab":
        file = out.with_suffix(f".{side}")
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        if len(lines) != len(stages):
            raise CannotMeasure(
                f"{program.name} measured {len(lines)} of {len(stages)} stages:\n{said()[-3000:]}")
        sides.append([json.loads(line) for line in lines])
    return list(zip(*sides))


def versions(programs):
    """Returns the versions of the measured programs among these."""
    families = {program.family for program in programs}
    found = {**mpi.versions(families), "OpenSSL": first_line("openssl", "version")}
    if "ligament" in families:
        found["Ligament"] = Ligament().version()
    if "muscle3" in families:
        found["MUSCLE 3"] = MUSCLE3
    return found
