"""Heat in a bar from 0 to 2 with temperature 1 at its left end and 0 at its right one, which is 0 at first: by
cells of 0.1 and backward Euler, in one program, and as two halves."""

import numpy as np

WIDTH, DT, CELLS = 0.1, 0.1, 10


def matrix(count, left, right):
    """Conduction in `count` cells. `left` and `right` say whether an end is held at a temperature."""
    inner = np.diag(np.full(count, -2.0)) + np.diag(np.ones(count - 1), 1) + np.diag(np.ones(count - 1), -1)
    # The end of a bar is half a cell from the centre of the last cell.
    inner[0, 0] = -3.0 if left else -1.0
    inner[-1, -1] = -3.0 if right else -1.0
    return inner / WIDTH**2


def stepped(temperatures, ends, flux=(0.0, 0.0)):
    """The temperatures after a step. `ends` are held temperatures, or `None` where `flux` comes in."""
    count = len(temperatures)
    system = np.eye(count) - DT * matrix(count, *(end is not None for end in ends))
    source = temperatures.copy()
    for cell, end, into in ((0, ends[0], flux[0]), (-1, ends[1], flux[1])):
        source[cell] += DT * (2.0 * end / WIDTH**2 if end is not None else into / WIDTH)
    return np.linalg.solve(system, source)


def monolithic(steps):
    temperatures = np.zeros(2 * CELLS)
    for _ in range(steps):
        temperatures = stepped(temperatures, (1.0, 0.0))
    return temperatures
