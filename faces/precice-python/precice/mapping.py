"""Nearest-neighbour mapping between two sets of points."""

import numpy as np

from .errors import Error

# Number of distances that are held at once.
CHUNK = 4_000_000


def nearest(points, others):
    """For each point (n, d) the index of the nearest of the others (m, d); of equally near ones the first."""
    found = np.empty(len(points), dtype=np.intp)
    step = max(1, CHUNK // max(1, len(others)))
    for begin in range(0, len(points), step):
        part = points[begin:begin + step, None, :] - others[None, :, :]
        found[begin:begin + step] = np.einsum("nmd,nmd->nm", part, part).argmin(axis=1)
    return found


class NearestNeighbour:
    """Weights from the points `source` (n, d) to the points `target` (m, d)."""

    def __init__(self, mapping, source, target):
        for name, points in ((mapping.source, source), (mapping.target, target)):
            if not len(points):
                raise Error(f"the mapping from \"{mapping.source}\" to \"{mapping.target}\" has no points: the "
                            f"mesh \"{name}\" is empty; call set_mesh_vertices before initialize")
        self.conservative, self.targets = mapping.constraint == "conservative", len(target)
        self.index = nearest(source, target) if self.conservative else nearest(target, source)

    def apply(self, values):
        """Maps values (n, components) to (m, components)."""
        if not self.conservative:
            return values[self.index]
        mapped = np.zeros((self.targets, values.shape[1]))
        np.add.at(mapped, self.index, values)
        return mapped
