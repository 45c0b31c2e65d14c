"""Each filter of a conduit beside the same loop by hand in Rust, for each message and for each MB."""

import argparse
import json
import os
import statistics
from pathlib import Path

from lib import machine, report
from lib.machine import REPOSITORY, CannotMeasure, run

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
SIZES = (1 << 10, 64 << 10, 1 << 20, 16 << 20)
# times the time of the loop, above 64 KiB
LIMIT = 1.2


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run filters", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="3 repetitions instead of 15, and no arrays of 16 MiB")
    parser.add_argument("--core", type=int, default=0, help="the core (default 0)")
    options = parser.parse_args(words)
    if options.core not in os.sched_getaffinity(0):
        parser.error(f"--core needs one of {sorted(os.sched_getaffinity(0))}")
    options.repetitions = 3 if options.quick else 15
    options.sizes = SIZES[:-1] if options.quick else SIZES
    return options


def measured(options, size):
    """Returns for each filter the ns of a message through the filter and through the loop, of each repetition.
    """
    program = TARGET / "examples/measure"
    text = run([program, size, options.repetitions], seconds=900, cores=[options.core])
    rows = [json.loads(line) for line in text.splitlines()]
    if not rows:
        raise CannotMeasure(f"{program} printed nothing")
    return {row["filter"]: (row["ns"], row["by_hand"]) for row in rows}


def main(words):
    options = arguments_of(words)
    run(["cargo", "build", "--release", "--quiet", "-p", "ligament-filters", "--example", "measure"],
        seconds=1800, folder=REPOSITORY)
    print("Filters of conduits beside the same loops by hand\n")
    for name, value in {**machine.facts([options.core]), "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    figures, bars = {}, []
    for size in options.sizes:
        name = report.size_name(size)
        rows = []
        for filter, (ns, by_hand) in measured(options, size).items():
            ratios = [one / other for one, other in zip(ns, by_hand)]
            middle = statistics.median(ns)
            rows.append((filter, [middle / 1000, middle / 1000 / (size / 1e6),
                                  statistics.median(by_hand) / 1000,
                                  report.spread(ratios)]))
            figures[f"{filter}, {name}"] = report.significant(middle)
            if size > 64 << 10:
                bars.append(report.Bar(f"{filter}, {name}", statistics.median(ratios), ratios, "<=", LIMIT,
                                       "× by hand"))
        report.table(f"arrays of {name}", ["µs a message", "µs a MB", "µs by hand", "ratio"], rows)
    print("\nbars")
    for bar in bars:
        print(bar.line())
    report.last_line(figures, bars)
    return 0
