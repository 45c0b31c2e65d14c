"""Functions that break their declarations. Each test chooses one function and its declaration."""

import os
import sys

from ligament import grid


USES = {"@NAME@": "@USES@"}


class Faults:
    name = "faults"
    parameters = {"size": {"default": 1.0}}
    fields = {"u": {"order": "column-major"}, "v": {"order": "column-major"}}
    functions = {"begin": {"bin": "initial", "writes": {"u": "interior", "v": "interior"}}} | USES

    def begin(self, block):
        block.interior("u")[...] = block.interior("v")[...] = 1.0

    def neighbours(self, block):
        u = block.field("u")
        block.interior("v")[...] = 0.5 * (u[:-2, 1:-1] + u[2:, 1:-1])

    def gap(self, block):
        v = block.interior("v")
        v[:2], v[3:], v[2, :3], v[2, 4:] = 2.0, 2.0, 2.0, 2.0

    def update(self, block):
        v = block.interior("v")
        last = v[1, 1]
        v[...] = block.interior("u")
        v[2] += last

    def beyond(self, block):
        block.interior("v")[...] = 2.0
        block.field("v")[0, 4] = 2.0

    def change(self, block):
        block.interior("v")[...] = block.interior("u")
        block.interior("u")[2, 3] = 3.0

    def total(self, block):
        block.sum(block.field("u")[0, 3])

    def other(self, block):
        block.field("v")

    def parameter(self, block):
        block.parameter("length")

    def refuse(self, block):
        raise ValueError("the height is below the ground")

    def crash(self, block):
        os.abort()


grid.run([Faults], sys.argv[1:])
