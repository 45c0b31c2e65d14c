"""More processes than cores: a token goes round rings of them; and what waiting and waking cost once a process
sleeps."""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import programs
from bars import LARGE, Measurements, bars
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import CannotMeasure

LAPS, PARKED, BLOCKED = range(3)  # the kinds of stages, as in ring.h
RINGS = (2, 4, 8, 32)
SIZES = (0, LARGE)
GAP_US = 5000  # pause before a hand-over; the receiver spins for at most 1 ms, so it has parked by then
HAND_OVERS = 6  # in each pass; the contents of a core's caches after a sleep differ from run to run
BLOCKED_S = 6


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run oversubscribed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition and shorter; about a minute")
    parser.add_argument("--only", help="programs or families, separated by commas: ligament,openmpi,bare/yield")
    parser.add_argument("--rings", help="how many processes, separated by commas (default 2,4,8,32)")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 7, quick 1; MPICH at most 2)")
    parser.add_argument("--cores", default="0,1", help="the two cores that all of them share (default 0,1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 7)
    options.programs = _chosen(options.only, parser)
    try:
        options.cores = [int(core) for core in options.cores.split(",")]
        options.rings = [int(n) for n in options.rings.split(",")] if options.rings else list(RINGS)
    except ValueError as problem:
        parser.error(str(problem))
    if len(options.cores) != 2 or not set(options.cores) <= os.sched_getaffinity(0):
        parser.error(f"--cores needs two of {sorted(os.sched_getaffinity(0))}")
    if not all(2 <= n <= 256 for n in options.rings):
        parser.error("--rings: 2 to 256 processes")
    return options


def _chosen(only, parser):
    if not only:
        return programs.PROGRAMS
    words = only.split(",")
    for word in words:
        if not any(word in (program.name, program.family) for program in programs.PROGRAMS):
            names = ", ".join(program.name for program in programs.PROGRAMS)
            parser.error(f"--only: no program {word!r}; there are {names}")
    return [program for program in programs.PROGRAMS if program.name in words or program.family in words]


class Session:
    """A measurement: the options of the user, and the results so far."""

    def __init__(self, options):
        self.options, self.measured = options, Measurements()
        self.worst_lap = {}  # ms, by (program, processes, bytes)

    def play(self, program, processes, plan, cores=None):
        """Runs a ring. Returns the output of each position as records."""
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=programs.OUT))
        try:
            found = programs.play(program, processes, plan, cores or self.options.cores, scratch, seconds=240)
            return [[json.loads(line) for line in lines] for lines in found]
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def laps(self, program, processes):
        # In ms. A ring keeps the order of processes that its start finds by luck, so there are many short
        # rings.
        length = 150 if self.options.quick else 200
        plan = [(LAPS, bytes_, length, 3) for bytes_ in SIZES]
        for record in self.play(program, processes, plan)[0]:
            key = (program.name, processes, record["bytes"])
            self.measured.hops.setdefault(key, []).append(record["median_lap_ns"] / processes / 1e3)
            worst = record["worst_lap_ns"] / 1e6
            self.worst_lap[key] = max(worst, self.worst_lap.get(key, 0.0))

    def hand_over(self, program, cores):
        records = self.play(program, 2, [(PARKED, 0, GAP_US, 40)], cores)
        median = statistics.mean(record["median_ns"] for (record,) in records)
        self.measured.hand_overs.setdefault((program.name, len(cores)), []).append(median / 1e3)

    def blocked(self, program, processes):
        waiting = self.play(program, processes, [(BLOCKED, 0, BLOCKED_S * 1_000_000, 1)])[1:]
        shares = [100 * record["processor_s"] / record["waited_s"] for (record,) in waiting]
        self.measured.blocked.setdefault((program.name, processes), []).append(max(shares))

    def one_pass(self, number):
        """Runs every program once, in the opposite order to the previous pass."""
        chosen = self.options.programs if number % 2 == 0 else self.options.programs[::-1]
        for processes in self.options.rings:
            for program in chosen:
                if not (program.spins and number >= 2):
                    self.laps(program, processes)
        sleepers = [program for program in chosen if program.name in ("ligament", "bare/futex")]
        for cores in (self.options.cores[:1], self.options.cores):
            for turn in range(HAND_OVERS):
                for program in sleepers if turn % 2 == 0 else sleepers[::-1]:
                    self.hand_over(program, cores)

    def wait_long(self):
        """Measures once the values that a repetition would not change."""
        for program in self.options.programs:
            if program.name in ("ligament", "bare/futex", "openmpi/cma"):
                self.blocked(program, 2)
        if any(program.name == "ligament" for program in self.options.programs):
            self.blocked(programs.named("ligament"), 32)


