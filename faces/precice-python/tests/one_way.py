"""One of two participants, of which only Flow sends data: one_way.py NAME. Flow writes the number of the window,
and Tracer prints what it reads at the beginning and at the end of each window."""

import sys

import numpy as np
import precice

name = sys.argv[1]
participant = precice.Participant(name, "../precice-config.xml", 0, 1)
vertices = participant.set_mesh_vertices(f"{name}-Mesh", np.array([[0.0, 0.0], [1.0, 0.0]]))
participant.initialize()
window, read = 0, []
while participant.is_coupling_ongoing():
    participant.requires_writing_checkpoint()
    dt = participant.get_max_time_step_size()
    if name == "Flow":
        participant.write_data("Flow-Mesh", "Speed", vertices, np.full(2, window + 1.0))
    else:
        now = [participant.read_data("Tracer-Mesh", "Speed", vertices, at)[1] for at in (0.0, dt)]
    participant.advance(dt)
    participant.requires_reading_checkpoint()
    if participant.is_time_window_complete():
        window += 1
        read += now if name == "Tracer" else []
participant.finalize()
print(window, *read)
