"""A mass of the oscillator in the calls of preCICE: mass.py NAME DISPLACEMENT STEPS, with STEPS time steps of
the trapezoidal rule in each window."""

import sys

import numpy as np
import precice
from oscillator_alone import BETWEEN, MASS, WALL, stepped

name, displaced, steps = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
side, other = (part.split("-")[0] for part in (name, "Right-Mass" if name == "Left-Mass" else "Left-Mass"))
mesh, own, neighbours = f"{side}-Mesh", f"{side}-Displacement", f"{other}-Displacement"

participant = precice.Participant(name, "elsewhere.xml", 0, 1)
assert participant.get_mesh_dimensions(mesh) == 2 and participant.get_data_dimensions(mesh, own) == 1
vertices = participant.set_mesh_vertices(mesh, np.zeros((1, 2)))
if participant.requires_initial_data():
    participant.write_data(mesh, own, vertices, [displaced])
participant.initialize()
assert participant.get_mesh_vertex_size(mesh) == 1

state, time, saved, complete = (displaced, 0.0), 0.0, None, 0
while participant.is_coupling_ongoing():
    if participant.requires_writing_checkpoint():
        saved = state, time
    dt = min(0.01 / steps, participant.get_max_time_step_size())
    here, there = (participant.read_data(mesh, neighbours, vertices, at)[0] for at in (0.0, dt))
    state, time = stepped(state, (here, there), dt, (MASS, WALL, BETWEEN)), time + dt
    participant.write_data(mesh, own, vertices, [state[0]])
    participant.advance(dt)
    if participant.requires_reading_checkpoint():
        state, time = saved
        assert not participant.is_time_window_complete()
    complete += participant.is_time_window_complete()
participant.finalize()
print(f"windows {complete} time {time:.6f} displacement {float(state[0])!r}")
