"""A sender that computes while 64 MiB leave for another machine: how much longer its steps get."""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bars import Measurements, bars
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run
from lib.network import Network, SpreadRun, await_all, can_spread, open_mpi, unavailable

HERE = Path(__file__).resolve().parent
OUT = BUILD / "overlap"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-D_GNU_SOURCE", "-Wall", "-Wextra"]
BYTES = 64 << 20


@dataclass(frozen=True)
class Program:
    """A way to send. `step` is the computing time of a step, s."""

    name: str
    tuning: str
    step: float
    binary: str
    encrypt: bool = True


PROGRAMS = [
    Program("ligament/loan", "lig_loan_create, lig_send_loan; steps of 300 ms; TLS", 0.3, "ligament_loan"),
    Program("ligament/send", "lig_send_array; steps of 500 ms; TLS", 0.5, "ligament_send"),
    Program("ligament/loan, plain", "the same with --no-encryption", 0.3, "ligament_loan", False),
    Program("ligament/send, plain", "the same with --no-encryption", 0.5, "ligament_send", False),
    Program("openmpi", "MPI_Isend, two arrays in turn; btl tcp; steps of 300 ms", 0.3, "openmpi"),
]


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run overlap", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition of few steps; about half a minute")
    parser.add_argument("--only", help="programs or families, separated by commas: ligament/loan,openmpi")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 5, quick 1)")
    parser.add_argument(
        "--cores", default="0,1", help="the sender's, and the one for everybody else (default 0,1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 5)
    options.blocks, options.steps = (2, 4) if options.quick else (4, 8)
    chosen = options.only.split(",") if options.only else []
    for word in chosen:
        if not any(word in (program.name, program.name.split("/")[0]) for program in PROGRAMS):
            parser.error(f"--only: no program {word!r}; there are {'; '.join(p.name for p in PROGRAMS)}")
    options.programs = [p for p in PROGRAMS if not chosen or p.name in chosen or p.name.split("/")[0] in chosen]
    try:
        options.cores = [int(core) for core in options.cores.split(",")]
    except ValueError as problem:
        parser.error(str(problem))
    if len(set(options.cores)) != 2 or not set(options.cores) <= os.sched_getaffinity(0):
        parser.error(
            f"--cores needs two of {sorted(os.sched_getaffinity(0))}: a core must be free for the agents")
    return options


def missing(chosen):
    found = [f"cannot make two machines: {unavailable()}"] if unavailable() else []
    if not shutil.which("gcc"):
        found.append("gcc is missing; install it with: apt-get install build-essential")
    found += mpi.missing({p.name for p in chosen}, "openmpi-bin libopenmpi-dev")
    if any(p.name.startswith("ligament") for p in chosen):
        absent = Ligament().missing()
        if not absent and can_spread(str(Ligament().command)):
            absent = [can_spread(str(Ligament().command))]
        found += absent
    return found


def build(chosen):
    """Compiles what these programs need into build/benchmarks/overlap."""
    OUT.mkdir(parents=True, exist_ok=True)
    for binary in {program.binary for program in chosen}:
        compiler, source, more = {
            "ligament_loan": ("gcc", "ligament.c", ["-DLIGAMENT_LOAN", *Ligament().flags()]),
            "ligament_send": ("gcc", "ligament.c", Ligament().flags()),
            "openmpi": ("mpicc.openmpi", "mpi.c", []),
        }[binary]
        run([compiler, *FLAGS, HERE / source, "-o", OUT / binary, *more], seconds=120)


def _model(scratch, program, words):
    """Returns a model of a sender and a receiver. The last argument of the sender is its core."""
    ends = (("sender", "o_i: out"), ("receiver", "s: in"))
    lines = ["ymmsl_version: v0.1", "model:", "  name: overlap", "  components:"]
    lines += [f"    {name}: {{implementation: {name}, ports: {{{port}}}}}" for name, port in ends]
    lines += ["  conduits: {sender.out: receiver.in}", "implementations:"]
    lines += [f"  {name}: {{executable: {OUT / program.binary}, args: {json.dumps(words[name])}}}"
              for name, _ in ends]
    file = scratch / "overlap.ymmsl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def play(program, options, scratch):
    """Makes a run between two machines. Returns the sender's records."""
    out, (own, others) = scratch / "steps", options.cores
    common = [str(word) for word in (out, BYTES, program.step, options.blocks, options.steps)]
    words = {"sender": ["sender", *common, str(own)], "receiver": ["receiver", *common, str(others)]}
    with Network("a", "b", direct=True) as network:
        if program.binary == "openmpi":
            log = scratch / "log"
            with open(log, "ab") as file:
                both = [words["sender"], words["receiver"]]
                processes = [open_mpi(network, scratch, OUT / program.binary, both, stdout=file, stderr=file)]
            said = lambda: log.read_text(errors="replace")  # noqa: E731
        else:
            spread = SpreadRun(
                str(Ligament().command), [network["a"], network["b"]], _model(scratch, program, words),
                scratch / "run",
                on={1: ["receiver"]}, encrypt=program.encrypt, options=["--quiet"], folder=scratch,
                prefix=["taskset", "-c", others],
            )
            processes, said = spread.processes, spread.said
        await_all(processes, 300, said)
    if not out.exists():
        raise CannotMeasure(f"{program.name}: the sender left no results:\n{said()[-3000:]}")
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def main(words):
    options = arguments_of(words)
    absent = missing(options.programs)
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves programs out)")
    build(options.programs)
    facts = machine.facts(options.cores)
    versions = mpi.versions({p.name for p in options.programs})
    if any(p.name.startswith("ligament") for p in options.programs):
        versions["Ligament"] = Ligament().version()
    report.head("overlap: steps of a sender while 64 MiB leave", {**versions, **facts},
                f"{options.repetitions}, in turn",
                FLAGS, options.programs)
    measured, begun = Measurements(), time.monotonic()
    for number in range(options.repetitions):
        for program in options.programs[:: 1 if number % 2 == 0 else -1]:
            scratch = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
            try:
                measured.add(program.name, play(program, options, scratch))
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
        print(f"pass {number + 1} of {options.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    rows, figures = [], {}
    for program, steps in measured.steps.items():
        without, with_ = (1e3 * statistics.median(column) for column in zip(*steps))
        ratios = measured.ratios[program]
        rows.append((program, [without, with_, statistics.median(ratios), min(ratios), max(ratios)]))
        figures[program] = [report.significant(v) for v in rows[-1][1]]
    report.table("a step, ms: without sending, with; their ratio",
                 ["without", "with", "ratio", "least", "largest"], rows)
    found = bars(measured)
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    report.last_line({"machine": facts, "versions": versions, "repetitions": options.repetitions,
                      "step_ms": figures}, found)
    return 0
