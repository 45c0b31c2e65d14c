"""The measured cases of light components: a web, the same web as hand-written threads, and a chain of waiting
components."""

import json
import time
from pathlib import Path

from lib import runs
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "light"
PART = 1000  # threads in one process


def build():
    """Compiles the programs into build/benchmarks/light."""
    flags = Ligament().flags()
    runs.compiled(runs.LIBRARY / "light.c", OUT / "light", *flags)
    runs.compiled(HERE / "gate.c", OUT / "gate", *flags)
    runs.compiled(HERE / "threads.c", OUT / "threads", "-pthread")


def row(components, light, gate):
    """Returns a chain of light components. Each waits for a message from the component before it. The first
    waits for a message from a process that sends when it is released."""
    rows = [f"    c{i}: {{implementation: node, ports: {{f_init: start, o_f: end}}}}"
            for i in range(components)]
    rows.append("    gate: {implementation: gate, ports: {o_i: out}}")
    conduits = ["    gate.out: c0.start", *(f"    c{i}.end: c{i + 1}.start" for i in range(components - 1))]
    programs = [runs.node(light), ("gate", f"{{executable: {gate}}}")]
    return runs.model("row", rows, conduits, programs, runs.light(components + 1))


def seconds_of_exchange(components, conduits, steps, folder):
    """Returns the seconds from the first step of all light components to the last step."""
    text = runs.web(components, conduits, OUT / "light", steps)
    runs.seconds(runs.ligament(text, folder), folder, environment={"LIGHT_SECONDS": str(folder / "seconds")})
    return float((folder / "seconds").read_text())


def seconds_of_threads(components, conduits, steps):
    """Returns the same time for one thread in place of each component."""
    return float(run([OUT / "threads", components, conduits, steps], seconds=runs.LIMIT))


def seconds_of_all_threads(components, conduits, folder):
    """Returns the seconds from the start to the end of processes with one thread for each component, which pass
    one message on each conduit. There are several processes one after the other, because a system with a limit
    of 32,768 threads has no room for more at once."""
    parts = max(1, components // PART)
    words = [OUT / "threads", components // parts, conduits // parts, 1]
    return sum(runs.seconds(words, folder) for _ in range(parts))


def idle(components, rest, folder):
    """Returns the processor seconds per second of a run whose light components all wait, measured for `rest` s.
    """
    text = row(components, OUT / "light", OUT / "gate")
    process = runs.started(runs.ligament(text, folder), runs.holding(folder), folder)
    try:
        runs.await_arrival([process], 1, folder)
        until = time.monotonic() + runs.LIMIT
        while not _all_wait(folder):
            if time.monotonic() > until:
                raise CannotMeasure(f"the light components do not come to wait; see {folder}")
            time.sleep(0.5)
        time.sleep(1)  # the work for the status request ends
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
