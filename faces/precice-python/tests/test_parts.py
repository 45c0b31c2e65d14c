"""Data that go one way, data of one name on two meshes, and vertices that are written in some windows only; the
lines of what a configuration lacks for them."""

import json
import sys
from pathlib import Path

import pytest
from precice import Error
from precice.configuration import read

HERE = Path(__file__).resolve().parent
PARTS = (HERE / "parts.xml").read_text()
HEAT = (HERE / "heat.xml").read_text()
PROGRAMS = {name: f"{sys.executable} {HERE / 'parts.py'} {name}" for name in ("Source", "Sink")}
# The values at the end of each window. Those that were not written in it are 0, as all are at the beginning.
LEFT_ENDS = [[10.0, 0.0, 0.0], [20.0, 21.0, 0.0], [0.0, 0.0, 0.0], [40.0, 0.0, 0.0]]
RIGHT_ENDS = [[100.0 * window + i for i in range(3)] for window in range(1, 5)]
NOTHING = [0.0, 0.0, 0.0]
# The same at both ends of each window, by the scheme: the second participant has the values of its window.
LEFT_BEGINS, RIGHT_BEGINS = [NOTHING, *LEFT_ENDS[:3]], [NOTHING, *RIGHT_ENDS[:3]]
NEW = [list(ends) for ends in zip(LEFT_BEGINS, LEFT_ENDS, RIGHT_BEGINS, RIGHT_ENDS)]
OLD = [list(ends) for ends in zip(LEFT_BEGINS, LEFT_BEGINS, RIGHT_BEGINS, RIGHT_BEGINS)]
PARALLEL = PARTS.replace("serial-explicit", "parallel-explicit")
SINK_FIRST = PARTS.replace('first="Source" second="Sink"', 'first="Sink" second="Source"')


@pytest.mark.parametrize("text, expected", [(PARTS, NEW), (PARALLEL, OLD), (SINK_FIRST, OLD)])
def test_a_participant_that_receives_nothing_sees_the_windows(coupled, text, expected):
    ran = coupled(text, **PROGRAMS)
    assert ran.status == 0, ran.text
    assert json.loads(ran.said("Sink")) == expected


def test_several_samples_go_one_way(coupled):
    ran = coupled(PARTS, samples=2, **PROGRAMS)
    assert ran.status == 0, ran.text
    assert json.loads(ran.said("Sink")) == NEW


def test_the_name_of_a_clock_is_no_name_of_data(tmp_path):
    (tmp_path / "precice-config.xml").write_text(PARTS.replace('"Heat"', '"clock_Source"').replace(
        '<exchange data="clock_Source" mesh="Right-Source" from="Source" to="Sink"/>', "").replace(
        '<read-data name="clock_Source" mesh="Right-Sink"/>', ""))
    configuration = read(tmp_path / "precice-config.xml")
    assert configuration.clocks == {"Source": "Sink"} and configuration.clock_key("Source") == "clock_Source_"


def test_values_at_the_beginning_are_those_of_the_exchanges_that_ask_for_them(coupled):
    text = PARTS.replace('mesh="Left-Source" from="Source" to="Sink"',
                         'mesh="Left-Source" from="Source" to="Sink" initialize="true"')
    ran = coupled(text, **PROGRAMS)
    assert ran.status == 0, ran.text
    assert json.loads(ran.said("Sink")) == [[[9.0, 9.0, 9.0], *NEW[0][1:]], *NEW[1:]]


def without_measures(limit):
    lines = [line for line in HEAT.splitlines() if "convergence-measure" not in line]
    return "\n".join(lines).replace('<max-iterations value="100"/>', limit)


