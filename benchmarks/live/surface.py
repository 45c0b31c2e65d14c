"""The cost of surfaces that somebody looks at: the first picture over a wide-area link, and the steps of the
code with viewers and without."""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext

import runs
from lib import network  # noqa: F401, it makes the modules of tests/network known
from lib.machine import CannotMeasure, die_with_parent
import wan

RTT_MS, RATE_MBIT = 40, 20
# s; % by which steps become longer
BARS = {"first": 1.0, "looking": 5.0, "stalled": 2.0}
PATH = "/api/surface?grid=wave&field=u&level=0.0"
MODEL = """ymmsl_version: v0.2
models:
  live:
    components:
      wave: {{implementation: wave}}
programs:
  wave: {{executable: {python}, args: [{program}, '{core}']}}
ligament:
  grids:
    wave: {{shape: [128, 128, 128], blocks: [1, 1, 1]}}
"""
LOOK = runs.HERE / "look.py"


def grid_model(core):
    return MODEL.format(python=runs.PYTHON, program=runs.HERE / "wave.py", core=core)


def first_picture(run):
    """Returns the seconds from the request for a surface until all of its bytes are at the other end of a link,
    and the number of bytes."""
    with wan.Wan(runs.OUT / "wan_emulator", rtt=RTT_MS, rate=RATE_MBIT) as link, \
         runs.Page(run, link.a.words) as page:
        passes = link.a.start(sys.executable, LOOK, "forward", link.a.v4, page.port, stdout=subprocess.PIPE)
        if not passes.stdout.readline():
            raise CannotMeasure("nothing passes connections on")
        text = link.b.run(sys.executable, LOOK, "ask", link.a.v4, page.port, page.secret(), PATH, 1)
        seconds, size = text.split()
        return float(seconds), int(size)


@contextmanager
def looking(page, session, core):
    """A viewer that takes one picture after another."""
    words = [sys.executable, LOOK, "ask", "127.0.0.1", page.port, json.dumps(session), PATH, 10**9]
    process = subprocess.Popen(["taskset", "-c", str(core), *map(str, words)], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    try:
        if not process.stdout.readline():
            raise CannotMeasure("a viewer gets no picture")
        yield
    finally:
        process.kill()
        process.communicate()


@contextmanager
def stalled(page, session):
    """A viewer that asks for a picture and never reads it."""
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", page.port))
        headers = "".join(f"{name}: {value}\r\n" for name, value in session.items())
        line.sendall(f"GET {PATH}&has=0 HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
        line.settimeout(runs.LIMIT)
        line.recv(1, socket.MSG_PEEK)  # The server has begun to send the picture.
        yield


def step_times(run, seconds, viewer):
    """Returns the median time of a step, ms, beside a viewer."""
    with viewer:
        begun = time.monotonic_ns()
        time.sleep(seconds)
        ended = time.monotonic_ns()
    blocks = [end - begin for begin, end in run.said("wave[0][0][0]") if begin >= begun and end <= ended]
    if not blocks:
        raise CannotMeasure("the code wrote down no block of steps")
    return statistics.median(blocks) / 1e7


def surface(options, results):
    wan.build(runs.OUT)
    looks, core = options.cores
    times, pictures = {"nobody": [], "looking": [], "stalled": []}, []
    with runs.Run(grid_model(core)) as run:
        os.sched_setaffinity(run.process.pid, {looks})
        run.until(lambda: len(run.said("wave[0][0][0]")) > 3, "the code steps")
        for _ in range(options.repetitions):
            pictures.append(first_picture(run))
        with runs.Page(run) as page:
            session = page.opens()
            for repetition in range(3 * options.repetitions):
                cases = list(times)
                for case in cases[repetition % 3:] + cases[: repetition % 3]:
                    viewer = {"nobody": nullcontext, "looking": lambda: looking(page, session, looks),
                              "stalled": lambda: stalled(page, session)}[case]
                    times[case].append(step_times(run, options.seconds / 4, viewer()))
    link = f"{RATE_MBIT} Mbit/s and {RTT_MS} ms"
    results.row(f"first picture over {link}", "first_s", [one[0] for one in pictures], "s")
    results.row("its size", "first_bytes", [one[1] for one in pictures], "bytes")
    results.bar("the first picture is there", [one[0] for one in pictures], BARS["first"], "s")
    for case, title in (("nobody", "nobody looks"), ("looking", "a viewer of its surface"),
                        ("stalled", "a viewer that stands still")):
        results.row(f"a step of 30 ms on 128³: {title}", f"surface_{case}_ms", times[case], "ms")
    for case in ("looking", "stalled"):
        slower = [100 * (a / b - 1) for a, b in zip(times[case], times["nobody"])]
        results.bar(f"steps of a grid, a viewer {case}", slower, BARS[case], "% slower")
