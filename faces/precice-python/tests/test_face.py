"""Programs in the calls of preCICE 3, in whole runs; configurations with mistakes; calls in a wrong order."""

import csv
import inspect
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from heat_alone import monolithic as whole_bar
from oscillator_alone import exact, monolithic
from precice import Error, Participant
from precice.configuration import read
from precice.convert import model
from precice.mapping import nearest

from ligament import TransportError

HERE = Path(__file__).resolve().parent
OSCILLATOR = (HERE / "oscillator.xml").read_text()
HEAT = (HERE / "heat.xml").read_text()
ACCESS = (HERE / "access.xml").read_text()
PYTHON = sys.executable


def iterations(ran):
    (path,) = ran.directory.rglob("coupling.csv")
    with path.open() as file:
        return [int(row["iterations"]) for row in csv.DictReader(file)]


def masses(steps=1):
    mass = f"{PYTHON} {HERE / 'mass.py'}"
    return {"Left_Mass": f"{mass} Left-Mass 1.0 {steps}", "Right_Mass": f"{mass} Right-Mass 0.0 {steps}"}


AITKEN = ('<acceleration:aitken><data name="Right-Displacement" mesh="Left-Mesh"/>'
          '<initial-relaxation value="0.5"/></acceleration:aitken>')
ILS = ('<acceleration:IQN-ILS><data name="Right-Displacement" mesh="Left-Mesh"/>'
       '<time-windows-reused value="5"/></acceleration:IQN-ILS>')


@pytest.mark.parametrize("acceleration, most", [("", 4.0), (AITKEN, 5.0), (ILS, 3.3)])
def test_the_oscillator_is_as_exact_as_one_program(coupled, acceleration, most):
    ran = coupled(OSCILLATOR.replace("ACCELERATION", acceleration), **masses())
    assert ran.status == 0, ran.text
    found = []
    for name in ("Left_Mass", "Right_Mass"):
        words = ran.said(name).split()
        assert words[:4] == ["windows", "100", "time", "1.000000"]
        found.append(float(words[5]))
    expected = monolithic(0.01, 100)[-1]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    error, own = (np.abs(one - exact([1.0])[0]).max() for one in (np.array(found), expected))
    assert error == pytest.approx(own, rel=1e-3)
    # A published log of preCICE has 4 iterations in each window of this problem without acceleration.
    assert len(iterations(ran)) == 100 and np.mean(iterations(ran)) <= most


def test_several_steps_in_a_window_read_between_its_ends(coupled):
    ran = coupled(OSCILLATOR.replace("ACCELERATION", ILS), **masses(4))
    assert ran.status == 0, ran.text
    found = [float(ran.said(name).split()[5]) for name in ("Left_Mass", "Right_Mass")]
    # Values between the ends of a window are linear, so the error is a little one of the second order.
    np.testing.assert_allclose(found, exact([1.0])[0], atol=5e-2)
    assert np.abs(np.array(found) - monolithic(0.01, 100)[-1]).max() > 1e-5


def test_two_halves_of_a_bar_are_the_whole_bar(coupled):
    bar = f"{PYTHON} {HERE / 'bar.py'}"
    ran = coupled(HEAT, Dirichlet=f"{bar} Dirichlet", Neumann=f"{bar} Neumann")
    assert ran.status == 0, ran.text
    parts = [np.load(next((ran.directory / "instances" / name).rglob("temperatures.npy")))
             for name in ("Dirichlet", "Neumann")]
    np.testing.assert_allclose(np.concatenate(parts), whole_bar(10), atol=1e-6)
    assert np.mean(iterations(ran)) < 6


def test_a_conservative_mapping_keeps_the_sum(coupled, tmp_path):
    text = HEAT.replace('from="Dirichlet-Mesh" to="Neumann-Mesh" constraint="consistent"',
                        'from="Dirichlet-Mesh" to="Neumann-Mesh" constraint="conservative"')
    (tmp_path / "sums.py").write_text(
        (HERE / "bar.py").read_text().replace("vertices, dt).mean()", "vertices, dt).sum() / 3"))
    bars = {"Dirichlet": HERE / "bar.py", "Neumann": tmp_path / "sums.py"}
    ran = coupled(text, **{name: f"{PYTHON} {bar} {name}" for name, bar in bars.items()})
    assert ran.status == 0, ran.text
    found = np.load(next((ran.directory / "instances/Neumann").rglob("temperatures.npy")))
    np.testing.assert_allclose(found, whole_bar(10)[10:], atol=1e-6)


