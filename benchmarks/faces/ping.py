"""Two components that send arrays back and forth: `ping.py BYTES ROUNDS CORE CORE`. It runs with `libmuscle`,
of MUSCLE 3 or of the face, or with `--ligament` with Ligament's own calls. It prints the median one-way time in
ns."""

import os
import statistics
import sys
import tempfile
from time import perf_counter_ns

import numpy

BYTES, ROUNDS, *CORES = map(int, sys.argv[1:5])
OWN = "--ligament" in sys.argv
if OWN:
    from ligament import Instance, Message, Model, Operator, run
else:
    import ymmsl
    from libmuscle import Instance, Message
    from libmuscle.runner import run_simulation
    from ymmsl import Operator
    from ymmsl.v0_2 import Configuration

MODEL = """
ymmsl_version: v0.2
models:
  pingpong:
    description: two components that exchange messages
    components:
      ping: {description: times, implementation: ping, ports: {o_i: out, s: in}}
      pong: {description: answers, implementation: pong, ports: {o_i: out, s: in}}
    matching_timelines: {ping: pong}
    conduits:
      ping.out: pong.in
      pong.out: ping.in
"""
PORTS = {Operator.O_I: ["out"], Operator.S: ["in"]}
ARRAY = numpy.arange(BYTES // 8, dtype=numpy.float64) if BYTES else None


def ping():
    os.sched_setaffinity(0, {CORES[0]})
    instance = Instance(PORTS)
    while instance.reuse_instance():
        stamps = []
        for _ in range(ROUNDS):
            instance.send("out", Message(0.0, None, ARRAY))
            data = instance.receive("in").data
            stamps.append(perf_counter_ns())
        if BYTES and not numpy.array_equal(getattr(data, "array", data), ARRAY):
            raise RuntimeError("the received data is not what was sent")
        took = [(after - before) / 2 for before, after in zip(stamps, stamps[1:])]
        with open(RESULT, "w") as file:
            file.write(repr(statistics.median(took[len(took) // 4:])))


def pong():
    os.sched_setaffinity(0, {CORES[1]})
    instance = Instance(PORTS)
    while instance.reuse_instance():
        for _ in range(ROUNDS):
            data = instance.receive("in").data  # noqa: F841, the array is made as its reader would make it
            instance.send("out", Message(0.0, None, ARRAY))


if __name__ == "__main__":
    functions = {"ping": ping, "pong": pong}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        RESULT = os.path.join(folder, "median")
        if OWN:
            with open("model.ymmsl", "w") as file:
                file.write(MODEL)
            run(Model.load("model.ymmsl"), functions, show="nothing")
        else:
            run_simulation(ymmsl.load_as(Configuration, MODEL), functions)
        print(open(RESULT).read())
