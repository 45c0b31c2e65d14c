"""Samples within a window: participants with several steps in each read what others had at these times."""

import csv
import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from oscillator_alone import BETWEEN, MASS, WALL, exact, monolithic, stepped
from precice.convert import main

HERE = Path(__file__).resolve().parent
OSCILLATOR = (HERE / "oscillator.xml").read_text()
ILS = ('<acceleration:IQN-ILS><data name="Right-Displacement" mesh="Left-Mesh"/>'
       '<time-windows-reused value="5"/></acceleration:IQN-ILS>')


def masses(left, right):
    mass = f"{sys.executable} {HERE / 'mass.py'}"
    return {"Left_Mass": f"{mass} Left-Mass 1.0 {left}", "Right_Mass": f"{mass} Right-Mass 0.0 {right}"}


def found(ran):
    assert ran.status == 0, ran.text
    return np.array([float(ran.said(name).split()[5]) for name in ("Left_Mass", "Right_Mass")])


@pytest.mark.parametrize("acceleration", ["", ILS])
@pytest.mark.parametrize("scheme", ["serial", "parallel"])
def test_with_a_sample_for_each_step_the_result_is_that_of_one_program_with_these_steps(coupled, scheme,
                                                                                        acceleration):
    text = OSCILLATOR.replace("ACCELERATION", acceleration).replace("serial-implicit", f"{scheme}-implicit")
    ran = coupled(text, samples=4, **masses(4, 4))
    np.testing.assert_allclose(found(ran), monolithic(0.0025, 400)[-1], atol=1e-7)
    (path,) = ran.directory.rglob("coupling.csv")
    with path.open() as file:
        assert {row["converged"] for row in csv.DictReader(file)} == {"1"}


def test_participants_with_other_steps_interpolate_between_samples(coupled):
    text = OSCILLATOR.replace("ACCELERATION", ILS)
    errors = [np.abs(found(coupled(text, samples=samples, **masses(4, 2))) - exact([1.0])[0]).max()
              for samples in (1, 4)]
    one_program = np.abs(monolithic(0.005, 200)[-1] - exact([1.0])[0]).max()
    assert errors[1] < one_program < errors[0]


def test_substeps_false_keeps_the_values_at_the_end_of_a_window(coupled):
    text = OSCILLATOR.replace("ACCELERATION", ILS).replace('initialize="true"',
                                                           'initialize="true" substeps="false"')
    with_samples, without = (found(coupled(text, samples=samples, **masses(4, 4))) for samples in (4, 1))
    np.testing.assert_array_equal(with_samples, without)


def stepped_with(state, neighbour):
    """The states of a mass after four steps, with the neighbour's displacement before and after each."""
    states = []
    for here, there in itertools.pairwise(neighbour):
        state = stepped(state, (here, there), 0.0025, (MASS, WALL, BETWEEN))
        states.append(state)
    return states


def explicit(scheme):
    """The displacements of an explicit scheme: who computes first has the neighbour as the window began."""
    left, right = (1.0, 0.0), (0.0, 0.0)
    for _ in range(100):
        lefts = stepped_with(left, [right[0]] * 5)
        is_serial = scheme == "serial-explicit"
        seen = [left[0], *(state[0] for state in lefts)] if is_serial else [left[0]] * 5
        left, right = lefts[-1], stepped_with(right, seen)[-1]
    return left[0], right[0]


@pytest.mark.parametrize("scheme", ["serial-explicit", "parallel-explicit"])
def test_explicit_schemes_have_samples_too(coupled, scheme):
    lines = [line for line in OSCILLATOR.replace("ACCELERATION", "").splitlines()
             if "measure" not in line and "max-iterations" not in line]
    text = "\n".join(lines).replace("serial-implicit", scheme)
    np.testing.assert_allclose(found(coupled(text, samples=4, **masses(4, 4))), explicit(scheme), atol=1e-12)


@pytest.mark.parametrize("scheme", ["serial-implicit", "parallel-implicit"])
def test_a_window_begins_with_the_last_sample_of_the_one_before(coupled, scheme):
    text = OSCILLATOR.replace("ACCELERATION", "").replace("serial-implicit", scheme)
    text = re.sub('<max-iterations value="[0-9]+"/>', '<max-iterations value="1"/>', text)
    # With one iteration, an implicit scheme does what the explicit one does.
    np.testing.assert_allclose(found(coupled(text, samples=4, **masses(4, 4))),
                               explicit(scheme.replace("implicit", "explicit")), atol=1e-12)


def test_a_number_of_samples_that_cannot_be_is_refused(tmp_path, capsys):
    file = tmp_path / "config.xml"
    file.write_text(OSCILLATOR.replace("ACCELERATION", ""))
    assert main([str(file), "--samples", "0"]) == 1
    assert "--samples is 0" in capsys.readouterr().err
