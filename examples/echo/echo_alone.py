"""The mathematics of the echo in one program, to compare with."""

import math

import numpy
from echo import BALL, MICROPHONE, SOURCE


def simulate(shape, steps, settings):
    """The pressure after all steps, and the signal of the microphone."""
    time_step, spacing = settings["time_step"], 0.05
    ratio = 343.0 / spacing
    factor = time_step * (ratio * ratio)
    u, v = numpy.zeros(shape), numpy.zeros(shape)
    sponge, inside = losses(shape, 8, 0.2), ball(shape, settings["radius"], spacing)
    source, microphone = (tuple(int(part * one) for part, one in zip(place, shape))
                          for place in (SOURCE, MICROPHONE))
    signal = []
    for step in range(steps):
        p = numpy.pad(u, 1, mode="symmetric")
        c = slice(1, -1)
        around = (p[:-2, c, c] + p[2:, c, c]) + (p[c, :-2, c] + p[c, 2:, c]) + (p[c, c, :-2] + p[c, c, 2:])
        v += factor * (around - 6.0 * u)
        u += time_step * v
        v *= sponge
        u[inside] = v[inside] = 0.0
        phase = (math.pi * (settings["frequency"] * (step * time_step) - 1.0)) ** 2
        u[source] += settings["amplitude"] * (1.0 - 2.0 * phase) * math.exp(-phase)
        signal.append(u[microphone])
    return u, numpy.array(signal)


def losses(shape, depth, loss):
    """The factor by which the sponge multiplies each point."""
    ends = [numpy.minimum(numpy.arange(one) + 1, one - numpy.arange(one)) for one in shape]
    distance = numpy.minimum.reduce(numpy.meshgrid(*ends, indexing="ij"))
    share = numpy.maximum(depth - distance, 0) / depth
    return 1.0 - loss * share * share


def ball(shape, radius, spacing):
    """True where the ball is."""
    away = [(numpy.arange(one) - int(part * one)) * spacing for part, one in zip(BALL, shape)]
    x, y, z = numpy.meshgrid(*away, indexing="ij")
    return (0.0 + x * x) + y * y + z * z < radius**2
