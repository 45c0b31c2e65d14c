"""An exchange in two halves gives ghosts the numbers of its begin, in any number of blocks."""

import math

import pytest

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
    wave: {{shape: [7, 6, 5], blocks: {blocks}, periodic: [x], mirrored: [y, z]}}
"""
# After `begin`, each block changes all of its points. Ghosts have the numbers that the points had before.
PROGRAM = """
import numpy
instance = Instance()
while instance.reuse_instance():
    domain = Domain(instance)
    whole = numpy.arange(210.0).reshape(domain.shape)
    u = domain.field("u", ghosts=2, order="ORDER")
    for step in range(2):
        u[...] = -1
        domain.interior(u)[...] = whole[domain.range]
        domain.begin(float(step), u)
        domain.interior(u)[...] = -2
        domain.end()
        wide = numpy.pad(whole, [(2, 2), (0, 0), (0, 0)], "wrap")
        wide = numpy.pad(wide, [(0, 0), (2, 2), (2, 2)], "symmetric")
        expected = wide[tuple(slice(one.start, one.stop + 4) for one in domain.range)].copy()
        expected[2:-2, 2:-2, 2:-2] = -2
        assert numpy.array_equal(u, expected), (step, numpy.argwhere(u != expected)[:3])
"""


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("blocks", "ranks"), [((1, 1, 1), False), ((2, 1, 1), False), ((1, 2, 2), False),
                                               ((2, 2, 1), True), ((3, 1, 2), False)])
def test_points_may_change_between_begin_and_end(run, python_program, blocks, ranks, order):
    program = python_program("wave", PROGRAM.replace("ORDER", order))
    more = f"ranks: {{wave: {math.prod(blocks)}}}" if ranks else "wait: auto"
    done = run(MODEL.format(program=program, blocks=list(blocks), more=more))
    assert done.status == 0, done.text
