"""Programs in preCICE's calls in C++ and C: each call at least once, beside each other and beside Python."""

import json
import subprocess
import sys

import numpy as np
import pytest
from conftest import HERE, PYTHON_FACE
from oscillator_alone import monolithic
from precice.configuration import Mapping
from precice.mapping import Weights
from precice.projection import Cells
from precice.radial import COMPACT, PLAIN, SHAPED, Basis
from test_parts import NEW, OLD, PARALLEL, PARTS

OSCILLATOR = (PYTHON_FACE / "tests/oscillator.xml").read_text()
FIELD = (HERE / "field.xml").read_text()
ACCESS = (PYTHON_FACE / "tests/access.xml").read_text()
AITKEN = ('<acceleration:aitken><data name="Right-Displacement" mesh="Left-Mesh"/>'
          '<initial-relaxation value="0.5"/></acceleration:aitken>')
LIMIT = 120  # s
PYTHON = f"{sys.executable} {PYTHON_FACE / 'tests/mass.py'} {{}} {{}} 1"


def said(folder, instance):
    """The last line of an instance."""
    return (folder / "instances" / instance / "output.log").read_text().strip().splitlines()[-1]


@pytest.mark.parametrize("left, right", [("mass.cpp", "mass.py"), ("mass.py", "mass.c"),
                                         ("mass.c", "mass.cpp")])
def test_the_oscillator_in_two_languages_is_as_exact_as_one_program(program, coupled, tmp_path, left, right):
    commands = [(PYTHON if source == "mass.py" else f"{program(source)} {{}} {{}}").format(name, begin)
                for source, name, begin in ((left, "Left-Mass", 1.0), (right, "Right-Mass", 0.0))]
    ran = coupled(OSCILLATOR.replace("ACCELERATION", AITKEN), Left_Mass=commands[0], Right_Mass=commands[1])
    assert ran.returncode == 0, ran.stdout
    found = []
    for name in ("Left_Mass", "Right_Mass"):
        words = said(tmp_path / "run", name).split()
        assert words[:4] == ["windows", "100", "time", "1.000000"]
        found.append(float(words[5]))
    np.testing.assert_allclose(found, monolithic(0.01, 100)[-1], atol=1e-7)


def test_samples_make_several_steps_as_exact_as_one_program_with_these_steps(program, coupled, tmp_path):
    right = PYTHON.format("Right-Mass", 0.0).rsplit(" ", 1)[0]
    ran = coupled(OSCILLATOR.replace("ACCELERATION", AITKEN), samples=4, Right_Mass=f"{right} 4",
                  Left_Mass=f"{program('mass.cpp')} Left-Mass 1.0 4")
    assert ran.returncode == 0, ran.stdout
    found = [float(said(tmp_path / "run", name).split()[5]) for name in ("Left_Mass", "Right_Mass")]
    np.testing.assert_allclose(found, monolithic(0.0025, 400)[-1], atol=1e-7)


@pytest.mark.parametrize("mistake, text", [
    ("order", "precicec_createParticipant() was not called before"),
    ("ranks", "a face for parallel participants is not there"),
    ("twice", "precicec_createParticipant() was called before"),
    ("vertex", "one of the ids is beyond them"),
    ("size", "a number of vertices or cells is -1"),
    ("dies", "SIGABRT"),
])
def test_a_mistake_in_c_ends_the_run_with_its_text(program, coupled, mistake, text):
    right = f"{program('mass.c')} Right-Mass 0.0"
    ran = coupled(OSCILLATOR.replace("ACCELERATION", ""), Right_Mass=right,
                  Left_Mass=f"{program('mass.c')} Left-Mass 1.0 {mistake}")
    assert ran.returncode != 0 and text in " ".join(ran.stdout.split()), ran.stdout


