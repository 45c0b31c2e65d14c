"""Mappings between meshes: setting up and applying apart; the nearest of many points beside SciPy's cKDTree."""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from array import array
from pathlib import Path

from lib import machine, report
from lib.machine import REPOSITORY, CannotMeasure, run

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
COUNTS = (10**4, 10**5, 10**6)
STEPS = ("tree", "search", "nearest", "apply", "linear", "apply_linear")
# An environment for the packages of the peer.
VENV = REPOSITORY / "build/benchmarks/scipy"
REQUIREMENTS = "numpy==2.4.6\nscipy==1.17.1\n"
# times the time of SciPy
LIMIT = 1.0


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run mapping", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="3 repetitions instead of 9, and no million points")
    parser.add_argument("--core", type=int, default=0, help="the core (default 0)")
    options = parser.parse_args(words)
    if options.core not in os.sched_getaffinity(0):
        parser.error(f"--core needs one of {sorted(os.sched_getaffinity(0))}")
    options.repetitions = 3 if options.quick else 9
    options.counts = COUNTS[:-1] if options.quick else COUNTS
    return options


def ensure_venv():
    marker = VENV / ".requirements"
    if marker.exists() and marker.read_text() == REQUIREMENTS:
        return
    print("installing SciPy and NumPy into build/benchmarks/scipy", file=sys.stderr)
    try:
        run([sys.executable, "-m", "venv", "--clear", VENV], seconds=120)
        run([VENV / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS.split()],
            seconds=600)
    except CannotMeasure as problem:
        wanted = " ".join(REQUIREMENTS.split())
        raise CannotMeasure(
            f"cannot make the Python environment {VENV} with {wanted}; it needs python3-venv (apt-get install "
            f"python3-venv) "
            f"and PyPI:\n{problem}"
        ) from None
    marker.write_text(REQUIREMENTS)


def measured(options, count, flat):
    """Returns the times of each step in s, of Ligament and of SciPy, which take turns on the same points."""
    drawn = random.Random(count)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("known", "asked")]
        for file in files:
            points = array("d", (0.0 if flat and i % 3 == 2 else drawn.random() for i in range(3 * count)))
            file.write_bytes(points)
        ours, theirs = [], []
        for _ in range(options.repetitions):
            for times, words in ((ours, [TARGET / "examples/mapping"]),
                                 (theirs, [VENV / "bin/python", HERE / "peer_scipy.py"])):
                single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
                text = run([*words, *files], seconds=900, cores=[options.core], environment=single)
                times.append(json.loads(text.splitlines()[-1]))
    return ours, theirs


def main(words):
    options = arguments_of(words)
    ensure_venv()
    run(["cargo", "build", "--release", "--quiet", "-p", "ligament-coupling", "--example", "mapping"],
        seconds=1800, folder=REPOSITORY)
    print("Mappings between meshes, as many targets as sources, on one core\n")
    for name, value in {**machine.facts([options.core]), "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    figures, bars = {}, []
    for flat in (True, False):
        for count in options.counts:
            name = f"{count} points, {2 if flat else 3}-D"
            ours, theirs = measured(options, count, flat)
            rows = []
            for step in STEPS:
                own = [times[step] * 1e3 for times in ours]
                other = [times[step] * 1e3 for times in theirs if step in times]
                rows.append((step.replace("_", " "), [report.spread(own), report.spread(other)]))
                figures[f"{step}, {name}"] = report.significant(statistics.median(own))
            report.table(name, ["ms", "SciPy, ms"], rows)
            ratios = [one["nearest"] / other["nearest"] for one, other in zip(ours, theirs)]
            bars.append(report.Bar(f"nearest, {name}", statistics.median(ratios), ratios, "<=", LIMIT,
                                   "× SciPy"))
    print("\nbars")
    for bar in bars:
        print(bar.line())
    report.last_line(figures, bars)
    return 0
