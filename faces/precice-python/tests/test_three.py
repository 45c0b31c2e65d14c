"""Three participants in one scheme: `coupling-scheme:multi`."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from chain_alone import monolithic

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
