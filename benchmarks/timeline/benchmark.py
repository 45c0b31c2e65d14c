"""The cost of the timeline: the same exchange with and without it, and one wait in a bare loop."""

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path

from lib import machine, report
from lib.machine import BUILD, REPOSITORY, CannotMeasure, first_line, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "timeline"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
# Computing time of the answering side in ns. With 0, waits are short and only counted. With 20,000, each wait
# is recorded.
EXCHANGES = {"at once": 0, "after 20 µs": 20_000}
MESSAGE = 1.02  # times a message without the timeline
# Times two readings of the clock, which a wait needs in each case. They take 40 ns, so the limit is 100 ns.
RECORD = 2.5


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run timeline", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 repetitions instead of 10; within a minute")
    parser.add_argument("--repetitions", type=int, help="runs with and without (default 10, quick 3)")
    parser.add_argument("--cores", default="0,1", help="the two cores (default 0,1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (3 if options.quick else 10)
    options.blocks = 10 if options.quick else 20
    try:
        options.cores = [int(core) for core in options.cores.split(",")]
    except ValueError as problem:
        parser.error(str(problem))
    if len(options.cores) != 2 or not set(options.cores) <= os.sched_getaffinity(0):
        parser.error(f"--cores needs two of {sorted(os.sched_getaffinity(0))}")
    return options


def build():
    OUT.mkdir(parents=True, exist_ok=True)
    if not (TARGET / "ligament").exists():
        raise CannotMeasure(f"{TARGET / 'ligament'} is missing; build Ligament first: make build")
    where = [f"-I{REPOSITORY}/crates/capi/include", f"-L{TARGET}", f"-Wl,-rpath,{TARGET}", "-lligament"]
    run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", HERE / "ping.c", "-o", OUT / "ping", *where],
        seconds=120)
    run(["cargo", "build", "--release", "--quiet", "-p", "ligament-shm", "--example", "timeline_cost"],
        seconds=900, folder=REPOSITORY)


MODEL = """ymmsl_version: v0.1
model:
  name: ping
  components:
    asks: {implementation: asks, ports: {o_i: out, s: in}}
    answers: {implementation: answers, ports: {s: in, o_i: out}}
  conduits:
    asks.out: answers.in
    answers.out: asks.in
implementations:
  asks: {executable: PROGRAM, args: [asks, "CORE0", "BLOCKS", "ROUNDS", "PAUSE"]}
  answers: {executable: PROGRAM, args: [answers, "CORE1", "BLOCKS", "ROUNDS", "PAUSE"]}
"""


def exchange(options, pause, with_timeline):
    """Returns the ns of one direction, as the median of the blocks of one run, and the number of waits in its
    timeline."""
    words = {
        "PROGRAM": OUT / "ping", "CORE0": options.cores[0], "CORE1": options.cores[1], "BLOCKS": options.blocks,
        "ROUNDS": 50_000 if pause == 0 else 2000, "PAUSE": pause,
    }
    text = MODEL + ("" if with_timeline else "ligament: {timeline: 0}\n")
    for word, value in words.items():
        text = text.replace(word, str(value))
    with tempfile.TemporaryDirectory(prefix="timeline-") as folder:
        folder = Path(folder)
        (folder / "model.ymmsl").write_text(text)
        run([TARGET / "ligament", "run", folder / "model.ymmsl", "--run-dir", folder / "run", "--quiet"],
            seconds=120)
        printed = (folder / "run/instances/asks/output.log").read_text().split()
        if len(printed) != options.blocks:
            raise CannotMeasure(f"the asking process printed {printed}")
        waits = 0
        if with_timeline:
            told = run([TARGET / "ligament", "timeline", folder / "run", "--json"], seconds=60)
            waits = sum(one["waits"] for one in json.loads(told)["instances"])
        return statistics.median(map(float, printed)), waits


def in_a_loop():
    """Returns the ns of one wait in the bare loop by kind (recorded, added_up), and of two readings of the
    clock."""
    found = {}
    for line in run([TARGET / "examples/timeline_cost"], seconds=120).splitlines():
        name, ns = line.split()
        found.setdefault(name, []).append(float(ns))
    return found


def main(words):
    options = arguments_of(words)
    build()
    facts = machine.facts(options.cores)
    version = first_line(TARGET / "ligament", "version") or "unknown"
    print(f"{options.repetitions} runs with a timeline and as many without, in turn, each the median of "
          f"{options.blocks} blocks")
    for name, value in facts.items():
        print(f"  {name}: {value}")
    print(f"  ligament: {version}")
    figures = {"machine": facts, "version": version, "repetitions": options.repetitions}
    rows, bars = [], []
    for name, pause in EXCHANGES.items():
        times, waits = {True: [], False: []}, 0
        for repetition in range(options.repetitions):
            # The order alternates, so that neither side is always measured first.
            for with_timeline in (True, False) if repetition % 2 else (False, True):
                ns, seen = exchange(options, pause, with_timeline)
                times[with_timeline].append(ns)
                waits = max(waits, seen)
        on, off = statistics.median(times[True]), statistics.median(times[False])
        differences = [a - b for a, b in zip(times[True], times[False])]
        rows.append((f"answered {name}", [off, on, statistics.median(differences), min(differences),
                                          max(differences),
                                          waits]))
        key = f"pause_{pause}_ns"
        figures[f"{key}_without"] = report.significant(off)
        figures[f"{key}_with"] = report.significant(on)
        figures[f"{key}_difference"] = report.significant(statistics.median(differences))
        if pause == 0:
            ratios = [a / b for a, b in zip(times[True], times[False])]
            bars.append(report.Bar("a message with the timeline, against without", statistics.median(ratios),
                                   ratios,
                                   "<=", MESSAGE, "times"))
    report.table("one way of an empty message, ns",
                 ["without", "with", "difference", "least", "most", "waits counted"], rows)
    loop = in_a_loop()
    report.table("one wait in a bare loop, ns", ["median", "least", "most"],
                 [(name.replace("_", " "), [statistics.median(ns), min(ns),
                                            max(ns)]) for name, ns in loop.items()])
    for name, ns in loop.items():
        figures[f"{name}_ns"] = report.significant(statistics.median(ns))
    ratios = [recorded / clocks for recorded, clocks in zip(loop["recorded"], loop["two_clocks"])]
    bars.append(report.Bar("a wait that is recorded", statistics.median(ratios), ratios, "<=", RECORD,
                           "times two clocks"))
    print("\nbars (value, limit, spread)")
    for bar in bars:
        print(bar.line())
    report.last_line(figures, bars)
    return 0
