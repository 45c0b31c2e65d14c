"""What is measured of light components: a web of them, the same web as threads by hand, and a chain of those
that wait."""

import json
import time
from pathlib import Path

from lib import runs
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "light"
PART = 1000  # threads of one process


def build():
    """Compiles the programs into build/benchmarks/light."""
    flags = Ligament().flags()
    runs.compiled(runs.LIBRARY / "light.c", OUT / "light", *flags)
    runs.compiled(HERE / "gate.c", OUT / "gate", *flags)
    runs.compiled(HERE / "threads.c", OUT / "threads", "-pthread")


def row(components, light, gate):
    """Light components in a row, each of which waits for a message from the one before it, and the first for
    one from a process of its own, which sends when it is let go."""
    rows = [f"    c{i}: {{implementation: node, ports: {{f_init: start, o_f: end}}}}"
            for i in range(components)]
    rows.append("    gate: {implementation: gate, ports: {o_i: out}}")
    conduits = ["    gate.out: c0.start", *(f"    c{i}.end: c{i + 1}.start" for i in range(components - 1))]
    programs = [runs.node(light), ("gate", f"{{executable: {gate}}}")]
    return runs.model("row", rows, conduits, programs, runs.light(components + 1))


def seconds_of_exchange(components, conduits, steps, folder):
    """From the first step of all light components to the last, s."""
    text = runs.web(components, conduits, OUT / "light", steps)
    runs.seconds(runs.ligament(text, folder), folder, environment={"LIGHT_SECONDS": str(folder / "seconds")})
    return float((folder / "seconds").read_text())


def seconds_of_threads(components, conduits, steps):
    """The same of a thread for each."""
    return float(run([OUT / "threads", components, conduits, steps], seconds=runs.LIMIT))


def seconds_of_all_threads(components, conduits, folder):
    """From the start to the end of processes that together have so many components, a thread for each, and so
    many conduits, and pass one message on each. A system that limits threads to 32,768 has no room for more at
    once."""
    parts = max(1, components // PART)
    words = [OUT / "threads", components // parts, conduits // parts, 1]
    return sum(runs.seconds(words, folder) for _ in range(parts))


def idle(components, rest, folder):
    """The processor time, s for each s, of a run whose light components all wait, measured for `rest` s."""
    text = row(components, OUT / "light", OUT / "gate")
    process = runs.started(runs.ligament(text, folder), runs.holding(folder), folder)
    try:
        runs.await_arrival([process], 1, folder)
        until = time.monotonic() + runs.LIMIT
        while not _all_wait(folder):
            if time.monotonic() > until:
                raise CannotMeasure(f"the light components do not come to wait; see {folder}")
            time.sleep(0.5)
        time.sleep(1)  # what comes of having been asked
        begun, before = time.monotonic(), runs.processor_time(process.pid)
        time.sleep(rest)
        used = (runs.processor_time(process.pid) - before) / (time.monotonic() - begun)
        runs.let_go([process], folder)
    finally:
        runs.end([process])
    if process.returncode:
        raise CannotMeasure(f"a run failed with status {process.returncode}; see {folder}/output")
    return used


def _all_wait(folder):
    told = json.loads(run([Ligament().command, "status", folder / "run", "--json"], seconds=runs.LIMIT))
    return all(one["state"] == "waiting to receive" for one in told["instances"] if one["name"] != "gate")