@pytest.mark.parametrize("attribute", ["api-access", "direct-access"])
def test_a_program_gets_the_points_of_a_received_mesh_in_a_region(coupled, attribute):
    access = f"{PYTHON} {HERE / 'access.py'}"
    ran = coupled(ACCESS.replace("api-access", attribute), Solid=f"{access} Solid", Fluid=f"{access} Fluid")
    assert ran.status == 0, ran.text
    # The heat of the last step is 3 more than the number of the point; beyond the region no force was written.
    expected = [[0.0, 3.0], [0.2, 4.0], [0.4, 5.0], [0.6, 6.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(json.loads(ran.said("Solid")), expected, atol=1e-15)


@pytest.mark.parametrize("old, new, text", [
    ('[-np.inf, 0.7, -1.0, 10.0]', '[-1.0, 0.6]', "along each of 2 axes are wanted, in turns"),
    ('[-np.inf, 0.7, -1.0, 10.0]', '[1.0, 0.6, -1.0, 10.0]', "along each of 2 axes are wanted, in turns"),
    ('[-np.inf, 0.7, -1.0, 10.0]', '[np.nan, 0.6, -1.0, 10.0]', "along each of 2 axes are wanted, in turns"),
    ("participant.set_mesh_access_region(", "print(", "call set_mesh_access_region() before initialize()"),
    ("participant.set_mesh_access_region(MESH", "participant.set_mesh_access_region('Sea'", "has no mesh"),
])
def test_a_region_that_cannot_be_says_why(coupled, tmp_path, old, new, text):
    (tmp_path / "wrong.py").write_text((HERE / "access.py").read_text().replace(old, new))
    ran = coupled(ACCESS, Solid=f"{PYTHON} {HERE / 'access.py'} Solid",
                  Fluid=f"{PYTHON} {tmp_path / 'wrong.py'} Fluid")
    assert ran.status != 0 and text in " ".join(ran.text.split()), ran.text


def test_points_without_access_are_refused(coupled):
    access = f"{PYTHON} {HERE / 'access.py'}"
    ran = coupled(ACCESS.replace('api-access="true"', ""), Solid=f"{access} Solid", Fluid=f"{access} Fluid")
    assert ran.status != 0 and 'the attribute api-access="true"' in " ".join(ran.text.split()), ran.text


def test_nearest_points_are_those_of_all_distances():
    dice = np.random.default_rng(3)
    points, others = dice.random((200, 3)), dice.random((150, 3))
    expected = np.linalg.norm(points[:, None] - others[None], axis=-1).argmin(axis=1)
    np.testing.assert_array_equal(nearest(points, others), expected)


@pytest.mark.parametrize("old, new, text", [
    ('<max-time value="1"/>', '<max-time value="-1"/>', '"value" of <max-time> is "-1"'),
    ("mapping:nearest-neighbor direction=\"read\"", "mapping:rbf direction=\"read\"", "<mapping:rbf>"),
    ("<m2n:sockets", "<m2n:pigeons", "<m2n:pigeons>"),
    ('exchange data="Left-D', 'exchange data="Lift-D', '"Lift-Displacement"'),
    ("coupling-scheme:serial-implicit>", "coupling-scheme:compositional>", '"compositional" is not there'),
    ('<relative-convergence-measure data="Left-Displacement"', '<relative-convergence-measure data="Speed"',
     'no <exchange> has the data "Speed"'),
    ("<data:scalar name=\"Left", "<data:scalar nome=\"Left", 'has no "name"'),
    ("</precice-configuration>\n", "", "no element found"),
    ("ACCELERATION", "<acceleration:broyden/>", "<acceleration:broyden>"),
    ("ACCELERATION", '<acceleration:aitken><filter type="QR2"/></acceleration:aitken>',
     "<filter> in <acceleration:aitken>"),
    ("ACCELERATION", '<acceleration:IQN-ILS><preconditioner type="value" freeze-after="6"/>'
     "</acceleration:IQN-ILS>", '"freeze-after" of <preconditioner>'),
    ("ACCELERATION", '<acceleration:IQN-ILS><time-windows-reused value="²"/></acceleration:IQN-ILS>',
     '"value" is "²"'),
    ("ACCELERATION", "<acceleration:IQN-ILS/><acceleration:IQN-IMVJ/>", "one is wanted"),
    ('direction="read"', 'direction="sideways"', 'the direction "sideways"'),
    ('receive-mesh name="Left-Mesh"', 'receive-mesh name="Lift-Mesh"', 'names "Lift-Mesh"'),
    ('receive-mesh name="Left-Mesh"', 'receive-mesh api-access="perhaps" name="Left-Mesh"', '"api-access"'),
    ('<mesh name="Right-Mesh"', '<mesh name="Left_Mesh"', "are both Left_Mesh in a model"),
    ('<max-time value="1"/>', '<max-time value="1"/><max-time value="2"/>', "one is wanted"),
    ('first="Left-Mass"', 'first="Lift-Mass"', 'names "Lift-Mass"'),
    ('<coupling-scheme:serial-implicit>\n    <participants first="Left-Mass" second="Right-Mass"/>',
     "<coupling-scheme:serial-implicit>", "needs <participants"),
    ('limit="1e-10"', 'limit="1e-10" strict="true"', '"strict" of <relative-convergence-measure>'),
    ('initialize="true"', 'initialize="maybe"', '"initialize" of <exchange> is "maybe"'),
    ('<participant name="Left-Mass">',
     '<participant name="Left-Mass"><read-data name="Left-Displacement" mesh="Left-Mesh"/>',
     '"Left-Mass" reads "Left-Displacement"'),
])
def test_what_is_not_there_is_named_with_its_line(tmp_path, old, new, text):
    line = OSCILLATOR[:OSCILLATOR.index(old)].count("\n") + 1
    file = tmp_path / "config.xml"
    file.write_text(OSCILLATOR.replace(old, new))
    with pytest.raises(Error) as error:
        read(file)
    said = str(error.value)
    assert any(f"config.xml:{line}:" in one and text in one for one in said.splitlines()), said


def test_what_writes_files_is_left_out_with_a_warning(tmp_path):
    file = tmp_path / "config.xml"
    text = OSCILLATOR.replace("ACCELERATION", "").replace(
        '<provide-mesh name="Left-Mesh"/>', '<provide-mesh name="Left-Mesh"/><export:vtu directory="out"/>')
    file.write_text(text)
    (warning,) = read(file).warnings
    assert "config.xml:15: <export:vtu> is left out" in warning


def test_the_scheme_becomes_settings_of_the_mapper(tmp_path):
    file = tmp_path / "config.xml"
    file.write_text(HEAT)
    settings = read(file).settings
    assert settings == {
        "scheme": "serial-implicit", "first": "Heat_Flux", "window": 0.1, "until": 1.0, "max_iterations": 100,
        "no_convergence": "warn", "limits": "Heat_Flux relative 1e-08, Temperature relative 1e-08",
        "acceleration": "iqn-ils", "accelerated_by": "Temperature", "relaxation": 0.1,
        "scaling": "residual-sum", "filter": "qr2", "filter_limit": 1e-3, "max_columns": 10,
        "reused_windows": 5,
    }
    with pytest.raises(Error, match="Dirichlet=a 'b: No closing quotation"):
        model(read(file), {"Dirichlet": "a 'b", "Neumann": "c"})
    with pytest.raises(Error, match="say how Dirichlet and Neumann are started"):
        model(read(file), {})
    with pytest.raises(Error, match="--program names \"Fluid\""):
        model(read(file), {"Fluid": "x"})


@pytest.mark.parametrize("old, new, text", [
    ("participant.initialize()\n", "", "was called before initialize()"),
    ("participant.advance(dt)", "participant.advance(2 * dt)", "at most 0.01"),
    ("    if participant.requires_writing_checkpoint():\n        saved = state, time\n", "",
     "requires_writing_checkpoint() was not called"),
    ("vertices, [state[0]])", "vertices, [state[0], 1.0])", "the values have shape (2,)"),
    ("vertices, [state[0]])", "vertices, [np.nan])", "1 of 1 values are NaN"),
    ("vertices, [state[0]])", "[0.5], [1.0])", "are whole numbers"),
    ("np.zeros((1, 2))", "np.full((1, 2), np.nan)", "2 coordinates for the mesh \"Left-Mesh\" are NaN"),
    ("vertices, [state[0]])", "[7], [1.0])", "one of the ids is beyond them"),
    ("participant.finalize()\n", "participant.advance(0.1)\n", "after the last window"),
    ("set_mesh_vertices(mesh, np.zeros((1, 2)))", "set_mesh_vertices(mesh, np.zeros((1, 3)))", "2 coordinates"),
    ("neighbours, vertices, at)", "\"Speed\", vertices, at)", "does not read \"Speed\""),
    ("\"elsewhere.xml\", 0, 1)", "\"elsewhere.xml\", 1, 2)", "a face for parallel participants is not there"),
])
def test_calls_that_cannot_be_say_why(coupled, tmp_path, old, new, text):
    code = (HERE / "mass.py").read_text()
    assert old in code
    (tmp_path / "wrong.py").write_text(code.replace(old, new))
    programs = masses()
    programs["Left_Mass"] = programs["Left_Mass"].replace(str(HERE / "mass.py"), str(tmp_path / "wrong.py"))
    ran = coupled(OSCILLATOR.replace("ACCELERATION", ""), **programs)
    assert ran.status != 0 and text in " ".join(ran.text.split()), ran.text


def test_an_error_of_ligament_is_one_of_the_face():
    class LostRun:
        def reuse_instance(self):
            raise TransportError("the run is lost")

    participant = Participant.__new__(Participant)
    participant._state, participant._instance = "made", LostRun()
    with pytest.raises(Error, match="the run is lost"):
        participant.initialize()


def test_a_program_that_was_started_by_itself_is_told_how():
    with pytest.raises(Error, match="precice-to-ligament"):
        Participant("Left-Mass", str(HERE / "oscillator.xml"), 0, 1)


def test_gradients_that_no_mapping_takes_are_an_error(coupled, tmp_path):
    code = (HERE / "parts.py").read_text().replace("participant.start_profiling_section", """
    assert not participant.requires_gradient_data_for(left, "Heat")
    participant.write_gradient_data(left, "Heat", vertices, np.zeros((3, 2)))
    participant.start_profiling_section""")
    (tmp_path / "wrong.py").write_text(code)
    ran = coupled((HERE / "parts.xml").read_text(), Source=f"{PYTHON} {tmp_path / 'wrong.py'} Source",
                  Sink=f"{PYTHON} {HERE / 'parts.py'} Sink")
    assert ran.status != 0 and "no mapping takes gradients" in " ".join(ran.text.split()), ran.text


@pytest.mark.parametrize("call, names", [
    ("__init__", "solver_name configuration_file_name solver_process_index solver_process_size communicator"),
    ("advance", "computed_timestep_length"),
    ("read_data", "mesh_name data_name vertex_ids relative_read_time"),
    ("write_data", "mesh_name data_name vertex_ids values"),
    ("set_mesh_quad", "mesh_name first_vertex_id second_vertex_id third_vertex_id fourth_vertex_id"),
    ("set_mesh_tetrahedron", "mesh_name first_vertex_id second_vertex_id third_vertex_id fourth_vertex_id"),
    ("set_mesh_access_region", "mesh_name bounding_box"),
    ("start_profiling_section", "event_name"),
])
def test_a_program_may_name_its_arguments(call, names):
    assert [*inspect.signature(getattr(Participant, call)).parameters][1:] == names.split()
