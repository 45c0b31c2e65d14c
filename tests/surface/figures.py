"""`figures.py LIBRARY`: prints the triangles, points, area, volume and Euler number of surfaces by the crate
and by VTK, a line for each field and side. `crates/surface/tests/measures.rs` makes the same fields."""

import sys

import library
import numpy as np
import vtk
from vtk.util import numpy_support


def drawn(count, seed):
    """The numbers of a splitmix64 generator, as `tests/common/mod.rs` has it."""
    with np.errstate(over="ignore"):
        bits = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)


def closed(field):
    """The field with 0 on all faces, so that its surface has no border."""
    for axis in range(3):
        for side in (0, -1):
            np.moveaxis(field, axis, 0)[side] = 0
    return field


def fields():
    shape = (56, 60, 64)
    z, y, x = np.ogrid[:56, :60, :64]
    yield "sphere", -np.sqrt((x - 31.5) ** 2 + (y - 29.5) ** 2 + (z - 27.5) ** 2), -20.3
    x, y, z = (2 * np.pi * 2.3 * axis / count for axis, count in zip((x, y, z), shape[::-1]))
    gyroid = np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x)
    yield "gyroid", closed(gyroid), 0.1
    shape = (32, 36, 40)
    noise = (drawn(32 * 36 * 40, 5) >> np.uint64(11)).astype(float) / 2.0**53
    yield "noise", closed(noise.reshape(shape)), 0.5
    # Many values are equal to the level.
    yield "integers", closed((drawn(32 * 36 * 40, 6) % np.uint64(3)).astype(float).reshape(shape)), 1.0


def by_vtk(field, level):
    image = vtk.vtkImageData()
    image.SetDimensions(*field.shape[::-1])
    image.GetPointData().SetScalars(numpy_support.numpy_to_vtk(field.ravel(), deep=True))
    edges = vtk.vtkFlyingEdges3D()
    edges.SetInputData(image)
    edges.ComputeNormalsOff()
    edges.SetValue(0, level)
    edges.Update()
    points = numpy_support.vtk_to_numpy(edges.GetOutput().GetPoints().GetData()).astype(float)
    triangles = numpy_support.vtk_to_numpy(edges.GetOutput().GetPolys().GetConnectivityArray()).reshape(-1, 3)
    a, b, c = (points[triangles[:, i]] for i in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    volume = abs((a * np.cross(b, c)).sum()) / 6
    sides = np.sort(np.concatenate([triangles[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1)
    euler = len(points) - len(np.unique(sides, axis=0)) + len(triangles)
    return len(triangles), len(points), area, volume, euler


def main():
    vtk.vtkSMPTools.SetBackend("Sequential")
    surfaces = library.Library(sys.argv[1])
    for name, field, level in fields():
        field = np.ascontiguousarray(field)
        surfaces.encode(field, level)
        surfaces.decode()
        ours = surfaces.measures()
        print(name, "ours", *(ours[key] for key in ("triangles", "points", "area", "volume", "euler")))
        print(name, "vtk", *by_vtk(field, level))


main()
