"""A grid whose one block publishes a gyroid in each step: wave.py CORE. After each 10 steps it prints when they
began and ended, ns of CLOCK_MONOTONIC."""

import os
import sys
import time

import numpy
from ligament import Domain, Instance

POINTS, CELLS = 128, 11
STEP_S = 0.03  # time of a step, s

os.sched_setaffinity(0, {int(sys.argv[1])})
instance = Instance()
while instance.reuse_instance():
    domain = Domain(instance)
    u = domain.field("u")
    x, y, z = numpy.ogrid[0:2 * CELLS * numpy.pi:POINTS * 1j, 0:2 * CELLS * numpy.pi:POINTS * 1j,
                          0:2 * CELLS * numpy.pi:POINTS * 1j]
    gyroid = numpy.sin(x) * numpy.cos(y) + numpy.sin(y) * numpy.cos(z) + numpy.sin(z) * numpy.cos(x)
    step = 0
    while True:
        begun = time.monotonic_ns()
        for _ in range(10):
            late = time.thread_time() + STEP_S
            numpy.add(gyroid, 1e-4 * numpy.sin(step), out=domain.interior(u))
            while time.thread_time() < late:
                pass
            domain.exchange(0.1 * step, u)
            domain.publish(u)
            step += 1
        print(begun, time.monotonic_ns(), flush=True)
