"""The ping-pong: runs every program several times, interleaved, and prints times, ratios and bars."""

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import peers
from bars import MIB, MPI, Measurements, bars
from lib import machine, mpi, picture, report
from lib.machine import CannotMeasure

MODES = {"plain": 0, "worked": 1, "echo": 2}
MEANING = {
    "plain": "arrays untouched between exchanges",
    "worked": "each sender rewrites its array, each receiver sums what it got",
    "echo": "the received data is sent back (reported only, one repetition)",
}
SIZES = [0, *(1024 << i for i in range(17))]
SECONDS, QUICK_SECONDS = 780, 75  # no further pass begins after this time
QUICK_SIZES = [0, *(kib << 10 for kib in (1, 16, 64, 128, 256, 1024, 4096, 65536))]


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run pingpong", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer sizes, rounds and repetitions; within 90 s")
    parser.add_argument("--only", help="programs or families, separated by commas: openmpi,bare/two")
    parser.add_argument("--sizes", help="sizes, separated by commas: 0,1K,64K,64M")
    parser.add_argument("--modes", help="plain,worked,echo")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 5, quick 3)")
    parser.add_argument(
        "--slabs", type=int, help="shared buffers of the bare loops (default: as many as Ligament used)"
    )
    parser.add_argument("--cores", default="0,1", help="the two cores (default 0,1)")
    parser.add_argument(
        "--distance",
        choices=("near", "far"),
        help="what counts where a hypervisor moves the cores (default: whichever is measured sooner)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every record there")
    parser.add_argument("--picture", type=Path, metavar="FILE",
                        help="SVG (default build/benchmarks/pingpong.svg)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    try:
        options.cores = [int(core) for core in options.cores.split(",")]
        options.sizes = [_size(word) for word in options.sizes.split(",")] if options.sizes else None
    except ValueError as problem:
        parser.error(str(problem))
    if len(options.cores) != 2 or not set(options.cores) <= os.sched_getaffinity(0):
        parser.error(f"--cores needs two of {sorted(os.sched_getaffinity(0))}")
    options.sizes = sorted(set(options.sizes or (QUICK_SIZES if options.quick else SIZES)))
    wanted = options.modes.split(",") if options.modes else ["plain", "worked",
                                                             *([] if options.quick else ["echo"])]
    if not set(wanted) <= set(MODES):
        parser.error(f"--modes: {', '.join(MODES)}")
    options.modes = [mode for mode in MODES if mode in wanted]
    options.programs = _chosen(options.only, parser)
    return options


def _size(word):
    factor = {"K": 1 << 10, "M": 1 << 20}.get(word[-1:].upper())
    bytes_ = int(word[:-1]) * factor if factor else int(word)
    if bytes_ % 1024 or not 0 <= bytes_ <= 1 << 30:
        raise ValueError(f"--sizes: {word} is not a number of KiB up to 1 GiB")
    return bytes_


def _chosen(only, parser):
    if not only:
        return peers.PROGRAMS
    words, programs = only.split(","), [*peers.PROGRAMS, *peers.BY_NAME]
    for word in words:
        if not any(word in (program.name, program.family) for program in programs):
            parser.error(f"--only: no program {word!r}; there are {', '.join(p.name for p in programs)}")
    return [program for program in programs if program.name in words or program.family in words]


class Session:
    """A measurement: the chosen programs, the folder for their output, and the results so far."""

    def __init__(self, options):
        self.options = options
        self.measured = Measurements()
        self.slabs = {}  # by mode and size: the number of shared buffers that Ligament used
        self.passes = 0
        self.deadline = time.monotonic() + (QUICK_SECONDS if options.quick else SECONDS)

    def rounds(self, program, bytes_):
        """Returns the number of timed round trips: many for small messages, at least 20 (quick: 8), within
        about 0.3 s."""
        quick = self.options.quick
        traffic, least, most, seconds = (96 << 20, 8, 4000, 0.12) if quick else (512 << 20, 20, 20000, 0.3)
        by_time = seconds / (2 * (program.latency + program.per_byte * bytes_))
        return max(least, int(min(traffic / max(bytes_, 1), by_time, most)))

    def sizes(self, program):
        if program.empty_only:
            return [bytes_ for bytes_ in self.options.sizes if bytes_ == 0]
        if self.options.quick and program.family == "muscle3":
            return [bytes_ for bytes_ in self.options.sizes if bytes_ <= MIB]
        return self.options.sizes

    def missing(self, program, mode):
        """Returns the sizes that have too few measurements."""
        wanted = min(self.options.repetitions, program.most_repetitions)
        if mode == "echo" or (self.options.quick and program.family == "muscle3"):
            wanted = 1
        sizes = self.sizes(program) if mode in program.modes else []
        return [b for b in sizes if len(self.measured.accepted(program.name, mode, b)) < wanted]

    def cases(self, program, mode, sizes):
        """Returns the plan of one program run: (mode, bytes, rounds, warmup, slabs)."""
        found = []
        for bytes_ in sizes:
            rounds = self.rounds(program, bytes_)
            slabs = self.options.slabs or min(self.slabs.get((mode, bytes_), 2), 16)
            found.append((MODES[mode], bytes_, rounds, max(rounds // 10, 4), slabs))
        return found

    def run(self, program, mode, sizes):
        """Runs one program once in one mode. Returns side A's records with side B's processor time added."""
        cases = self.cases(program, mode, sizes)
        return self._in_scratch(lambda scratch: peers.command(program, scratch), program.environment, cases)

    def _in_scratch(self, command_in, environment, cases):
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=peers.OUT))
        try:
            return self._run_in(scratch, command_in(scratch), environment, cases)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _run_in(self, scratch, command, environment, cases):
        """Runs a command on a plan, and reads the output of both sides."""
        out = scratch / "result"
        environment = {
            **environment,
            "PINGPONG_PLAN": "".join(" ".join(map(str, case)) + ";" for case in cases),
            "PINGPONG_CORES": ",".join(map(str, self.options.cores)),
            "PINGPONG_OUT": str(out),
            "PINGPONG_LINE": str(peers.OUT / "libline.so"),
            "PYTHONPATH": str(peers.HERE),
            "PYTHONDONTWRITEBYTECODE": "1",
            **mpi.ENVIRONMENT,
        }
        out.with_suffix(".line").write_bytes(bytes(4096))
        output = machine.run(command, seconds=300, environment=environment, folder=scratch)
        sides = []
        for side in "ab":
            file = out.with_suffix(f".{side}")
            lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            if len(lines) != len(cases):
                raise CannotMeasure(
                    f"{command[0]} measured {len(lines)} of {len(cases)} cases:\n{output[-2000:]}")
            sides.append([json.loads(line) for line in lines])
        for first, second in zip(*sides):
            first["processor_both_ns"] = first["processor_ns"] + second["processor_ns"]
        return sides[0]

    def one_pass(self):
        """Runs every program once, in turn, with the sizes that have too few measurements. Returns False if no
        size was left.

        On a virtual machine the two cores may be two threads of one core now, and two cores a few seconds
        later. Records of the two cases are kept apart, so a size that was measured in the wrong case is
        measured again.
        """
        order = [(program, mode) for mode in self.options.modes for program in self.options.programs]
        if self.passes % 2:
            order.reverse()
        worked = False
        for program, mode in order:
            sizes = self.missing(program, mode)
            if sizes and (self.passes == 0 or time.monotonic() < self.deadline):
                worked = True
                self._await_place()
                for record in self.run(program, mode, sizes):
                    self.measured.add(program.name, record)
                    self._note_slabs(program, mode, record)
        self.measured.settle()
        self._choose_place()
        self.passes += 1
        return worked

    def _await_place(self):
        """If the distance of the cores changes, waits a little until they are at the chosen distance."""
        until = time.monotonic() + (0.5 if self.options.quick else 2.0)
        while self.measured.boundary and time.monotonic() < until:
            line = self._in_scratch(lambda _: [peers.OUT / "bare_inline"], {}, [(0, 0, 100, 10, 1)])[0]
            if self.measured.counts(line):
                return

    def _choose_place(self):
        """Chooses the distance that the user wants, or the distance with fewer missing measurements."""
        lacking = {}
        for self.measured.place in ("near", "far"):
            lacking[self.measured.place] = self.lacking()
        self.measured.place = self.options.distance or min(("far", "near"), key=lacking.get)

    def lacking(self):
        """Returns the number of missing measurements."""
        return sum(len(self.missing(p, mode)) for p in self.options.programs for mode in self.options.modes)

    def _note_slabs(self, program, mode, record):
        """Notes the number of buffers that Ligament used, so that the bare loops use the same number."""
        key = (mode, record["bytes"])
        if program.name == "ligament/loan":
            self.slabs[key] = max(record["send_buffers"], 1)
        elif program.name == "ligament/view" and key not in self.slabs:
            self.slabs[key] = max(record["receive_buffers"], 1)


# ---- output --------------------------------------------------------------------------------------------------
def _columns(session, mode):
    """Returns the columns: one for each program, and one for the better MPI configuration of each size."""
    names = [p for p in session.options.programs if mode in p.modes and p.family not in MPI]
    return [p for p in names if not p.empty_only]


def print_tables(session):
    measured = session.measured
    for mode in session.options.modes:
        columns = _columns(session, mode)
        for key, title in (
            ("median_ns", "median one-way time, µs"),
            ("p99_ns", "99th percentile of the one-way time, µs"),
            ("processor_both_ns", "processor time per message, both sides, µs"),
        ):
            rows = []
            for bytes_ in measured.sizes(mode):
                mpi = measured.best_mpi(mode, bytes_)
                cells = [_microseconds(measured, mpi, mode, bytes_, key), mpi or ""]
                cells += [_microseconds(measured, p.name, mode, bytes_, key) for p in columns]
                rows.append((report.size_name(bytes_), cells))
            report.table(f"{mode} ({MEANING[mode]}): {title}", ["MPI", "which", *(p.name for p in columns)],
                         rows)
        mpis = [p for p in session.options.programs if p.family in MPI]
        if mpis:
            rows = [
                (report.size_name(b), [_microseconds(measured, p.name, mode, b, "median_ns") for p in mpis])
                for b in measured.sizes(mode)
            ]
            report.table(f"{mode}: every MPI configuration, median one-way time, µs", [p.name for p in mpis],
                         rows)
    if measured.has("bare/inline", "plain", 0):
        print(f"\nbare line, 0 B: {measured.median('bare/inline', 'plain', 0) / 1e3:.3f} µs one way")


def _microseconds(measured, program, mode, bytes_, key):
    value = measured.median(program, mode, bytes_, key) if program else None
    return None if value is None else value / 1e3


def figures(session, facts, versions):
    """Returns by program, mode and size: [median, 99th percentile, least and largest median of a repetition,
    processor time], all in µs. "mpi" is the better configuration of each size, which is named last."""
    measured = session.measured
    found = {}

    def entry(name, program, mode, bytes_, *more):
        medians = measured.values(program, mode, bytes_)
        numbers = [
            measured.median(program, mode, bytes_),
            measured.median(program, mode, bytes_, "p99_ns"),
            min(medians),
            max(medians),
            measured.median(program, mode, bytes_, "processor_both_ns"),
        ]
        cell = [report.significant(number / 1e3) for number in numbers]
        found.setdefault(name, {}).setdefault(mode, {})[report.size_name(bytes_)] = [*cell, *more]

    for program, mode, bytes_ in sorted(measured.records,
                                        key=lambda key: (key[0], list(MODES).index(key[1]), key[2])):
        if program.split("/")[0] not in MPI and measured.has(program, mode, bytes_):
            entry(program, program, mode, bytes_)
    for mode in session.options.modes:
        for bytes_ in measured.sizes(mode):
            mpi = measured.best_mpi(mode, bytes_)
            if mpi:
                entry("mpi", mpi, mode, bytes_, mpi)
    return {
        "machine": facts,
        "versions": versions,
        "repetitions": session.options.repetitions,
        "passes": session.passes,
        "bare_line": line_facts(measured),
        "lacking": session.lacking(),
        "slabs": {f"{mode} {report.size_name(bytes_)}": count
                  for (mode, bytes_), count in session.slabs.items()},
        "one_way_us": found,
    }


def line_facts(measured):
    """Prints the times of the bare line between the cores, in ns, and the chosen distance."""
    lines = measured.lines()
    return {
        "counted_ns": report.significant(measured.distance()),
        "place": measured.place if measured.boundary else "one",
        "boundary_ns": measured.boundary and report.significant(measured.boundary),
        "quartiles_ns": [report.significant(value) for value in statistics.quantiles(lines, n=4)],
    }


def draw(session, path):
    measured, sizes = session.measured, session.options.sizes
    panels = {}
    for mode in session.options.modes:
        if mode == "echo":
            continue
        series = {}
        for name in ("MPI", *(p.name for p in _columns(session, mode))):
            points = []
            for i, bytes_ in enumerate(sizes):
                program = measured.best_mpi(mode, bytes_) if name == "MPI" else name
                value = _microseconds(measured, program, mode, bytes_, "median_ns")
                if value:
                    points.append((i, value))
            if points:
                series[name] = points
        panels[mode] = series
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.draw(path, panels, [report.size_name(b) for b in sizes], "one-way time, µs")
    print(f"\npicture: {path}")


def print_head(session, facts, versions):
    options = session.options
    repetitions = f"{options.repetitions}, interleaved; zeromq, file, muscle3 at most 3; echo 1"
    report.head("pingpong: one-way time between two pinned processes", {**versions, **facts}, repetitions,
                peers.FLAGS, options.programs)


def print_distance(session):
    line = line_facts(session.measured)
    if line["place"] == "one":
        print(f"\nThe two cores are {line['counted_ns']:.0f} ns apart (bare line, one way).")
    else:
        print(
            f"\nThe hypervisor moves the two cores: a bare line takes less or more than "
            f"{line['boundary_ns']:.0f} ns. "
            f"Only measurements with the cores {line['place']} count ({line['counted_ns']:.0f} ns)."
        )
    if session.lacking():
        print(f"Time was up with {session.lacking()} cases measured less often than wanted.")


def main(words):
    options = arguments_of(words)
    absent = peers.missing(options.programs)
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves programs out)")
    peers.build(options.programs)
    session = Session(options)
    facts, versions = machine.facts(options.cores), peers.versions(options.programs)
    print_head(session, facts, versions)
    begun = time.monotonic()
    while session.one_pass():
        print(f"pass {session.passes}: {time.monotonic() - begun:.0f} s, {session.lacking()} cases to go",
              flush=True)
    print_distance(session)
    print_tables(session)
    draw(session, options.picture or machine.BUILD / "pingpong.svg")
    found = bars(session.measured)
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    if options.json:
        records = [
            {"program": program, **record}
            for (program, _, _), found_records in session.measured.records.items()
            for record in found_records
        ]
        options.json.write_text(json.dumps({"records": records}, indent=1) + "\n", encoding="utf-8")
    report.last_line(figures(session, facts, versions), found)
    return 0
