"""The time from the kill of one process, at random moments, to the end of the last process of its run; beside
MPI's launchers."""

import argparse
import os
import random
import statistics
import tempfile
from pathlib import Path

from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run
from shot import LIMIT, Shot, fire

HERE = Path(__file__).resolve().parent
OUT = BUILD / "failfast"
PEERS = 8  # processes; each of one half exchanges with one of the other half
MAX_TIME_RATIO = 1.0  # times the worst time of the faster of the two MPI launchers
FAMILIES = {"ligament": "Ligament", **mpi.TITLES}


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run failfast", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 moments instead of 50")
    parser.add_argument("--moments", type=int, help="how many random moments (default 50, quick 10)")
    parser.add_argument("--only", help=f"of {','.join(FAMILIES)}, separated by commas")
    parser.add_argument("--seed", type=int, help="where chance begins (default: a new one)")
    options = parser.parse_args(words)
    options.moments = options.moments or (10 if options.quick else 50)
    options.seed = random.randrange(1 << 31) if options.seed is None else options.seed
    options.families = options.only.split(",") if options.only else list(FAMILIES)
    if not set(options.families) <= set(FAMILIES):
        parser.error(f"--only: {', '.join(FAMILIES)}")
    return options


def build(families):
    absent = [*mpi.missing(families), *(Ligament().missing() if "ligament" in families else [])]
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves programs out)")
    OUT.mkdir(parents=True, exist_ok=True)
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
    for family in families:
        program = OUT / f"fail_{family}"
        if family == "ligament":
            run(["gcc", *flags, HERE / "peer.c", "-o", program, *Ligament().flags()], seconds=120)
        else:
            run([f"mpicc.{family}", *flags, "-DWITH_MPI", HERE / "peer.c", "-o", program], seconds=120)


MODEL = """ymmsl_version: v0.1
model:
  name: failfast
  components:
    asks: {implementation: asks, multiplicity: HALF, ports: {o_i: out, s: in}}
    answers: {implementation: answers, multiplicity: HALF, ports: {s: in, o_i: out}}
  conduits:
    asks.out: answers.in
    answers.out: asks.in
implementations:
  asks: {executable: PROGRAM, args: [asks]}
  answers: {executable: PROGRAM, args: [answers]}
"""


def command_of(family, folder):
    program = OUT / f"fail_{family}"
    if family in mpi.TITLES:
        return [*mpi.launcher(family, PEERS), str(program)]
    model = folder / "model.ymmsl"
    model.write_text(MODEL.replace("HALF", str(PEERS // 2)).replace("PROGRAM", str(program)))
    return [str(Ligament().command), "run", str(model), "--run-dir", str(folder / "run"), "--quiet"]


def measure(options):
    """Returns the results of all shots by family. All families get the same moments, one family after the other
    at each moment."""
    chance, found = random.Random(options.seed), {family: [] for family in options.families}
    for i in range(options.moments):
        victim = "launcher" if i % 2 else "peer"
        moment, pick = chance.uniform(0.0, 1.0), chance.random()
        for family in options.families:
            with tempfile.TemporaryDirectory(prefix="failfast-") as folder:
                folder = Path(folder)
                command = tuple(command_of(family, folder))
                found[family].append(fire(Shot(command, folder, f"fail_{family}"[:15], victim, moment, pick)))
    return found


def main(words):
    options = arguments_of(words)
    os.environ.update(mpi.ENVIRONMENT)
    build(options.families)
    facts = machine.facts([0])
    versions = mpi.versions(options.families)
    if "ligament" in options.families:
        versions["Ligament"] = Ligament().version()
    print(
        f"{options.moments} moments in the first second of a run, seed {options.seed}; {PEERS} processes that "
        f"exchange, "
          "each with a child in a session of its own; a peer and the launcher are killed in turn")
    for name, value in facts.items():
        print(f"  {name}: {value}")
    for title, version in versions.items():
        print(f"  {title}: {version}")
    found = measure(options)
    rows, figures = [], {"seed": options.seed, "moments": options.moments, "machine": facts,
                         "versions": versions}
    for family, shots in found.items():
        for hit in ("peer", "launcher"):
            times = [shot["seconds"] for shot in shots if shot["hit"] == hit]
            never = sum(shot["never"] for shot in shots if shot["hit"] == hit)
            if times:
                rows.append((f"{FAMILIES[family]}, {hit} killed", [
                    len(times), 1e3 * statistics.median(times), 1e3 * max(times), never]))
                figures[f"{family}_{hit}_median_ms"] = report.significant(1e3 * statistics.median(times))
                figures[f"{family}_{hit}_worst_ms"] = report.significant(1e3 * max(times))
                figures[f"{family}_{hit}_never_ended"] = never
    report.table(
        f"from the kill to the end of the last process (never: had not ended after {LIMIT} s, and were killed)",
        ["shots", "median, ms", "worst, ms", "never"], rows)
    bars = []
    worst = {family: max(shot["seconds"] for shot in shots) for family, shots in found.items()}
    if ours := worst.pop("ligament", None):
        if worst:
            peer = min(worst.values())
            ratios = [shot["seconds"] / peer for shot in found["ligament"]]
            bars.append(report.Bar("from a kill to the end of the last, worst", ours / peer, ratios, "<=",
                                   MAX_TIME_RATIO,
                                   "times the quicker launcher's"))
    print("\nbars (value, limit, spread of the shots)")
    for bar in bars:
        print(bar.line())
    report.last_line(figures, bars)
    return 0
