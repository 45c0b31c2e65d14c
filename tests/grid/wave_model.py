"""A wave on a grid: a code of one process, and the same code for one block. Both use all neighbours of a point,
also those at corners, so that a wrong ghost changes a number."""

import itertools

import numpy

# The method for the ghosts beyond the edges of a whole grid, by the kind of edge.
PAD = {"periodic": "wrap", "mirrored": "symmetric", "open": "constant"}


def begin(shape):
    """Returns the two fields at time 0: whole grids of numbers that look random, but can be computed in any
    language."""
    place = numpy.arange(numpy.prod(shape), dtype="uint64").reshape(shape)
    u = (place * numpy.uint64(2654435761) & numpy.uint64(0xFFFFFFFF)) / 4294967296.0 - 0.5
    v = (place * numpy.uint64(40503) + numpy.uint64(7) & numpy.uint64(0xFFFF)) / 65536.0 - 0.5
    return u, v.astype("float32")


def step(u, v, width):
    """One step. Both fields have ghosts that are valid `width` points deep; the results have one point less."""
    inner = tuple(slice(1, -1) for _ in range(u.ndim))
    around = numpy.zeros(u[inner].shape)
    for offset in itertools.product((-1, 0, 1), repeat=u.ndim):
        window = tuple(slice(1 + one, length - 1 + one) for one, length in zip(offset, u.shape))
        around += u[window] * (1 + 0.1 * sum(offset)) + v[window] * 0.01
    return u[inner] * 0.5 + around / 3.0 ** u.ndim * 0.49, (v[inner] * 0.9 + u[inner] * 0.05).astype("float32")


def padded(field, edges, width=1):
    """A whole grid with ghosts beyond its edges."""
    for axis, kind in enumerate(edges):
        pad = [(width, width) if one == axis else (0, 0) for one in range(field.ndim)]
        field = numpy.pad(field, pad, mode=PAD[kind])
    return field


def alone(shape, edges, steps):
    """The fields after all steps, in one process."""
    u, v = begin(shape)
    for _ in range(steps):
        u, v = step(padded(u, edges), padded(v, edges), 1)
    return u, v
