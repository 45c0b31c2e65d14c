"""The wave of `wave.c`, `damping.f90` and `simulation.py` in one process."""

import numpy

PAD = {"periodic": "wrap", "mirrored": "symmetric"}


def alone(shape, edges, steps, amplitude=0.25, time_step=1.0):
    """Height and speed after all steps."""
    place = numpy.arange(numpy.prod(shape), dtype="uint64").reshape(shape)
    u = (place * numpy.uint64(2654435761) & numpy.uint64(0xFFFFFFFF)) / 4294967296.0 - 0.5
    v = numpy.zeros(shape)
    for step in range(steps):
        u[3, 4] += amplitude * (step * time_step)
        wide = u
        for axis, kind in enumerate(edges):
            wide = numpy.pad(wide, [(1, 1) if one == axis else (0, 0) for one in range(2)], mode=PAD[kind])
        around = wide[:-2, 1:-1] + wide[2:, 1:-1] + (wide[1:-1, :-2] + wide[1:-1, 2:])
        v += 0.2 * (around - 4.0 * u)
        u += time_step * v
        u *= 1.0 - 0.0625
    return u, v
