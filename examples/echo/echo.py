"""The driver, and the modules in Python: a ball, a source of sound, and a microphone."""

import math
import sys

import numpy

from ligament import grid

# Positions of the middle of the ball, the source and the microphone, in parts of the room along each axis.
BALL, SOURCE, MICROPHONE = (0.7, 0.5, 0.5), (0.25, 0.5, 0.5), (0.25, 0.375, 0.5)


def point(block, place):
    """Returns the point of a block at a position in the room; None if another block has the point."""
    points = [int(part * length) for part, length in zip(place, block.shape)]
    if all(axis.start <= one < axis.stop for one, axis in zip(points, block.range)):
        return tuple(one - axis.start for one, axis in zip(points, block.range))
    return None


class Ball:
    """A ball with no excess pressure on its surface, so that it reflects sound with the opposite sign."""

    parameters = {
        "radius": {"default": 0.5, "min": 0, "unit": "m", "steerable": True},
        "spacing": {"default": 0.05, "min": 1.0e-6, "unit": "m"},
    }
    functions = {
        "reflect": {
            "bin": "poststep",
            "after": "sponge",
            "reads": {"u": "interior", "v": "interior"},
            "writes": {"u": "interior", "v": "interior"},
        }
    }

    def reflect(self, block):
        spacing, squares = block.parameter("spacing"), 0.0
        for axis, (place, own) in enumerate(zip(BALL, block.range)):
            away = (numpy.arange(own.start, own.stop) - int(place * block.shape[axis])) * spacing
            squares = squares + (away * away).reshape([-1 if one == axis else 1 for one in range(3)])
        inside = squares < block.parameter("radius") ** 2
        block.interior("u")[inside] = 0.0
        block.interior("v")[inside] = 0.0


class Source:
    """A short sound: the second derivative of a bell curve."""

    parameters = {
        "amplitude": {"default": 10.0, "unit": "Pa", "steerable": True},
        "frequency": {"default": 800.0, "min": 1, "max": 2000, "unit": "Hz", "steerable": True},
    }
    functions = {
        "sound": {"bin": "poststep", "after": "Ball", "reads": {"u": "interior"}, "writes": {"u": "interior"}}
    }

    def sound(self, block):
        here = point(block, SOURCE)
        if here is not None:
            frequency = block.parameter("frequency")
            phase = (math.pi * (frequency * block.time - 1.0)) ** 2
            block.interior("u")[here] += block.parameter("amplitude") * (1.0 - 2.0 * phase) * math.exp(-phase)


class Microphone:
    """Writes the pressure at a point after each step, and the largest one in the room."""

    functions = {"listen": {"bin": "analysis", "reads": {"u": "interior"}}}

    def listen(self, block):
        here, u = point(block, MICROPHONE), block.interior("u")
        heard = block.sum([] if here is None else [u[here]])
        largest = block.max(numpy.abs(u))
        if block.number == 0:
            with open("microphone.txt", "a") as file:
                print(f"{block.time + block.time_step:.6e} {heard!r} {largest!r}", file=file)


if __name__ == "__main__":
    grid.run(["build/wave.so", "build/sponge.so", Ball, Source, Microphone])
