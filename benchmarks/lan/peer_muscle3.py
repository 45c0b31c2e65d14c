"""MUSCLE 3's Python library at one end, with the plan, loops and output of exchange.h. MUSCLE 3 lets no
component send twice without a receive in between, so each message of a stream is answered.

muscle_manager calls: peer_muscle3.py a|b PLAN OUT LIBEFFORT, where PLAN is "kind,bytes,count,warmup/..."
"""

import ctypes
import json
import sys
from time import perf_counter_ns

import numpy
from libmuscle import Instance, Message
from ymmsl import Operator

LATENCY = 0
REPLY = 64
side, plan, out, library = sys.argv[1:5]
measure = ctypes.CDLL(library).effort


def effort():
    processor, switches = ctypes.c_double(), ctypes.c_uint64()
    measure(ctypes.byref(processor), ctypes.byref(switches))
    return processor.value, switches.value


def hand_over(instance, array, number):
    array[0] = array[-1] = number
    instance.send("out", Message(0.0, None, array))


def take(instance, bytes_, number):
    data = instance.receive("in").data.array
    if data.nbytes != bytes_ or data[0] != number or data[-1] != number:
        sys.exit(f"side {side}: message {number} of {bytes_} bytes is not the one that was sent")


def to_and_fro(instance, bytes_, count, warmup):
    array, took, before, last = numpy.ones(bytes_ // 8, numpy.int64), [], None, 0
    for number in range(-warmup, count):
        if number == 0:
            before, last = effort(), perf_counter_ns()
        if side == "a":
            hand_over(instance, array, number)
        take(instance, bytes_, number)
        if side == "b":
            hand_over(instance, array, number)
        now = perf_counter_ns()
        if number >= 0:
            took.append(now - last)
        last = now
    took.sort()
    times = {"median_ns": took[count // 2] / 2, "p99_ns": took[count * 99 // 100] / 2, "least_ns": took[0] / 2}
    return {"kind": "latency", "bytes": bytes_, "count": count, **times}, before


def back_to_back(instance, bytes_, count, warmup):
    array, reply = numpy.random.default_rng(1).integers(1 << 62, size=bytes_ // 8), numpy.ones(REPLY // 8,
                                                                                               numpy.int64)
    before, begun = None, 0
    for number in range(-warmup, count):
        if number == 0:
            before, begun = effort(), perf_counter_ns()
        if side == "a":
            hand_over(instance, array, number)
            take(instance, REPLY, number)
        else:
            take(instance, bytes_, number)
            hand_over(instance, reply, number)
    seconds = (perf_counter_ns() - begun) * 1e-9
    return {"kind": "stream", "bytes": bytes_, "count": count, "seconds": seconds}, before


instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    with open(f"{out}.{side}", "w", encoding="utf-8") as file:
        for stage in filter(None, plan.split("/")):
            kind, bytes_, count, warmup = map(int, stage.split(","))
            record, before = (to_and_fro if kind == LATENCY else back_to_back)(instance, bytes_, count, warmup)
            after = effort()
            record |= {"processor_s": after[0] - before[0], "switches": after[1] - before[1]}
            file.write(json.dumps(record) + "\n")
