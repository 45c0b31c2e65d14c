"""Mappings between two meshes: nearest neighbours, nearest projections, and radial basis functions."""

import numpy as np

from . import radial
from .errors import Error
from .projection import projected

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


class Weights:
    """The weights of a mapping from the points `source` (n, d) to the points `target` (m, d). `cells` are those
    of the mesh on which a mapping projects."""

    def __init__(self, mapping, source, target, cells=None):
        for name, points in ((mapping.source, source), (mapping.target, target)):
            if not len(points):
                raise Error(f"the mapping from \"{mapping.source}\" to \"{mapping.target}\" has no points: the "
                            f"mesh \"{name}\" is empty; call set_mesh_vertices before initialize")
        self.conservative, self.targets = mapping.constraint == "conservative", len(target)
        # A conservative mapping is the transpose of the consistent one the other way.
        names, ends = (mapping.source, mapping.target), (source, target)
        if self.conservative:
            names, ends = names[::-1], ends[::-1]
        self.index = self.matrix = self.shares = None
        if mapping.projects:
            self.index, self.shares = projected(ends[0], cells, ends[1])
        elif mapping.basis is None:
            self.index = nearest(ends[1], ends[0])
        else:
            matrix = radial.weights(names, *ends, mapping.basis)
            self.matrix = matrix.T if self.conservative else matrix

    def apply(self, values):
        """Maps values (n, components) to (m, components)."""
        if self.matrix is not None:
            return self.matrix @ values
        if not self.conservative and self.shares is None:
            return values[self.index]
        if not self.conservative:
            return np.einsum("nc,ncw->nw", self.shares, values[self.index])
        mapped = np.zeros((self.targets, values.shape[1]))
        if self.shares is None:
            np.add.at(mapped, self.index, values)
        else:
            np.add.at(mapped, self.index, self.shares[:, :, None] * values[:, None, :])
        return mapped
