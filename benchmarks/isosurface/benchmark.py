"""Surfaces of equal value in a run, beside VTK's Flying Edges; their share of a step; their bytes."""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

from lib import machine, report
from lib.machine import BUILD, REPOSITORY, CannotMeasure, run

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
# A Python environment with the peer's packages; `tests/surface` uses it, too.
VENV = BUILD / "vtk"
REQUIREMENTS = "numpy==2.4.6\nvtk==9.7.2\n"
C_FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
# times less processor time than VTK
SPEED_BARS = {"sphere, 256³": 2.5, "gyroid, 256³": 2.5, "noise, 128³": 1.6}
# Limits: a part of a step, in percent; bytes of a field for each byte of its surface.
STEP_BARS = {"gyroid": (5.0, 50.0), "small sphere": (2.0, 2000.0)}


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run isosurface", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 repetitions instead of 15")
    parser.add_argument("--core", type=int, default=0, help="the core (default 0)")
    options = parser.parse_args(words)
    if options.core not in os.sched_getaffinity(0):
        parser.error(f"--core needs one of {sorted(os.sched_getaffinity(0))}")
    options.repetitions = 3 if options.quick else 15
    return options


def ensure_venv():
    """Makes the environment with VTK, if it is not there."""
    marker = VENV / ".requirements"
    if marker.exists() and marker.read_text() == REQUIREMENTS:
        return
    print("installing VTK and NumPy into build/benchmarks/vtk", file=sys.stderr)
    try:
        run([sys.executable, "-m", "venv", "--clear", VENV], seconds=120)
        run([VENV / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS.split()],
            seconds=900)
    except CannotMeasure as problem:
        wanted = " ".join(REQUIREMENTS.split())
        raise CannotMeasure(f"cannot make the Python environment {VENV} with {wanted}; it needs python3-venv "
                            f"(apt-get install python3-venv) and PyPI:\n{problem}") from None
    marker.write_text(REQUIREMENTS)


def build_library():
    """Builds the crate as a shared library and returns its path."""
    run(["cargo", "build", "--release", "--quiet", "-p", "ligament-surface", "--example", "surface"],
        seconds=1800, folder=REPOSITORY)
    return TARGET / "examples/libsurface.so"


def build_sweep():
    """Compiles the step of a simulation and returns its path."""
    path = BUILD / "isosurface/sweep.so"
    path.parent.mkdir(parents=True, exist_ok=True)
    run(["gcc", *C_FLAGS, "-o", path, HERE / "sweep.c"], seconds=60)
    return path


def milliseconds(times):
    return report.spread([time * 1e3 for time in times])


def beside_vtk(beside):
    """Prints the table beside VTK; returns its bars and figures."""
    rows, bars, figures = [], [], {}
    for name, one in beside.items():
        times = one["times"]
        ratios = [vtk / ours for vtk, ours in zip(times["vtk"], times["ours"])]
        both = [ours + triangles for ours, triangles in zip(times["ours"], times["triangles"])]
        whole = [vtk / ours for vtk, ours in zip(times["vtk"], both)]
        rows.append((name, [milliseconds(times["vtk"]), milliseconds(times["ours"]),
                            milliseconds(times["triangles"]), report.spread(whole), str(one["triangles"]),
                            "yes" if one["as_vtk"] else "NO"]))
        bars.append(report.Bar(f"surface, {name}", statistics.median(ratios), ratios, ">=",
                               SPEED_BARS[name], "× as fast as VTK"))
        figures[f"with triangles, {name}"] = report.significant(statistics.median(whole))
        for key, values in times.items():
            figures[f"{key}, {name}"] = report.significant(statistics.median(values) * 1e3)
    columns = ["VTK", "surface", "its triangles", "VTK / both", "triangles", "as many in VTK"]
    report.table("processor time, ms", columns, rows)
    return bars, figures


def in_steps(steps):
    """Prints the table of shares and bytes; returns its bars and figures."""
    rows, bars, figures = [], [], {}
    for name, (share_bar, bytes_bar) in STEP_BARS.items():
        size = steps["sizes"][name]
        shares = [100 * ours / step for ours, step in zip(steps["times"][name], steps["times"]["step"])]
        fewer = size["field_bytes"] / size["bytes"]
        title = f"{size['triangles']} triangles"
        rows.append((title, [milliseconds(steps["times"]["step"]), milliseconds(steps["times"][name]),
                             report.spread(shares), str(size["bytes"]), size["bytes"] / size["triangles"]]))
        share = statistics.median(shares)
        bars += [report.Bar(f"share of a step, {title}", share, shares, "<=", share_bar, "%"),
                 report.Bar(f"bytes of the field, {title}", fewer, [fewer], ">=", bytes_bar, "× as many")]
        figures[f"bytes, {title}"] = size["bytes"]
        figures[f"share, {title}"] = report.significant(share)
    report.table("a surface in each step over 56 fields of 128³, processor time",
                 ["step, ms", "surface, ms", "share, %", "bytes", "bytes/triangle"], rows)
    return bars, figures


def main(words):
    options = arguments_of(words)
    ensure_venv()
    library, sweep = build_library(), build_sweep()
    command = [VENV / "bin/python", HERE / "measure.py", library, sweep, str(options.repetitions)]
    text = run(command, seconds=1800, cores=[options.core])
    measured = json.loads(text.splitlines()[-1])
    print("Surfaces of equal value, one thread\n")
    facts = {**machine.facts([options.core]), "VTK": measured["vtk"], "C flags": " ".join(C_FLAGS),
             "repetitions": options.repetitions}
    for name, value in facts.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    bars, figures = beside_vtk(measured["beside"])
    more_bars, more_figures = in_steps(measured["steps"])
    print("\nbars")
    for bar in bars + more_bars:
        print(bar.line())
    report.last_line({**figures, **more_figures}, bars + more_bars)
    return 0
