"""Spikes between two components with 1 to 8 ranks each, beside MUSIC."""

import argparse
import shutil
import tempfile
from pathlib import Path

from bars import LIMITS, Measurements, bars
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "spikes"
FLAGS = ["-O2", "-march=native", "-Wall", "-Wextra"]
RANKS = (1, 2, 4, 8)
EVENTS = 5000
TICKS, QUICK_TICKS = 20000, 4000
# For each case: the arguments of both sides, the way to insert and read events, and if a tenth of the ids is
# wanted.
CASES = {
    "one way, arrays": ("send", "receive", "arrays", 0),
    "both ways, arrays": ("both", "both", "arrays", 0),
    "one way, single events": ("send", "receive", "single", 0),
    "a tenth, arrays": ("send", "receive", "arrays", 1),
}
WAYS = ("point-to-point", "collective")
ROUTINGS = ("shared", "pairwise")
LIMIT_S = 120

MODEL = """ymmsl_version: v0.2
models:
  spikes:
    components:
      left: {{ports: {{o_i: out, s: in}}, implementation: left}}
      right: {{ports: {{o_i: out, s: in}}, implementation: right}}
    conduits: {{{conduits}}}
programs:
  left: {{executable: {program}, args: [{left}, {how}, '{events}', '{ticks}', '{sparse}', {folder}/left]}}
  right: {{executable: {program}, args: [{right}, {how}, '{events}', '{ticks}', '{sparse}', {folder}/right]}}
ligament:
  ranks: {{left: {ranks}, right: {ranks}}}
  ticks: {{left: 5 ms, right: 5 ms}}
  exchange: {{{exchanges}}}
"""
MUSIC = """[left]
 np={ranks}
 binary={program}
 args={left} {how} {events} {ticks} {sparse} {folder}/left
[right]
 np={ranks}
 binary={program}
 args={right} {how} {events} {ticks} {sparse} {folder}/right
"""


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run spikes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 s of model time, and not 100 s")
    parser.add_argument("--ranks", help="of each side, separated by commas (default 1,2,4,8)")
    parser.add_argument("--cases", help=f"separated by semicolons: {'; '.join(CASES)}")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 5, quick 3)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.ticks = QUICK_TICKS if options.quick else TICKS
    options.ranks = [int(count) for count in options.ranks.split(",")] if options.ranks else list(RANKS)
    options.cases = [case.strip() for case in options.cases.split(";")] if options.cases else list(CASES)
    for case in options.cases:
        if case not in CASES:
            parser.error(f"--cases: no case {case!r}; there are {'; '.join(CASES)}")
    return options


def build():
    """Compiles the programs into build/benchmarks/spikes."""
    OUT.mkdir(parents=True, exist_ok=True)
    run(["gcc", "-std=gnu11", *FLAGS, HERE / "ours.c", "-o", OUT / "ours", *Ligament().flags()], seconds=120)
    run(["gcc", "-std=gnu11", *FLAGS, HERE / "bare.c", "-o", OUT / "bare"], seconds=120)
    # MUSIC's own header does not compile without warnings.
    compiled = ["-O2", "-march=native", HERE / "peer.cpp", "-o", OUT / "peer", "-lmusic"]
    run(["mpicxx.openmpi", "-std=gnu++17", *compiled], seconds=120)


def results(folder):
    """Returns the time of the slowest rank in s, the number of events, and the sums of all ranks that
    receive."""
    lines = [path.read_text().split() for path in sorted(folder.glob("*.[0-9]*"))]
    sums = [(int(count), int(total)) for _, count, total in lines]
    return max(int(ns) for ns, *_ in lines) / 1e9, sums


def bare(case, ranks, ticks, folder):
    left, _, _, sparse = CASES[case]
    run([OUT / "bare", left, ranks, EVENTS, ticks, sparse, folder], seconds=LIMIT_S)
    return results(folder)


