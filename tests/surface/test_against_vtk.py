"""Surfaces have the triangles, points, area, volume and Euler number of those that VTK makes of the same
fields. VTK's figures stand in `crates/surface/tests/vtk.txt`, so that the Rust tests need no VTK; with
LIGAMENT_WRITE_PAGES=1 they are written there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
FIGURES = ROOT / "crates/surface/tests/vtk.txt"
FOLDER = Path(__file__).resolve().parent
# Relative, for area and volume. Both choose other diagonals in polygons of four corners and more, and a point
# of the crate is up to 1/512 of a cell off, as it is on each edge that ends at the level.
TOLERANCES = {"sphere": 1e-4, "gyroid": 1e-3, "noise": 0.01, "integers": 0.04}


@pytest.fixture(scope="module")
def measured():
    """Both sides' figures, from a process that has VTK."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    sys.path.insert(0, str(ROOT / "benchmarks/isosurface"))
    import benchmark

    benchmark.ensure_venv()
    library = benchmark.build_library()
    command = [benchmark.VENV / "bin/python", FOLDER / "figures.py", library]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "benchmarks/isosurface")}
    output = subprocess.run(command, text=True, check=True, capture_output=True, timeout=600,
                            env=environment).stdout
    rows = {}
    for line in output.splitlines():
        name, side, *numbers = line.split()
        rows.setdefault(name, {})[side] = [float(number) for number in numbers]
    return rows


def written():
    lines = [line.split() for line in FIGURES.read_text().splitlines() if not line.startswith("#")]
    return {name: [float(number) for number in numbers] for name, *numbers in lines}


def test_surfaces_are_those_of_vtk(measured):
    for name, sides in measured.items():
        counts = [0, 1, 4]
        assert [sides["ours"][i] for i in counts] == [sides["vtk"][i] for i in counts], name
        for i in (2, 3):
            assert sides["ours"][i] == pytest.approx(sides["vtk"][i], rel=TOLERANCES[name]), name


def test_the_rust_tests_have_the_figures_of_vtk(measured):
    if os.environ.get("LIGAMENT_WRITE_PAGES"):
        rows = [" ".join([name, *(f"{number:.10g}" for number in sides["vtk"])])
                for name, sides in measured.items()]
        head = ["# Triangles, points, area, volume and Euler number by vtkFlyingEdges3D of VTK 9.7.2;",
                "# written by tests/surface. The fields are those of tests/surface/figures.py."]
        FIGURES.write_text("\n".join(head + rows) + "\n")
    for name, numbers in written().items():
        assert numbers == pytest.approx(measured[name]["vtk"], rel=1e-8), name
    assert set(written()) == set(measured)
