"""The cost of a pool of two instances for 1000 evaluations of 1 ms."""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from lib import machine, report
from lib.machine import BUILD, REPOSITORY, CannotMeasure, first_line, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "pool"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
LIGAMENT = TARGET / "ligament"
EVALUATIONS, WORK, MEMBERS, LIMIT = 1000, 1_000_000, 2, 1.1  # number, ns, number, times the ideal

MODEL = f"""ymmsl_version: v0.2
models:
  pool:
    components:
      study: {{ports: {{o_i: settings, s: results}}, implementation: study}}
      member: {{ports: {{o_f: answer}}, implementation: member, multiplicity: {MEMBERS}}}
    conduits:
      study.settings: member.muscle_settings_in
      member.answer: study.results
programs:
  study: {{executable: {LIGAMENT}, args: [study]}}
  member: {{executable: {OUT / "member"}, args: ["{WORK}"]}}
settings:
  study.sampler: random
  study.evaluations: {EVALUATIONS}
  study.parameters: rate = 0.0 .. 1.0
"""


def measured(place):
    """Returns the s from the first evaluation to the last."""
    directory = place / f"run-{len(list(place.glob('run-*')))}"
    run([LIGAMENT, "run", "--quiet", place / "model.ymmsl", "--run-dir", directory], seconds=120)
    times = [tuple(map(int, (directory / f"instances/member[{at}]/output.log").read_text().split()))
             for at in range(MEMBERS)]
    # The time begins when both instances take part. Before, the first one works alone.
    return (max(end for _, end in times) - min(begin for begin, _ in times)) / 1e9, \
        (max(begin for begin, _ in times) - min(begin for begin, _ in times)) / 1e9


def main(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run pool", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 runs instead of 10")
    options = parser.parse_args(words)
    if not LIGAMENT.exists():
        raise CannotMeasure(f"{LIGAMENT} is missing; build Ligament first: make build")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < MEMBERS:
        raise CannotMeasure(f"a pool of {MEMBERS} needs as many cores")
    OUT.mkdir(parents=True, exist_ok=True)
    where = [f"-I{REPOSITORY}/crates/capi/include", f"-L{TARGET}", f"-Wl,-rpath,{TARGET}", "-lligament"]
    run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", HERE / "member.c", "-o", OUT / "member", *where],
        seconds=120)
    facts = machine.facts(cores[:MEMBERS])
    version = first_line(LIGAMENT, "version") or "unknown"
    for name, value in facts.items():
        print(f"  {name}: {value}")
    print(f"  ligament: {version}")
    ratios, took = [], []
    with tempfile.TemporaryDirectory(prefix="pool-") as folder:
        place = Path(folder)
        (place / "model.ymmsl").write_text(MODEL)
        for _ in range(3 if options.quick else 10):
            time, alone = measured(place)
            # The work that one instance does alone is taken off the ideal time of two.
            ideal = (EVALUATIONS * WORK / 1e9 + alone * (MEMBERS - 1)) / MEMBERS
            ratios.append(time / ideal)
            took.append(time)
    report.table(f"{EVALUATIONS} evaluations of {WORK / 1e6} ms by {MEMBERS} instances",
                 ["s", "times the ideal"],
                 [("a study", [statistics.median(took), statistics.median(ratios)])])
    bars = [report.Bar("a pool, against the ideal", statistics.median(ratios), ratios, "<=", LIMIT, "times")]
    print("\nbars (value, limit, spread)")
    for bar in bars:
        print(bar.line())
    report.last_line({"machine": facts, "version": version, "study_s": statistics.median(took)}, bars)
    return 0
