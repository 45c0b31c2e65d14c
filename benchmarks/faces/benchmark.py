"""Messages through the face `libmuscle`, beside MUSCLE 3 itself and beside Ligament's own calls."""

import argparse
import os
import shutil
import statistics
import sys
from importlib import metadata

import bars
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
    options = parser.parse_args(words)
    options.repetitions = 1 if options.quick else 7
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


def main(words):
    options = arguments_of(words)
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise CannotMeasure("two cores are needed")
    if not PACKAGES.exists():
        raise CannotMeasure(f"{PACKAGES} is missing; build Ligament first: make build")
    if sys.flags.optimize:
        raise CannotMeasure("call it without -O")
    face = environment()
    peer = run([PACKAGES, "-c", "import libmuscle; print(libmuscle.__version__)"], seconds=60).strip()
    facts = {**machine.facts(cores), "MUSCLE 3": peer, "Python": metadata.sys.version.split()[0]}
    print("faces: one-way time of libmuscle's calls\n")
    for name, value in {**facts, "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}", flush=True)
    times = {bytes_: [] for bytes_ in ROUNDS}
    for _ in range(options.repetitions):
        for bytes_ in ROUNDS:
            times[bytes_].append(measured(face, bytes_, cores))
    rows = [
        (report.size_name(bytes_), [report.spread([one[i] / 1e3 for one in rows]) for i in range(3)])
        for bytes_, rows in times.items()
    ]
    report.table("one-way time, median (least and largest), µs", ["MUSCLE 3", "the face", "own calls"], rows)
    found = bars.bars(times)
    print("\nbars")
    for bar in found:
        print(bar.line())
    figures = {
        report.size_name(bytes_): [report.significant(statistics.median(one[i] / 1e3 for one in rows))
                                   for i in range(3)]
        for bytes_, rows in times.items()
    }
    report.last_line({"one_way_us": figures}, found)
    return 0
