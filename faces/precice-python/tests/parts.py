"""A source with two meshes that writes on some vertices in each window, and receives nothing; and a sink."""

import json
import sys

import numpy as np
import precice

name = sys.argv[1]
participant = precice.Participant(name, "../precice-config.xml", 0, 1)
left, right = f"Left-{name}", f"Right-{name}"
line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
vertices = participant.set_mesh_vertices(left, line)
participant.set_mesh_vertices(right, line)
if name == "Source":
    # The configuration does not ask for values at the beginning.
    participant.write_data(left, "Heat", vertices, [9.0, 9.0, 9.0])
participant.initialize()
came, window = [], 0
while participant.is_coupling_ongoing():
    participant.start_profiling_section("window")
    window += 1
    dt = participant.get_max_time_step_size()
    if name == "Source":
        some = window % 3
        participant.write_data(left, "Heat", vertices[:some], [10.0 * window + i for i in range(some)])
        participant.write_data(right, "Heat", vertices, [100.0 * window + i for i in range(3)])
    else:
        came.append([participant.read_data(mesh, "Heat", vertices, time).tolist()
                     for mesh in (left, right) for time in (0.0, dt)])
    participant.stop_last_profiling_section()
    participant.advance(dt)
participant.finalize()
print(json.dumps(came))
