"""The calls of others over Ligament: `libmuscle` beside MUSCLE 3 and own calls, `MPWide.h` beside own calls;
and windows of implicit coupling beside NumPy."""

import argparse
import os
import shutil
import statistics
import sys
from importlib import metadata

import bars
import implicit
import mpwide
from lib import machine, report
from lib.machine import BUILD, REPOSITORY, CannotMeasure, run

HERE = REPOSITORY / "benchmarks/faces"
PACKAGES = REPOSITORY / ".venv/bin/python"
ROUNDS = {0: 4000, 1 << 10: 4000, 64 << 10: 2000, 256 << 10: 1000, 1 << 20: 300}
# MUSCLE 3 needs about a millisecond for a message.
PEER_ROUNDS = {bytes_: rounds // 4 for bytes_, rounds in ROUNDS.items()}
TESTS = REPOSITORY / "faces/libmuscle-python/tests"


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run faces", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition instead of 7")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)} (default: all)")
    options = parser.parse_args(words)
    options.repetitions = 1 if options.quick else 7
    options.parts = options.only.split(",")
    if unknown := [name for name in options.parts if name not in PARTS]:
        parser.error(f"--only: there is no {unknown[0]!r}; there are {', '.join(PARTS)}")
    return options


def environment():
    """Makes the environment with the face, from the packages of `make build`, and returns its interpreter."""
    home = BUILD / "faces"
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    make = "import sys, pathlib, environment; environment.make_environment(pathlib.Path(sys.argv[1]))"
    run([PACKAGES, "-c", make, home], seconds=120, folder=TESTS)
    return home / "bin/python"


def measured(face, bytes_, cores):
    """Returns the median one-way time (ns) under MUSCLE 3, with the face, and with Ligament's own calls."""
    took = []
    for interpreter, rounds, own in ((PACKAGES, PEER_ROUNDS[bytes_], ()), (face, ROUNDS[bytes_], ()),
                                     (face, ROUNDS[bytes_], ("--ligament",))):
        words = [interpreter, "-W", "ignore", HERE / "ping.py", bytes_, rounds, *cores, *own]
        took.append(float(run(words, seconds=300).splitlines()[-1]))
    return took


def measure_libmuscle(face, repetitions, cores):
    """Prints the table of one-way times. Returns the figures and the bars."""
    times = {bytes_: [] for bytes_ in ROUNDS}
    for _ in range(repetitions):
        for bytes_ in ROUNDS:
            times[bytes_].append(measured(face, bytes_, cores))
    show("one-way time, median (least and largest), µs", ["MUSCLE 3", "the face", "own calls"], times)
    return {"one_way_us": medians(times)}, bars.bars(times)


def measure_mpwide(face, repetitions, cores):
    """Prints the table of exchanges. Returns the figures and the bars."""
    times = mpwide.measured(mpwide.programs(), repetitions, cores)
    show("an exchange over a path, median (least and largest), µs", ["MPWide.h", "own calls"], times)
    return {"exchange_us": medians(times)}, bars.exchange_bars(times)


def measure_implicit(face, repetitions, cores):
    """Prints the times of a window. Returns the figures and the bars."""
    rows = implicit.measured(PACKAGES, repetitions)
    title = "a window of 100,000 values, median (least and largest), µs"
    cells = [report.spread([row[i] / 1e3 for row in rows]) for i in (0, 1)]
    report.table(title, ["in a run", "NumPy"], [("", cells)])
    figures = [report.significant(statistics.median(one) / 1e3) for one in zip(*rows)]
    return {"window_us": figures}, bars.window_bars(rows)


PARTS = {"libmuscle": measure_libmuscle, "mpwide": measure_mpwide, "implicit": measure_implicit}


def show(title, columns, times):
    """Prints a table of times in ns, by bytes."""
    rows = [
        (report.size_name(bytes_), [report.spread([one[i] / 1e3 for one in rows]) for i in range(len(columns))])
        for bytes_, rows in times.items()
    ]
    report.table(title, columns, rows)


def medians(times):
    """Returns the median times in µs, by the name of the size."""
    return {
        report.size_name(bytes_): [report.significant(statistics.median(one) / 1e3) for one in zip(*rows)]
        for bytes_, rows in times.items()
    }


def main(words):
    options = arguments_of(words)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise CannotMeasure("two cores are needed")
    if not PACKAGES.exists():
        raise CannotMeasure(f"{PACKAGES} is missing; build Ligament first: make build")
    if sys.flags.optimize:
        raise CannotMeasure("call it without -O")
    face = environment() if "libmuscle" in options.parts else None
    peer = run([PACKAGES, "-c", "import libmuscle; print(libmuscle.__version__)"], seconds=60).strip()
    facts = {**machine.facts(cores), "MUSCLE 3": peer, "Python": metadata.sys.version.split()[0]}
    print("faces: the calls of others over Ligament\n")
    for name, value in {**facts, "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}", flush=True)
    figures, found = {}, []
    for part in options.parts:
        more, its_bars = PARTS[part](face, options.repetitions, cores)
        figures.update(more)
        found += its_bars
    print("\nbars")
    for bar in found:
        print(bar.line())
    report.last_line(figures, found)
    return 0