def ours(case, routing, ranks, ticks, folder):
    left, right, how, sparse = CASES[case]
    pairs = ["left.out", "right.in"], ["right.out", "left.in"]
    pairs = pairs if left == "both" else pairs[:1]
    events = f"{{events: 100000, latency: 5 ms, routing: {routing}}}"
    text = MODEL.format(
        program=OUT / "ours", left=left, right=right, how=how, events=EVENTS, ticks=ticks, sparse=sparse,
        folder=folder, ranks=ranks, conduits=", ".join(": ".join(pair) for pair in pairs),
        exchanges=", ".join(f"{' -> '.join(pair)}: {events}" for pair in pairs))
    (folder / "model.ymmsl").write_text(text)
    command = [Ligament().command, "run", "model.ymmsl", "--overcommit", "--quiet"]
    run(command, seconds=LIMIT_S, folder=folder)
    return results(folder)


def music(case, way, ranks, ticks, folder):
    left, right, how, sparse = CASES[case]
    text = MUSIC.format(program=OUT / "peer", left=left, right=right, how=how, events=EVENTS, ticks=ticks,
                        sparse=sparse, folder=folder, ranks=ranks)
    conduits = ["left.out -> right.in", "right.out -> left.in"][: 2 if left == "both" else 1]
    text += "".join(f"{conduit} [100000, {way}, table]\n" for conduit in conduits)
    (folder / "model.music").write_text(text)
    options = mpi.mca(mpi_yield_when_idle=1)
    command = [*mpi.launcher("openmpi", 2 * ranks, options), "music", "model.music"]
    run(command, seconds=LIMIT_S, environment=mpi.ENVIRONMENT, folder=folder)
    return results(folder)


def one_pass(options, measured, said):
    for case in options.cases:
        for ranks in options.ranks:
            programs = {}
            # The sender sorts where its receivers want few events; otherwise all events go to all.
            for routing in ROUTINGS if CASES[case][3] else ROUTINGS[:1]:
                programs[f"ours, {routing}"] = (
                    lambda folder, routing=routing: ours(case, routing, ranks, options.ticks, folder))
            programs["bare loop"] = lambda folder: bare(case, ranks, options.ticks, folder)
            for way in WAYS:
                programs[f"MUSIC, {way}"] = (
                    lambda folder, way=way: music(case, way, ranks, options.ticks, folder))
            right = None
            for name, program in programs.items():
                folder = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
                try:
                    seconds, sums = program(folder)
                    measured.add(case, ranks, name, seconds)
                    right = right or sums
                    if sums != right:
                        came, wanted = (sum(count for count, _ in ranks) for ranks in (sums, right))
                        said.append(f"{case}, {ranks}+{ranks}, {name}: {came} events came, and {wanted} by "
                                    "Ligament, or others")
                except CannotMeasure as error:
                    if not name.startswith("MUSIC"):
                        raise
                    said.append(f"{case}, {ranks}+{ranks}, {name}: {str(error).splitlines()[0]}")
                finally:
                    shutil.rmtree(folder, ignore_errors=True)


def main(words):
    options = arguments_of(words)
    absent = [*Ligament().missing(), *mpi.missing(["openmpi"])]
    if not shutil.which("music"):
        absent.append("MUSIC is missing; install it with: apt-get install music-bin libmusic-dev")
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent))
    build()
    facts = machine.facts([0, 1])
    versions = {"ligament": Ligament().version(), **mpi.versions(["openmpi"])}
    print("spikes: events between ranks, beside MUSIC\n")
    for name, value in {**facts, **versions, "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    measured, said = Measurements(), []
    for _ in range(options.repetitions):
        one_pass(options, measured, said)
    for case in LIMITS:
        rows = [(f"{ranks}+{ranks} {program}", [report.spread(times)])
                for (of, ranks, program), times in measured.times.items() if of == case]
        if rows:
            report.table(f"{case}, {options.ticks} ticks of {EVENTS} events", ["s"], rows)
    for line in said:
        print(f"  {line}")
    figures = {"machine": facts, "versions": versions, "ticks": options.ticks,
               "s": {f"{case}, {ranks}+{ranks}, {program}": [report.significant(one) for one in times]
                     for (case, ranks, program), times in measured.times.items()}}
    found = bars(measured)
    print("\nbars")
    for bar in found:
        print(bar.line())
    report.last_line(figures, found)
    return 0
