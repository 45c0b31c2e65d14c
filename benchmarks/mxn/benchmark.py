"""Parts of an array between ranks, beside MPI with subarray types and the same copies by hand."""

import argparse
import shutil
import tempfile
from pathlib import Path

from bars import Measurements, bars
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "mxn"
FLAGS = ["-O2", "-march=native", "-Wall", "-Wno-stringop-overflow"]
# For each layout: the division of the cube among senders and their number, and the same for receivers.
LAYOUTS = {"2 to 2": ("first", 2, "last", 2), "4 to 4": ("first", 4, "last", 4),
           "8 to 8": ("first", 8, "last", 8), "blocks 8 to 2": ("blocks", 8, "last", 2)}
EDGE, QUICK_EDGE = 512, 256
STEPS = 10
WAYS = ("alltoallw", "isend")
LIMIT_S = 300

MODEL = """ymmsl_version: v0.2
models:
  mxn:
    components:
      left: {{ports: {{o_i: cube}}, implementation: left}}
      right: {{ports: {{s: cube}}, implementation: right}}
    conduits: {{left.cube: right.cube}}
programs:
  left: {{executable: {program}, args: [{way}, {source}, '{edge}', '{steps}', none]}}
  right: {{executable: {program}, args: [receive, {target}, '{edge}', '{steps}', {file}]}}
ligament:
  memory: {memory} GiB
  ranks: {{left: {senders}, right: {receivers}}}
  exchange: {{left.cube -> right.cube: {{array: [{edge}, {edge}, {edge}]}}}}
"""


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run mxn", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smaller cube, and less of it; about a minute")
    parser.add_argument("--only", help=f"MPIs, separated by commas: {','.join(mpi.TITLES)}")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 5, quick 3)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.edge = QUICK_EDGE if options.quick else EDGE
    options.families = options.only.split(",") if options.only else list(mpi.TITLES)
    for family in options.families:
        if family not in mpi.TITLES:
            parser.error(f"--only: no MPI {family!r}; there are {', '.join(mpi.TITLES)}")
    return options


def build(families):
    """Compiles the programs into build/benchmarks/mxn."""
    OUT.mkdir(parents=True, exist_ok=True)
    run(["gcc", "-std=gnu11", *FLAGS, "-pthread", HERE / "bare.c", "-o", OUT / "bare"], seconds=120)
    compiled = [*FLAGS, HERE / "ranks.c", "-o", OUT / "ranks", *Ligament().flags()]
    run(["gcc", "-std=gnu11", *compiled], seconds=120)
    for family in families:
        compiled = [*FLAGS, HERE / "peer.c", "-o", OUT / f"peer-{family}"]
        run([f"mpicc.{family}", "-std=gnu11", *compiled], seconds=120)


def ours(way, layout, edge):
    """Returns the ns of an exchange by Ligament, from the end of the warm-up to the end of the last exchange.
    """
    source, senders, target, receivers = LAYOUTS[layout]
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
    try:
        (folder / "model.ymmsl").write_text(MODEL.format(
            program=OUT / "ranks", way=way, source=source, target=target, edge=edge, steps=STEPS,
            file=folder / "times", senders=senders, receivers=receivers,
            memory=max(2, 4 * edge**3 * 8 >> 30)))
        command = [Ligament().command, "run", "model.ymmsl", "--overcommit", "--quiet"]
        run(command, seconds=LIMIT_S, folder=folder)
        texts = [(folder / f"times.{rank}").read_text() for rank in range(receivers)]
        times = [list(map(int, text.split())) for text in texts]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return (max(last for _, last in times) - min(first for first, _ in times)) / STEPS


def peers(options, layout):
    """Yields the times of the other programs by name. Each prints the time of an exchange."""
    arguments = [*map(str, LAYOUTS[layout]), str(options.edge), str(STEPS)]
    ranks = LAYOUTS[layout][1] + LAYOUTS[layout][3]
    yield "bare copies", [OUT / "bare", "copies", *arguments]
    yield "bare shared", [OUT / "bare", "shared", *arguments]
    for family in options.families:
        for way in WAYS:
            command = [*mpi.launcher(family, ranks), OUT / f"peer-{family}", way, *arguments]
            yield f"MPI: {mpi.TITLES[family]}, {way}", command


def one_pass(options, measured):
    for layout in LAYOUTS:
        measured.add(layout, "private arrays", ours("send", layout, options.edge))
        measured.add(layout, "a loan", ours("loan", layout, options.edge))
        for name, command in peers(options, layout):
            printed = run(command, seconds=LIMIT_S, environment=mpi.ENVIRONMENT)
            measured.add(layout, name, float(printed.split()[0]))


def main(words):
    options = arguments_of(words)
    if absent := [*Ligament().missing(), *mpi.missing(options.families)]:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves MPIs out)")
    build(options.families)
    facts = machine.facts([0, 1])
    versions = {"ligament": Ligament().version(), **mpi.versions(options.families)}
    print("mxn: parts of an array between ranks\n")
    for name, value in {**facts, **versions, "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    measured = Measurements()
    for _ in range(options.repetitions):
        one_pass(options, measured)
    size = options.edge**3 * 8
    for layout in LAYOUTS:
        rows = [(what, [report.spread([ns / 1e6 for ns in times]), report.spread([size / ns for ns in times])])
                for (of, what), times in measured.times.items() if of == layout]
        report.table(f"{options.edge}³ doubles, {layout}", ["ms an exchange", "GB/s"], rows)
    figures = {"machine": facts, "versions": versions, "edge": options.edge,
               "ms": {f"{layout}: {what}": [report.significant(ns / 1e6) for ns in times]
                      for (layout, what), times in measured.times.items()}}
    found = bars(measured)
    print("\nbars")
    for bar in found:
        print(bar.line())
    report.last_line(figures, found)
    return 0
