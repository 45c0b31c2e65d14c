"""Python: does the same as ping.c."""

import sys
from time import perf_counter_ns

import numpy as np
from ligament import Instance, Message

side, count, rounds, file = sys.argv[1], int(sys.argv[2]) // 8, int(sys.argv[3]), sys.argv[4]
data = np.zeros(count) if count else None
times = []
instance = Instance()
instance.reuse_instance()


def give():
    instance.send("out", Message(0.0, data=data))


def take():
    message = instance.receive("in")
    assert count == 0 or message.data.size == count


for _ in range(rounds):
    if side == "a":
        began = perf_counter_ns()
        give()
        take()
        times.append(perf_counter_ns() - began)
    else:
        take()
        give()
if side == "a":
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(f"{time}\n" for time in times)