@pytest.mark.parametrize("source", ["access.cpp", "access.c"])
def test_a_program_gets_the_points_of_a_received_mesh_in_a_region(program, coupled, tmp_path, source):
    solid = f"{sys.executable} {PYTHON_FACE / 'tests/access.py'} Solid"
    ran = coupled(ACCESS, Solid=solid, Fluid=program(source))
    assert ran.returncode == 0, ran.stdout
    expected = [[0.0, 3.0], [0.2, 4.0], [0.4, 5.0], [0.6, 6.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(json.loads(said(tmp_path / "run", "Solid")), expected, atol=1e-15)


@pytest.mark.parametrize("source, sink", [("parts.cpp", "parts.py"), ("parts.py", "parts.cpp"),
                                          ("parts.cpp", "parts.cpp")])
@pytest.mark.parametrize("text, expected", [(PARTS, NEW), (PARALLEL, OLD)])
def test_data_go_one_way_in_two_languages(program, coupled, tmp_path, source, sink, text, expected):
    commands = {name: f"{sys.executable} {PYTHON_FACE / 'tests/parts.py'} {name}" if file == "parts.py" else
                f"{program(file)} {name}" for name, file in (("Source", source), ("Sink", sink))}
    ran = coupled(text, **commands)
    assert ran.returncode == 0, ran.stdout
    assert json.loads(said(tmp_path / "run", "Sink")) == expected


@pytest.mark.parametrize("text, words, why", [
    (ACCESS.replace('api-access="true"', ""), "", 'the attribute api-access="true"'),
    (ACCESS, " empty", "along each of 2 axes are wanted, in turns"),
])
def test_a_region_that_cannot_be_says_why(program, coupled, text, words, why):
    solid = f"{sys.executable} {PYTHON_FACE / 'tests/access.py'} Solid"
    ran = coupled(text, Solid=solid, Fluid=f"{program('access.c')}{words}")
    assert ran.returncode != 0 and why in " ".join(ran.stdout.split()), ran.stdout


def test_cmake_finds_the_library(face, prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(field CXX)\nfind_package(precice 3 REQUIRED CONFIG)\n"
        f"add_executable(field {HERE / 'field.cpp'})\ntarget_link_libraries(field PRIVATE precice::precice)\n"
        f"target_link_options(field PRIVATE -Wl,-rpath-link,{prefix / 'lib'})\n")
    configure = ["cmake", "-S", ".", "-B", "made", f"-DCMAKE_PREFIX_PATH={face}"]
    for command in (configure, ["cmake", "--build", "made"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=LIMIT)
    done = subprocess.run([tmp_path / "made/field", "Solid"], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode != 0 and "precice-to-ligament" in done.stderr


def test_a_program_that_was_started_by_itself_is_told_how(program):
    command = [program("mass.c"), "Left-Mass", "1.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 1 and "precice-to-ligament" in done.stderr


def scattered(dice, count):
    lattice = np.stack(np.meshgrid(*[np.arange(3)] * 3), axis=-1).reshape(-1, 3)[:count]
    return (lattice + 0.4 * dice.random((count, 3))) / 3


CASES = [(name, 0.9, None, polynomial) for name in COMPACT for polynomial in ("separate", "on", "off")]
CASES += [(name, None, 3.0 if name == "gaussian" else 0.2, "separate") for name in SHAPED]
CASES += [(name, None, None, polynomial) for name in PLAIN for polynomial in ("separate", "on")]


def field_run(program, coupled, tmp_path, text):
    """Runs two sides with vectors and scalars. Returns the points of the solid, and a function that holds what
    has come against mappings of the face in Python."""
    dice = np.random.default_rng(21)
    solid, fluid = scattered(dice, 24), scattered(dice, 20)
    heat, forces = dice.random(24), dice.random((20, 3))
    files = {}
    for key, values in {"solid": solid, "fluid": fluid, "heat": heat, "forces": forces}.items():
        files[key] = tmp_path / f"{key}.txt"
        np.savetxt(files[key], values.ravel(), fmt="%.17g")
    field = program("field.cpp")
    ran = coupled(text, Solid=f"{field} Solid {files['solid']} {files['heat']}",
                  Fluid=f"{field} Fluid {files['fluid']} {files['forces']}")
    assert ran.returncode == 0, ran.stdout

    def hold(basis, cells=None):
        projects = cells is not None
        there = Mapping("read", "Solid-Mesh", "Fluid-Mesh", "consistent", basis, projects)
        back = Mapping("write", "Fluid-Mesh", "Solid-Mesh", "conservative", basis, projects)
        expected = {"Fluid": Weights(there, solid, fluid, cells).apply(heat[:, None]),
                    "Solid": Weights(back, fluid, solid, cells).apply(forces)}
        for side, values in expected.items():
            (file,) = (tmp_path / "run/instances" / side).rglob("came.txt")
            np.testing.assert_allclose(np.loadtxt(file), values.ravel(), atol=1e-9)

    return solid, hold


@pytest.mark.parametrize("name, radius, shape, polynomial", CASES)
def test_radial_functions_give_the_values_of_the_face_in_python(program, coupled, tmp_path, name, radius, shape,
                                                                polynomial):
    lengths = f'support-radius="{radius}"' if radius else f'shape-parameter="{shape}"' if shape else ""
    text = FIELD.replace("POLYNOMIAL", f'polynomial="{polynomial}"').replace(
        "FUNCTION", f"<basis-function:{name} {lengths}/>")
    _, hold = field_run(program, coupled, tmp_path, text)
    hold(Basis(name, radius, shape, polynomial))


def test_projections_give_the_values_of_the_face_in_python(program, coupled, tmp_path):
    text = FIELD.replace("POLYNOMIAL", "").replace("FUNCTION", "")
    text = text.replace("mapping:rbf", "mapping:nearest-projection")
    solid, hold = field_run(program, coupled, tmp_path, text)
    cells = Cells(np.array([[i, i + 1] for i in range(23)]), np.array([[i, i + 1, i + 2] for i in range(10)]))
    cells.add_quads(np.array([[i, i + 1, i + 2, i + 3] for i in range(21)]), solid)
    hold(None, cells)


@pytest.mark.parametrize("solid, text", [
    ([0.1] * 6, "vertices 0 and 1 of the mesh \"Solid-Mesh\" are both at"),
    ([9.0, 9.0, 9.0], "within the support radius"),
    ([], "the mesh \"Solid-Mesh\" is empty"),
])
def test_meshes_that_cannot_be_mapped_are_named(program, coupled, tmp_path, solid, text):
    for key, values in {"solid": solid, "heat": [1.0] * (len(solid) // 3), "fluid": [0.0] * 3,
                        "forces": [1.0] * 3}.items():
        np.savetxt(tmp_path / f"{key}.txt", values)
    text_of_model = FIELD.replace("POLYNOMIAL", "").replace(
        "FUNCTION", '<basis-function:compact-polynomial-c2 support-radius="2"/>')
    field = program("field.cpp")
    ran = coupled(text_of_model, Solid=f"{field} Solid {tmp_path}/solid.txt {tmp_path}/heat.txt",
                  Fluid=f"{field} Fluid {tmp_path}/fluid.txt {tmp_path}/forces.txt")
    assert ran.returncode != 0 and text in " ".join(ran.stdout.split()), ran.stdout
