"""Prints the ns of a call of `steer(t)` in Python without a change, and of `math.sqrt(t)`: one line for each
block."""

import math
import time

import ligament

CALLS = 200_000

instance = ligament.Instance()
while instance.reuse_instance():
    steer = instance.steer
    for block in range(21):
        times = [float(block * CALLS + step) for step in range(CALLS)]
        began = time.perf_counter_ns()
        for t in times:
            steer(t)
        took = time.perf_counter_ns() - began
        bare, began = math.sqrt, time.perf_counter_ns()
        for t in times:
            bare(t)
        bare_took = time.perf_counter_ns() - began
        if block > 0:  # the first block warms up
            print(took / CALLS, bare_took / CALLS, flush=True)
