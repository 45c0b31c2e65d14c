"""Three participants in one scheme, `coupling-scheme:multi`, and in two explicit schemes."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from chain_alone import BEGIN, NEIGHBOURS, STEP, monolithic
from oscillator_alone import BETWEEN, MASS, WALL, stepped
from precice import Error
from precice.configuration import read

HERE = Path(__file__).resolve().parent
CHAIN = (HERE / "chain.xml").read_text()
NAMES = ["Left", "Middle", "Right"]
ALL = "".join(f'<data name="{name}-Displacement" mesh="{name}-Mesh"/>' for name in NAMES)
ILS = f'<acceleration:IQN-ILS>{ALL}<time-windows-reused value="5"/></acceleration:IQN-ILS>'
IMVJ = f"<acceleration:IQN-IMVJ>{ALL}</acceleration:IQN-IMVJ>"
AITKEN = f"<acceleration:aitken>{ALL}</acceleration:aitken>"


def programs():
    return {name: f"{sys.executable} {HERE / 'chain.py'} {name}" for name in NAMES}


def iterations(ran):
    (path,) = ran.directory.rglob("coupling.csv")
    with path.open() as file:
        return [(int(row["iterations"]), row["converged"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("old, new, text", [
    ('    <participant name="Right"/>\n', "", '"from" of <exchange> is "Right", which is not in the scheme'),
    ('<participant name="Right"/>', '<participant name="Wrong"/>', 'names "Wrong"'),
    ('<participant name="Right"/>', '<participant name="Left"/>', 'the participant "Left" twice'),
    ('<participant name="Right"/>', '<participants first="Right" second="Left"/>',
     "<participants> in <coupling-scheme:multi> is not there"),
    ('from="Left" to="Middle" initialize', 'from="Left" to="Left" initialize', "from a participant to itself"),
    ('mesh="Left-Mesh" limit', 'mesh="Right-Mesh" limit', 'no <exchange> has the data "Left-Displacement"'),
])
def test_mistakes_in_a_scheme_of_three_are_named_with_their_line(tmp_path, old, new, text):
    assert old in CHAIN
    file = tmp_path / "config.xml"
    file.write_text(CHAIN.replace(old, new))
    with pytest.raises(Error) as error:
        read(file)
    said = str(error.value).splitlines()
    assert any("config.xml:" in line and text in line for line in said), said


@pytest.mark.parametrize("old, new, text", [
    ("    participant.advance(dt)\n", "    if windows == 5: os._exit(3)\n    participant.advance(dt)\n",
     "exit status 3"),
    ("    if participant.requires_reading_checkpoint():\n        state, time = saved\n", "",
     "requires_reading_checkpoint() was not called"),
    ("    participant.advance(dt)\n", "    state = (np.nan, 0.0)\n    participant.advance(dt)\n",
     "values are NaN or infinite"),
])
def test_one_of_three_that_fails_within_a_window_ends_the_run(coupled, tmp_path, old, new, text):
    code = (HERE / "chain.py").read_text()
    assert old in code
    (tmp_path / "wrong.py").write_text("import os\n" + code.replace(old, new))
    wrong = {**programs(), "Right": f"{sys.executable} {tmp_path / 'wrong.py'} Right"}
    ran = coupled(CHAIN.replace("ACCELERATION", ILS), **wrong)
    said = " ".join(ran.text.split())
    assert ran.status != 0 and text in said and "Right" in said, ran.text


@pytest.mark.parametrize("acceleration, most", [("", 7.0), (AITKEN, 8.0), (ILS, 4.0), (IMVJ, 4.0)])
def test_three_masses_are_as_exact_as_one_program(coupled, acceleration, most):
    ran = coupled(CHAIN.replace("ACCELERATION", acceleration), **programs())
    assert ran.status == 0, ran.text
    found = []
    for name in NAMES:
        words = ran.said(name).split()
        assert words[:4] == ["windows", "100", "time", "1.000000"]
        found.append(float(words[5]))
    np.testing.assert_allclose(found, monolithic(100), atol=1e-7)
    counts = iterations(ran)
    assert len(counts) == 100 and {converged for _, converged in counts} == {"1"}
    assert np.mean([count for count, _ in counts]) <= most


def pairs(kind, *schemes):
    """The configuration with two schemes of two participants, each with its first participant and an end."""
    found = CHAIN[: CHAIN.index("  <coupling-scheme")]
    for (first, second), until in schemes:
        exchanges = "".join(f'<exchange data="{one}-Displacement" mesh="{one}-Mesh" from="{one}" to="{other}"'
                            f' initialize="true"/>\n' for one, other in ((first, second), (second, first)))
        found += (f'<coupling-scheme:{kind}>\n<participants first="{first}" second="{second}"/>\n'
                  f'<max-time value="{until}"/>\n<time-window-size value="{STEP}"/>\n{exchanges}'
                  f"</coupling-scheme:{kind}>\n")
    return f"{found}</precice-configuration>\n"


def explicit(is_serial):
    """The displacements after 100 windows, each computed once; the masses at the ends are first."""
    states = {name: (begin, 0.0) for name, begin in BEGIN.items()}

    def pushed(name, by):
        return sum(by[one][0] for one in NEIGHBOURS[name])

    for _ in range(100):
        before = dict(states)
        for name in ("Left", "Right", "Middle"):
            end = pushed(name, states if is_serial and name == "Middle" else before)
            begin = pushed(name, before) if is_serial and name == "Middle" else end
            parameters = MASS, WALL + BETWEEN * (len(NEIGHBOURS[name]) - 1), BETWEEN
            states[name] = stepped(before[name], (begin, end), STEP, parameters)
    return [states[name][0] for name in NAMES]


@pytest.mark.parametrize("kind", ["parallel-explicit", "serial-explicit"])
def test_two_explicit_schemes_have_one_participant_in_common(coupled, kind):
    ran = coupled(pairs(kind, (("Left", "Middle"), 1.0), (("Right", "Middle"), 1.0)), **programs())
    assert ran.status == 0, ran.text
    found = [float(ran.said(name).split()[5]) for name in NAMES]
    np.testing.assert_allclose(found, explicit(kind == "serial-explicit"), atol=1e-12)


@pytest.mark.parametrize("kind, end, text", [
    ("serial-explicit", 1.0, '"Middle" computes second here'),
    ("parallel-explicit", 2.0, "the end is 2.0 here and 1.0"),
    ("parallel-implicit", 1.0, "stands beside a scheme"),
])
def test_schemes_that_cannot_stand_beside_each_other_are_named_with_their_line(tmp_path, kind, end, text):
    file = tmp_path / "config.xml"
    file.write_text(pairs(kind, (("Left", "Middle"), 1.0), (("Middle", "Right"), end)))
    with pytest.raises(Error) as error:
        read(file)
    said = str(error.value).splitlines()
    assert any("config.xml:" in line and text in line for line in said), said


@pytest.mark.parametrize("name", ["Left", "Right"])
def test_two_receivers_on_one_mesh_get_the_same_samples(coupled, name):
    exchange = f'mesh="Middle-Mesh" from="Middle" to="{name}"'
    text = CHAIN.replace("ACCELERATION", "").replace(exchange, f'{exchange} substeps="false"')
    ran = coupled(text, samples=2, **programs())
    assert ran.status == 0, ran.text
    found = [float(ran.said(name).split()[5]) for name in NAMES]
    np.testing.assert_allclose(found, monolithic(100), atol=1e-7)
