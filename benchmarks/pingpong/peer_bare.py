"""The limit in Python: numpy.copyto into shared memory, read in place, and a counter that Python code polls.

One process forks the other. Each side has one shared page with its counter, and slabs that it alternates over.
The counter is one aligned 8-byte store after the data. On x86-64, and on arm64 because of the interpreter's own
locking, the stores become visible in this order.
"""

import ctypes
import mmap
import os

import harness
import numpy

cases = harness.plan()


def step_of(bytes_):
    """Returns the distance between slabs."""
    return (bytes_ + 4095) // 4096 * 4096


room = max(4096, *(step_of(bytes_) * slabs for _, bytes_, _, _, slabs in cases))
pages = {s: mmap.mmap(-1, 4096) for s in "ab"}
areas = {s: mmap.mmap(-1, room) for s in "ab"}

libc = ctypes.CDLL(None)
child = os.fork()
side = "a" if child else "b"
if not child:
    libc.prctl(1, 9)  # the process dies with its parent
harness.pin(side)
other = "b" if side == "a" else "a"
for area in areas.values():
    numpy.frombuffer(area, numpy.uint8)[::4096].sum()
numpy.frombuffer(areas[side], numpy.uint8).fill(1)

mine = memoryview(pages[side]).cast("Q")
theirs = memoryview(pages[other]).cast("Q")
out_slabs, in_slabs = [None], [None]
sent = received = 0


def start(case):
    """Makes one view for each slab of this case, so that the loop only selects a view."""
    _, bytes_, _, _, count = case
    for views, area in ((out_slabs, areas[side]), (in_slabs, areas[other])):
        views[:] = [
            numpy.frombuffer(area, numpy.float64, bytes_ // 8, i * step_of(bytes_)) if bytes_ else None
            for i in range(count)
        ]


def send(array):
    global sent
    if array is not None:
        numpy.copyto(out_slabs[sent % len(out_slabs)], array)
    sent += 1
    mine[0] = sent


def receive():
    global received
    slab = in_slabs[received % len(in_slabs)]
    received += 1
    while theirs[0] != received:
        pass
    return slab


harness.run(side, send, receive, start)
if child:
    _, status = os.waitpid(child, 0)
    if status:
        harness.fail(f"side B failed (status {status})")
