"""Many instances on two machines, each with ten conduits to the other machine: start, end, memory,
connections."""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import cases
from bars import bars
from cases import Case
from lib import machine, report
from lib.ligament import Ligament
from lib.machine import CannotMeasure
from lib.network import can_spread, unavailable

PAIR = Case("2 processes", 2, 2)
FULL = [PAIR, Case("300 processes", 300, 10), Case("350 light instances", 350, 10, light=True),
        Case("350 processes", 350, 10)]
QUICK = [PAIR, Case("40 processes", 40, 10), Case("350 light instances", 350, 10, light=True)]


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run remote-scale", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="one repetition, 40 processes instead of 300 and 350")
    parser.add_argument("--repetitions", type=int, help="of each case (default 5, quick 1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 5)
    options.cases = QUICK if options.quick else FULL
    return options


def missing():
    found = [f"cannot make two machines: {unavailable()}"] if unavailable() else []
    if not shutil.which("gcc"):
        found.append("gcc is missing; install it with: apt-get install build-essential")
    absent = Ligament().missing()
    if not absent and can_spread(str(Ligament().command)):
        absent = [can_spread(str(Ligament().command))]
    return found + absent


def main(words):
    options = arguments_of(words)
    absent = missing()
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent))
    cases.build()
    facts, versions = machine.facts([0]), {"Ligament": Ligament().version()}
    report.head("remote-scale: instances with ten conduits each to another machine", {**versions, **facts},
                f"{options.repetitions}, in turn", cases.FLAGS, [])
    found, begun = {}, time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="runs-", dir=cases.OUT))
    try:
        for number in range(options.repetitions):
            for case in options.cases:
                folder = scratch / f"{number}-{case.name.replace(' ', '-')}"
                found.setdefault(case.name, []).append(cases.measure(case, folder, str(Ligament().command)))
            print(f"pass {number + 1} of {options.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    figures, rows = {}, []
    for name, runs in found.items():
        row = {key: statistics.median(run[key] for run in runs) for key in ("start_s", "end_s", "memory",
                                                                            "connections")}
        figures[name] = {key: report.significant(value) for key, value in row.items()}
        rows.append((name, [row["start_s"], row["end_s"], row["memory"] / 1e6, row["connections"]]))
    heads = ["until all have exchanged, s", "to the end, s", "memory, MB", "TCP connections"]
    report.table("both machines together, medians", heads, rows)
    made = bars(found, PAIR.name)
    print(
        f"\nbars: {sum(bar.holds for bar in made)} of {len(made)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in made:
        print(bar.line())
    report.last_line({"machine": facts, "versions": versions, "repetitions": options.repetitions,
                      "runs": figures}, made)
    return 0
