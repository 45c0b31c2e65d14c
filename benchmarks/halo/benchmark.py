"""Ghosts between two blocks of a grid, beside MPI and the same copies by hand."""

import argparse
import os
import shutil
import tempfile
from pathlib import Path

from bars import LOOP, OURS, Measurements, bars, case_name
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "halo"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-Wall", "-Wextra", "-Wno-stringop-overflow"]
# Points along an edge of a block, fields, width of the ghosts.
CASES = [(64, 1, 1), (128, 1, 1), (256, 1, 1), (64, 8, 3), (128, 8, 3)]
AXES = "xyz"
WAYS = ("types", "packed")
# Bytes that a side sends in one measurement.
BYTES, QUICK_BYTES = 1 << 30, 1 << 27
LIMIT_S = 300

MODEL = """ymmsl_version: v0.2
models:
  halo:
    components: {{block: {{implementation: block}}}}
programs:
  block: {{executable: {program}, args: [{arguments}]}}
ligament:
  overcommit: true
  grids: {{block: {{shape: {shape}, blocks: {blocks}, periodic: {axis}}}}}
"""


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run halo", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer exchanges; about two minutes")
    parser.add_argument("--only", help=f"MPIs, separated by commas: {','.join(mpi.TITLES)}")
    parser.add_argument("--cases", help="edge:fields:width, separated by commas (default: all), such as 64:1:1")
    parser.add_argument("--cores", help="two, such as 0,1 (default: the first two)")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 9, quick 3)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (3 if options.quick else 9)
    options.bytes = QUICK_BYTES if options.quick else BYTES
    options.families = options.only.split(",") if options.only else list(mpi.TITLES)
    for family in options.families:
        if family not in mpi.TITLES:
            parser.error(f"--only: no MPI {family!r}; there are {', '.join(mpi.TITLES)}")
    named = {":".join(map(str, case)): case for case in CASES}
    chosen = options.cases.split(",") if options.cases else list(named)
    if unknown := [name for name in chosen if name not in named]:
        parser.error(f"--cases: no case {unknown[0]!r}; there are {', '.join(named)}")
    options.cases = [named[name] for name in chosen]
    here = sorted(os.sched_getaffinity(0))
    words = options.cores.split(",") if options.cores else here[:2]
    options.cores = [int(word) for word in words if str(word).isdecimal()]
    if len(words) != 2 or len(set(options.cores)) != 2 or not set(options.cores) <= set(here):
        parser.error(f"--cores: two of {here} are needed")
    return options


def build(families):
    """Compiles the programs into build/benchmarks/halo."""
    OUT.mkdir(parents=True, exist_ok=True)
    run(["gcc", *FLAGS, HERE / "bare.c", "-o", OUT / "bare"], seconds=120)
    run(["gcc", *FLAGS, HERE / "ours.c", "-o", OUT / "ours", *Ligament().flags()], seconds=120)
    for family in families:
        run([f"mpicc.{family}", *FLAGS, HERE / "mpi.c", "-o", OUT / f"mpi-{family}"], seconds=120)


def arguments(options, case, axis):
    """Returns the last arguments of all programs, as text: CUT EDGE FIELDS GHOSTS ROUNDS."""
    edge, fields, ghosts = case
    rounds = max(options.bytes // (2 * edge * edge * ghosts * fields * 8), 8)
    return [str(number) for number in (AXES.index(axis), edge, fields, ghosts, rounds)]


def ours(words, case, axis, environment):
    """Returns what block 0 has written in a run of two blocks along an axis."""
    shape = [case[0] * (2 if one == axis else 1) for one in AXES]
    blocks = [2 if one == axis else 1 for one in AXES]
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
    try:
        listed = ", ".join(f"'{word}'" for word in (folder / "times", *words))
        (folder / "model.ymmsl").write_text(MODEL.format(
            program=OUT / "ours", arguments=listed, shape=shape, blocks=blocks, axis=axis))
        run([Ligament().command, "run", "model.ymmsl", "--quiet"], seconds=LIMIT_S, folder=folder,
            environment=environment)
        return (folder / "times").read_text()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def programs(options, case, axis):
    """Returns functions by the names of the programs. Each measures, and returns what its program printed."""
    words = arguments(options, case, axis)
    environment = {**mpi.ENVIRONMENT, "HALO_CORES": ",".join(map(str, options.cores))}

    def started(command):
        return lambda: run(command, seconds=LIMIT_S, environment=environment)

    found = {OURS: lambda: ours(words, case, axis, environment), LOOP: started([OUT / "bare", *words])}
    for family in options.families:
        for way in WAYS:
            command = [*mpi.launcher(family, 2), OUT / f"mpi-{family}", way, *words]
            found[f"{mpi.TITLES[family]}, {way}"] = started(command)
    return found


def one_pass(options, measured, number):
    """Measures each case with each program in turn; every second time in the reverse order."""
    for case in options.cases:
        sums = {}
        for axis in AXES:
            for name, measure in list(programs(options, case, axis).items())[:: 1 if number % 2 == 0 else -1]:
                sums[name] = sums.get(name, 0) + float(measure().split()[0])
        for name, time in sums.items():
            measured.add(case, name, time)


def main(words):
    options = arguments_of(words)
    if absent := [*Ligament().missing(), *mpi.missing(options.families)]:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves MPIs out)")
    build(options.families)
    facts = machine.facts(options.cores)
    versions = {"ligament": Ligament().version(), **mpi.versions(options.families)}
    print("halo: ghosts between two blocks of a grid\n")
    for name, value in {**facts, **versions, "repetitions": options.repetitions}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    measured = Measurements()
    for number in range(options.repetitions):
        one_pass(options, measured, number)
        print(f"pass {number + 1} of {options.repetitions} is done", flush=True)
    for case in measured.cases():
        edge, fields, ghosts = case
        size = 6 * edge * edge * ghosts * fields * 8
        rows = [(name, [report.spread([ns / 1e3 for ns in times]), report.spread([size / ns for ns in times])])
                for (of, name), times in measured.times.items() if of == case]
        report.table(case_name(case), ["µs for six faces", "GB/s each way"], rows)
    figures = {"machine": facts, "versions": versions,
               "us": {f"{case_name(case)}: {name}": [report.significant(ns / 1e3) for ns in times]
                      for (case, name), times in measured.times.items()}}
    found = bars(measured)
    print("\nbars: the median of the ratios of single repetitions, and their spread")
    for bar in found:
        print(bar.line())
    report.last_line(figures, found)
    return 0
