"""How long `steer(t)` takes in Python with nothing to do, and `math.sqrt(t)` beside it: ns of a call, a line
for each block."""

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
        if block > 0:  # the first is for warming up
            print(took / CALLS, bare_took / CALLS, flush=True)