def test_without_a_measure_each_window_has_its_greatest_number_of_iterations(coupled):
    bar = f"{sys.executable} {HERE / 'bar.py'}"
    text = without_measures('<max-iterations value="3"/>')
    ran = coupled(text, Dirichlet=f"{bar} Dirichlet", Neumann=f"{bar} Neumann")
    assert ran.status == 0, ran.text
    (path,) = ran.directory.rglob("coupling.csv")
    assert [line.split(",")[3] for line in path.read_text().splitlines()[1:]] == ["3"] * 10


@pytest.mark.parametrize("limit", ["", '<max-iterations value="-1"/>'])
def test_the_number_of_iterations_is_unlimited_with_measures_alone(tmp_path, limit):
    (tmp_path / "precice-config.xml").write_text(HEAT.replace('<max-iterations value="100"/>', limit))
    assert read(tmp_path / "precice-config.xml").settings["max_iterations"] == 2**31 - 1
    (tmp_path / "precice-config.xml").write_text(without_measures(limit))
    with pytest.raises(Error, match="needs a convergence measure or <max-iterations>"):
        read(tmp_path / "precice-config.xml")


@pytest.mark.parametrize("old, new, line, text", [
    ('<receive-mesh name="Left-Source" from="Source"/>', "", "<mapping:nearest-neighbor direction",
     '"Sink" has no mesh "Left-Source"; add <provide-mesh> or <receive-mesh>'),
    ('name="Left-Source" from="Source"', 'name="Left-Source" from="Sink"', '<receive-mesh name="Left-Source"',
     '"Sink" does not provide the mesh "Left-Source"'),
    ('<write-data name="Heat" mesh="Left-Source"', '<write-data name="Heat" mesh="Left-Sink"',
     '<write-data name="Heat" mesh="Left-Sink"', '"Source" has no mesh "Left-Sink"'),
    ('direction="read" from="Left', 'direction="write" from="Left', '<read-data name="Heat" mesh="Left-Sink"',
     'reads "Heat" on "Left-Sink", and it comes on "Left-Source", "Right-Source"'),
    ('<exchange data="Heat" mesh="Left-Source"', '<exchange data="Heat" mesh="Left-Sink"',
     '<exchange data="Heat" mesh="Left-Sink"', '"Source" has no mesh "Left-Sink"'),
    ('<write-data name="Heat" mesh="Left-Source"/>', "", '<exchange data="Heat" mesh="Left-Source"',
     'writes it on "Right-Source"; add <mapping:nearest-neighbor direction="write"'),
    ('from="Right-Source" to="Right-Sink"', 'from="Right-Source" to="Left-Sink"',
     '<read-data name="Heat" mesh="Left-Sink"',
     'comes on "Left-Source" from "Source" and on "Right-Source" from "Source"; one of them is wanted'),
    ('<write-data name="Heat" mesh="Left-Source"/>', '<write-data name="Heat" mesh="Left-Source"/>'
     '<mapping:nearest-neighbor direction="write" from="Right-Source" to="Left-Source" '
     'constraint="consistent"/>',
     '<exchange data="Heat" mesh="Left-Source"',
     'writes "Heat" on "Left-Source" and on "Right-Source", and each of them goes to'),
])
def test_what_is_not_joined_is_told_with_its_line(tmp_path, old, new, line, text):
    assert old in PARTS
    changed = PARTS.replace(old, new)
    (tmp_path / "wrong.xml").write_text(changed)
    with pytest.raises(Error) as told:
        read(tmp_path / "wrong.xml")
    number = changed[:changed.index(line)].count("\n") + 1
    assert any(one.startswith(f"{tmp_path}/wrong.xml:{number}: ") and text in one
               for one in str(told.value).splitlines()), told.value


def test_a_participant_whose_name_comes_twice_is_told_once(tmp_path):
    (tmp_path / "wrong.xml").write_text(PARTS.replace('<participant name="Sink"', '<participant name="Source"'))
    with pytest.raises(Error) as told:
        read(tmp_path / "wrong.xml")
    assert "are both Source in a model" in str(told.value) and "is not there" not in str(told.value), told.value
