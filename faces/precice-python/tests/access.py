"""Two sides of a coupling on one mesh: Solid provides its points, and Fluid asks for those with x up to 0.7.
Fluid writes a force at each of them, (x, heat)."""

import sys

import numpy as np
import precice

MESH, name = "Solid-Mesh", sys.argv[1]
participant = precice.Participant(name, "../precice-config.xml", 0, 1)
if name == "Solid":
    points = np.stack([np.linspace(0.0, 1.0, 6), np.arange(6.0)], axis=1)
    ids = participant.set_mesh_vertices(MESH, points)
    participant.initialize()
else:
    participant.set_mesh_access_region(MESH, [-np.inf, 0.7, -1.0, 10.0])
    participant.initialize()
    ids, points = participant.get_mesh_vertex_ids_and_coordinates(MESH)
    assert participant.get_mesh_vertex_size(MESH) == len(ids) == 4 and (points[:, 0] <= 0.7).all()
step = 0
while participant.is_coupling_ongoing():
    dt = participant.get_max_time_step_size()
    if name == "Solid":
        participant.write_data(MESH, "Heat", ids, step + points[:, 1])
    else:
        heat = participant.read_data(MESH, "Heat", ids, dt)
        participant.write_data(MESH, "Force", ids, np.stack([points[:, 0], heat], axis=1))
    participant.advance(dt)
    step += 1
if name == "Solid":
    print(participant.read_data(MESH, "Force", ids, 0.0).tolist())
participant.finalize()
