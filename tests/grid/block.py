"""A block of the wave of `wave_model.py`. Settings: the width of ghosts, the order of the arrays, true to call
`begin` and `end` instead of `exchange`, the number of steps, and the folder for the results."""

import os
import sys

import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wave_model as wave  # noqa: E402

from ligament import Domain, Instance  # noqa: E402

instance = Instance()
while instance.reuse_instance():
    setting = instance.get_setting
    ghosts, steps, order = setting("ghosts", "int"), setting("steps", "int"), setting("order", "str")
    domain = Domain(instance)
    u = domain.field("u", ghosts=ghosts, unit="m", order=order)
    v = domain.field("v", ghosts=ghosts, dtype="float32", order=order)
    whole = wave.begin(domain.shape)
    domain.interior(u)[...], domain.interior(v)[...] = (field[domain.range] for field in whole)
    for number in range(0, steps, ghosts):
        if setting("split", "bool"):
            domain.begin(float(number), u, v)
            domain.end()
        else:
            domain.exchange(float(number), u, v)
        domain.publish(u)
        # Beyond open edges, the ghosts stay 0. Ghosts that are n points wide last for n steps.
        inner_u, inner_v = u, v
        for left in range(ghosts, 0, -1):
            inner_u, inner_v = wave.step(inner_u, inner_v, left)
        domain.interior(u)[...], domain.interior(v)[...] = inner_u, inner_v
    own = [domain.interior(field) for field in (u, v)]
    total = domain.sum(own[0]), domain.min(own[0]), domain.max(own[1])
    ends = [one.start for one in domain.range] + [one.stop for one in domain.range]
    with open(f"{setting('out', 'str')}/{domain.block}.bin", "wb") as file:
        # The own points, in row-major order.
        for part in (numpy.array([len(domain.shape), *ends]), numpy.array(total), *own):
            file.write(part.tobytes())
