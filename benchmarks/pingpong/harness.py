"""The ping-pong that every Python program of this benchmark runs: plan, cores, loops, times and output.

Plan, environment and output are those of harness.h. A program gives `run` two functions, `send(array)` and
`receive()`, which transport the data. Messages are arrays of float64; None is the empty message.
"""

import ctypes
import json
import os
import resource
import statistics
import sys
from time import perf_counter_ns

import numpy

PLAIN, WORKED, ECHO = 0, 1, 2
MODES = ["plain", "worked", "echo"]


def plan():
    """Returns the cases, as (mode, bytes, rounds, warmup, slabs)."""
    text = os.environ["PINGPONG_PLAN"]
    return [tuple(int(word) for word in case.split()) for case in text.split(";") if case]


def pin(side):
    core = int(os.environ["PINGPONG_CORES"].split(",")["ab".index(side)])
    os.sched_setaffinity(0, {core})


class Line:
    """line.h through ctypes, which measures the distance of the two cores in ns."""

    def __init__(self, side):
        self.library = ctypes.CDLL(os.environ["PINGPONG_LINE"])
        self.library.open_line.restype = ctypes.c_void_p
        self.library.measure_line.restype = ctypes.c_double
        self.page = ctypes.c_void_p(self.library.open_line(f"{os.environ['PINGPONG_OUT']}.line".encode()))
        self.side = "ab".index(side)
        if not self.page:
            fail("the page for the bare line cannot be mapped")

    def measure(self):
        return self.library.measure_line(self.page, self.side)


def content(side, count):
    """Returns the content of a side's array in modes that do not rewrite it."""
    return numpy.arange(count, dtype=numpy.float64) + (0.5 if side == "a" else 0.25)


def fail(what):
    print(what, file=sys.stderr, flush=True)
    os._exit(1)


def check(data, expected, bytes_):
    got = None if data is None else numpy.asarray(data)
    if (got is None) != (expected is None) or (got is not None and not numpy.array_equal(got, expected)):
        fail(f"{bytes_} bytes: the received data is not what was sent")


def check_sum(data, value, count):
    # The elements are small whole numbers, so the sum is exact in float64.
    if count and numpy.sum(data) != value * count:
        fail(f"{8 * count} bytes: the received data is not what was sent")


def processor_ns():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1e9


def ask(case, send, receive, line):
    """Runs side A: times each round trip. One reading of the clock ends a round and starts the next."""
    mode, bytes_, rounds, warmup, _ = case
    count = bytes_ // 8
    array = content("a", count) if bytes_ else None
    line_before = line.measure()
    stamps = [0] * (rounds + 1)
    before = data = 0
    for i in range(-warmup, rounds):
        if i == 0:
            before = processor_ns()
            stamps[0] = perf_counter_ns()
        if mode == WORKED and bytes_:
            array.fill(i % 1000)
        data = None  # the last view is released before the next message
        send(array)
        data = receive()
        if mode == WORKED:
            check_sum(data, i % 1000 + 1, count)
        if i >= 0:
            stamps[i + 1] = perf_counter_ns()
    used = processor_ns() - before
    line_after = line.measure()
    if mode != WORKED:
        check(data, content("a" if mode == ECHO else "b", count) if bytes_ else None, bytes_)
    took = sorted((b - a) / 2 for a, b in zip(stamps, stamps[1:]))
    return {
        "side": "a",
        "mode": MODES[mode],
        "bytes": bytes_,
        "rounds": rounds,
        "median_ns": statistics.median(took),
        "p99_ns": took[(rounds * 99 + 99) // 100 - 1],
        "least_ns": took[0],
        "mean_ns": sum(took) / rounds,
        "processor_ns": used / (2 * rounds),
        "line_before_ns": line_before,
        "line_after_ns": line_after,
    }


def answer(case, send, receive, line):
    """Runs side B."""
    mode, bytes_, rounds, warmup, _ = case
    count = bytes_ // 8
    array = content("b", count) if bytes_ else None
    line.measure()
    before = 0
    for i in range(-warmup, rounds):
        if i == 0:
            before = processor_ns()
        data = receive()
        if mode == ECHO:
            send(data)
            data = None
            continue
        if mode == WORKED:
            check_sum(data, i % 1000, count)
            if bytes_:
                array.fill(i % 1000 + 1)
        data = None
        send(array)
    used = processor_ns() - before
    line.measure()
    return {
        "side": "b",
        "mode": MODES[mode],
        "bytes": bytes_,
        "rounds": rounds,
        "processor_ns": used / (2 * rounds),
    }


def run(side, send, receive, start=lambda case: None):
    """Runs the plan as side "a" or "b". `start(case)` is called before the first round of each case."""
    turn = ask if side == "a" else answer
    line = Line(side)
    with open(f"{os.environ['PINGPONG_OUT']}.{side}", "w", encoding="utf-8") as out:
        for case in plan():
            start(case)
            print(json.dumps(turn(case, send, receive, line)), file=out)
