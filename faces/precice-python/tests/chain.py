"""One of three masses in a row, in the calls of preCICE: chain.py NAME. Each is joined to a wall, and the
middle one to both others."""

import sys

import numpy as np
import precice
from chain_alone import BEGIN, NEIGHBOURS, STEP
from oscillator_alone import BETWEEN, MASS, WALL, stepped

name = sys.argv[1]
mesh, own = f"{name}-Mesh", f"{name}-Displacement"
neighbours = NEIGHBOURS[name]
# The stiffness of a mass has the spring to its wall and one to each neighbour.
parameters = MASS, WALL + BETWEEN * (len(neighbours) - 1), BETWEEN

participant = precice.Participant(name, "../precice-config.xml", 0, 1)
# The meshes have one, two and three points.
count = list(NEIGHBOURS).index(name) + 1
points = np.stack([np.zeros(count), np.arange(count)], axis=1)
vertices = participant.set_mesh_vertices(mesh, points)
state, time = (BEGIN[name], 0.0), 0.0
if participant.requires_initial_data():
    participant.write_data(mesh, own, vertices, np.full(len(vertices), state[0]))
participant.initialize()


def pushed(at):
    """The sum of the displacements of the neighbours at a time after the last step."""
    found = [participant.read_data(mesh, f"{one}-Displacement", vertices, at) for one in neighbours]
    assert all(np.ptp(values) == 0.0 for values in found)
    return sum(values[0] for values in found)


windows = 0
while participant.is_coupling_ongoing():
    if participant.requires_writing_checkpoint():
        saved = state, time
    dt = participant.get_max_time_step_size()
    assert abs(dt - STEP) < 1e-12
    state, time = stepped(state, (pushed(0.0), pushed(dt)), dt, parameters), time + dt
    participant.write_data(mesh, own, vertices, np.full(len(vertices), state[0]))
    participant.advance(dt)
    if participant.requires_reading_checkpoint():
        state, time = saved
    windows += participant.is_time_window_complete()
participant.finalize()
print(f"windows {windows} time {time:.6f} displacement {float(state[0])!r}")
