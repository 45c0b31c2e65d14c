"""The driver program of the tests. Its modules are in C and Fortran, in the folder of its first argument, and
in two Python classes."""

import sys

import numpy

from ligament import grid


class Source:
    """Raises the field at one point of the grid in each step."""

    parameters = {"amplitude": {"default": 0.25, "unit": "m", "steerable": True}}
    functions = {"lift": {"bin": "prestep", "reads": {"u": "interior"}, "writes": {"u": "interior"}}}

    def lift(self, block):
        x, y = block.range
        if x.start <= 3 < x.stop and y.start <= 4 < y.stop:
            block.interior("u")[3 - x.start, 4 - y.start] += block.parameter("amplitude") * block.time


class Record:
    """Records the field of the block after each step, and the sum over all blocks."""

    functions = {"record": {"bin": "analysis", "reads": {"u": "interior", "v": "interior"}}}

    def record(self, block):
        u = block.interior("u")
        ends = [[axis.start, axis.stop] for axis in block.range]
        numpy.savez("state.npz", u=u, v=block.interior("v"), ends=ends, sum=block.sum(u), step=block.step)


folder = sys.argv[1]
grid.run([Record, f"{folder}/wave.so", Source(), f"{folder}/damping.so"], sys.argv[2:])