# ---- output --------------------------------------------------------------------------------------------------
def print_tables(session):
    measured, names = session.measured, [program.name for program in session.options.programs]
    rings = [f"{n} processes" for n in session.options.rings]
    for bytes_ in SIZES:
        rows = [(name, [report.spread(measured.hops.get((name, n, bytes_))) for n in session.options.rings])
                for name in names]
        report.table(f"{report.size_name(bytes_)}: µs a hop, median lap (least and largest of the repetitions)",
                     rings, rows)
        rows = [(name, [session.worst_lap.get((name, n, bytes_)) for n in session.options.rings])
                for name in names]
        report.table(f"{report.size_name(bytes_)}: the worst lap, ms", rings, rows)
    rows = [
        (name, [report.spread(measured.hand_overs.get((name, cores))) for cores in (1, 2)])
        for name in dict.fromkeys(program for program, _ in measured.hand_overs)
    ]
    report.table(f"hand-over to a process that sleeps since {GAP_US // 1000} ms, 0 B, µs",
                 ["both on 1 core", "a core each"], rows)
    rows = [(f"{name}, {n} processes", [max(used)]) for (name, n), used in measured.blocked.items()]
    report.table(f"processor time while blocked for {BLOCKED_S} s, the busiest, % of a core", ["%"], rows)


def figures(session, facts, versions):
    """Returns `hop_us` by program, ring and size as [median, least, largest], and the other values by the keys
    of their tables."""
    measured, hops = session.measured, {}
    for (name, n, bytes_), values in measured.hops.items():
        cell = [report.significant(v) for v in (statistics.median(values), min(values), max(values))]
        hops.setdefault(name, {}).setdefault(str(n), {})[report.size_name(bytes_)] = cell
    return {
        "machine": facts,
        "versions": versions,
        "repetitions": session.options.repetitions,
        "hop_us": hops,
        "hand_over_us": {
            f"{name}, {cores} core(s)": report.significant(statistics.median(values))
            for (name, cores), values in measured.hand_overs.items()
        },
        "blocked_percent": {
            f"{name}, {n} processes": report.significant(max(used))
            for (name, n), used in measured.blocked.items()
        },
    }


def print_head(session, facts, versions):
    options = session.options
    repetitions = f"{options.repetitions}, in turn; MPICH at most 2"
    report.head("oversubscribed: rings of processes that share two cores", {**versions, **facts}, repetitions,
                programs.FLAGS, options.programs)


def main(words):
    options = arguments_of(words)
    absent = programs.missing(options.programs)
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves programs out)")
    programs.build(options.programs)
    session, facts = Session(options), machine.facts(options.cores)
    families = {program.family for program in options.programs}
    versions = mpi.versions(families)
    if "ligament" in families:
        versions["Ligament"] = Ligament().version()
    print_head(session, facts, versions)
    begun = time.monotonic()
    for number in range(options.repetitions):
        session.one_pass(number)
        print(f"pass {number + 1} of {options.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    session.wait_long()
    print_tables(session)
    found = bars(session.measured)
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    report.last_line(figures(session, facts, versions), found)
    return 0
