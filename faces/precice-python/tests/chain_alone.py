"""Three masses in a row in one program: the trapezoidal rule for all of them at once."""

import numpy as np
from oscillator_alone import BETWEEN, MASS, WALL

BEGIN = {"Left": 1.0, "Middle": 0.0, "Right": -0.5}  # m
NEIGHBOURS = {"Left": ["Middle"], "Middle": ["Left", "Right"], "Right": ["Middle"]}
STEP = 0.01  # s


def monolithic(steps):
    """Displacements (m) of the left, middle and right mass after some steps, which begin at rest."""
    names = list(BEGIN)
    joined = np.array([[one in NEIGHBOURS[other] for other in names] for one in names], dtype=float)
    force = (BETWEEN * (joined - np.diag(joined.sum(axis=1))) - WALL * np.eye(3)) / MASS
    u, v = np.array(list(BEGIN.values())), np.zeros(3)
    for _ in range(steps):
        before = force @ u
        u = np.linalg.solve(np.eye(3) - STEP**2 / 4 * force, u + STEP * v + STEP**2 / 4 * before)
        v = v + STEP / 2 * (before + force @ u)
    return u
