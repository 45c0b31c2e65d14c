"""`measure.py LIBRARY SWEEP REPETITIONS`: measures surfaces by Ligament and VTK in turns, in one thread. Prints
one line of JSON with times in s, which are of the processor."""

import ctypes
import json
import sys
import time

import library
import numpy as np
import vtk
from vtk.util import numpy_support

STEP_FIELDS = 56
STEP_POINTS = 128


def seconds(call):
    """Returns the processor time of a call in this thread."""
    began = time.thread_time_ns()
    call()
    return (time.thread_time_ns() - began) / 1e9


def flying_edges(field, level):
    """VTK's filter for a field, ready to be updated. The second value is the memory that it uses."""
    values = numpy_support.numpy_to_vtk(field.ravel(), deep=False)
    image = vtk.vtkImageData()
    image.SetDimensions(*field.shape[::-1])
    image.GetPointData().SetScalars(values)
    edges = vtk.vtkFlyingEdges3D()
    edges.SetInputData(image)
    edges.ComputeNormalsOff()
    edges.ComputeGradientsOff()
    edges.ComputeScalarsOff()
    edges.SetValue(0, level)
    return edges, (values, image, field)


def beside_vtk(surfaces, field, level, repetitions):
    """The times of one field's surface: `ours` for its bytes, `triangles` for a mesh of them, `vtk`, and for
    each smaller vector."""
    edges, memory = flying_edges(field, level)
    kinds = surfaces.lanes(99)
    times = {name: [] for name in ("ours", "triangles", "vtk", *(f"lanes {kind}" for kind in range(kinds - 1)))}
    for repetition in range(repetitions + 1):
        edges.Modified()
        one = {"vtk": seconds(edges.Update), "ours": seconds(lambda: surfaces.encode(field, level)),
               "triangles": seconds(surfaces.decode)}
        for kind in range(kinds - 1):
            surfaces.lanes(kind)
            one[f"lanes {kind}"] = seconds(lambda: surfaces.encode(field, level))
        surfaces.lanes(99)
        # The first has to get memory.
        for name in one if repetition else ():
            times[name].append(one[name])
    output = edges.GetOutput()
    same = list(surfaces.counts) == [output.GetNumberOfPoints(), output.GetNumberOfPolys()]
    del memory
    return {"times": times, "triangles": int(surfaces.counts[1]), "as_vtk": same,
            "field_bytes": field.nbytes, "bytes": surfaces.encode(field, level)}


def in_steps(surfaces, sweep, pictures, repetitions):
    """The times of a step over many fields, and of the surface of one field after it."""
    n = STEP_POINTS
    fields = [np.ones((n, n, n)) for _ in range(STEP_FIELDS + 1)]
    sweep.sweep.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def step():
        # The values of a field go to the memory that the field before it has left.
        for i in range(STEP_FIELDS):
            sweep.sweep(fields[i + 1].ctypes.data, fields[i].ctypes.data, n)

    times = {name: [] for name in ("step", *pictures)}
    for repetition in range(repetitions + 1):
        one = {}
        for name, (field, level) in pictures.items():
            one["step"] = seconds(step)
            one[name] = seconds(lambda: surfaces.encode(field, level))
        for name in one if repetition else ():
            times[name].append(one[name])
    sizes = {}
    for name, (field, level) in pictures.items():
        size = surfaces.encode(field, level)
        surfaces.decode()
        sizes[name] = {"bytes": size, "field_bytes": field.nbytes, "triangles": int(surfaces.counts[1])}
    return {"times": times, "sizes": sizes}


def main():
    surfaces, sweep, repetitions = library.Library(sys.argv[1]), ctypes.CDLL(sys.argv[2]), int(sys.argv[3])
    vtk.vtkSMPTools.SetBackend("Sequential")
    fields = {"sphere, 256³": library.sphere(256, 100.0), "gyroid, 256³": library.gyroid(256, 4),
              "noise, 128³": library.noise(128)}
    beside = {name: beside_vtk(surfaces, *field, repetitions) for name, field in fields.items()}
    pictures = {"gyroid": library.gyroid(STEP_POINTS, 2.37), "small sphere": library.sphere(STEP_POINTS, 14.75)}
    print(json.dumps({"vtk": vtk.vtkVersion.GetVTKVersion(), "beside": beside,
                      "steps": in_steps(surfaces, sweep, pictures, repetitions)}))


main()
