"""A grid whose blocks publish fields for ever, and readers of the files that `ligament tap` saves of it."""

import re
import struct

import numpy

# The field u is the distance from the centre plus the number of the step; w is the distance alone, and a float.
PROGRAM = """
import time
import numpy
instance = Instance()
while instance.reuse_instance():
    domain = Domain(instance)
    u = domain.field("u", unit="m", order="ORDER")
    w = domain.field("w", dtype="float32")
    places = numpy.meshgrid(*(numpy.arange(s.start, s.stop, dtype=float) for s in domain.range), indexing="ij")
    middle = [(points - 1) / 2 + 0.03 for points in domain.shape]
    distance = numpy.sqrt(sum((place - m) ** 2 for place, m in zip(places, middle)))
    domain.interior(w)[...] = distance
    for step in range(10**9):
        domain.interior(u)[...] = distance + step
        domain.exchange(step * 0.5, u, w)
        domain.publish(u)
        domain.publish(w)
        BODY
"""
MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      wave: {{implementation: wave}}
programs: {{wave: {program}}}
ligament:
  overcommit: true
  {more}
  grids:
    wave: {{shape: {shape}, blocks: {blocks}, periodic: {periodic}}}
"""


def distance(shape):
    """The field w of the whole grid, as doubles."""
    places = numpy.meshgrid(*(numpy.arange(points, dtype=float) for points in shape), indexing="ij")
    return numpy.sqrt(sum((place - ((points - 1) / 2 + 0.03)) ** 2 for place, points in zip(places, shape)))


def program(python_program, body="time.sleep(0.001)", order="C"):
    return python_program("wave", PROGRAM.replace("BODY", body).replace("ORDER", order))


def arrays(path):
    """The arrays of a file of VTK, by their names, with the text before them. Their numbers are behind `_`."""
    head, _, numbers = path.read_bytes().partition(b'<AppendedData encoding="raw">\n   _')
    head, found = head.decode(), {}
    for kind, name, offset in re.findall(r'<DataArray type="(\w+)" Name="(\w+)"[^>]* offset="(\d+)"', head):
        at = int(offset)
        length, = struct.unpack_from("<Q", numbers, at)
        assert at + 8 + length <= len(numbers)
        dtype = numpy.dtype(kind.lower())
        found[name] = numpy.frombuffer(numbers, dtype, length // dtype.itemsize, at + 8)
    assert numbers.endswith(b"\n  </AppendedData>\n</VTKFile>\n")
    return head, found


def mesh(path):
    """The points, the triangles and the levels of a file of surfaces."""
    _, found = arrays(path)
    name = next(name for name in found if name not in ("Points", "connectivity", "offsets"))
    triangles = found["connectivity"].reshape(-1, 3)
    assert numpy.array_equal(found["offsets"], 3 * numpy.arange(1, len(triangles) + 1))
    return found["Points"].reshape(-1, 3), triangles, found[name]


def image(path):
    """The values of a `.vti` file, with their extent: the first and last point along each axis."""
    head, found = arrays(path)
    extent = [int(number) for number in re.search(r'<Piece Extent="([^"]*)"', head).group(1).split()]
    (values,) = found.values()
    shape = [last - first + 1 for first, last in zip(extent[::2], extent[1::2])]
    return extent, values.reshape(shape[::-1]).transpose()


def corners(points, triangles):
    """The triangles as sets of places, which do not depend on how points are numbered."""
    places = points[triangles]
    return sorted(tuple(sorted(map(tuple, one.tolist()))) for one in places)


def open_edges(triangles):
    """The number of edges that are not the side of two triangles."""
    edges = numpy.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = numpy.unique(edges, axis=0, return_counts=True)
    return int(numpy.count_nonzero(counts != 2))
