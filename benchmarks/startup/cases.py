"""The cases: chains of processes, webs of light components, and the same processes without the library; and
their memory when all of them have done their exchange."""

import os
import time
from pathlib import Path

from lib import runs
from lib.ligament import Ligament
from lib.machine import BUILD

HERE = Path(__file__).resolve().parent
OUT = BUILD / "startup"


def chain(processes, executable):
    """Returns a model of processes in a chain, each with a conduit to the next."""
    components = [f"    p{i}: {{implementation: link, ports: {{o_i: out, s: in}}}}" for i in range(processes)]
    conduits = [f"    p{i}.out: p{i + 1}.in" for i in range(processes - 1)]
    return runs.model("chain", components, conduits, [("link", f"{{executable: {executable}}}")])


def build():
    """Compiles the programs into build/benchmarks/startup."""
    runs.compiled(HERE / "process.c", OUT / "process", *Ligament().flags())
    runs.compiled(runs.LIBRARY / "light.c", OUT / "light", *Ligament().flags())
    runs.compiled(HERE / "process.c", OUT / "alone", "-DALONE")
    runs.compiled(runs.LIBRARY.parent / "light" / "threads.c", OUT / "threads", "-pthread")


def alone(processes):
    """Returns the seconds in which one launcher starts processes that do nothing and waits for them. No library
    can be faster."""
    program, environment = str(OUT / "alone"), dict(os.environ)
    begun = time.monotonic()
    children = [os.posix_spawn(program, [program], environment) for _ in range(processes)]
    for child in children:
        os.waitpid(child, 0)
    return time.monotonic() - begun


def threads(components, conduits, folder):
    """Returns the seconds of a process with one thread for each component and a queue for each conduit, which
    passes one message on each conduit."""
    return runs.seconds([OUT / "threads", components, conduits, 1], folder)


# ---- memory --------------------------------------------------------------------------------------------------
def _memory_when_all_arrived(processes, count, folder):
    """Returns the proportional memory of these process trees in bytes when `count` programs have done their
    exchange. Then releases them, and waits for their end."""
    try:
        runs.await_arrival(processes, count, folder)
        total = sum(runs.proportional(pid) for process in processes for pid in runs.tree(process.pid))
        runs.let_go(processes, folder)
        return total
    finally:
        runs.end(processes)


def memory(model, programs, folder):
    """Returns the proportional memory of all processes of a run in bytes, when each of its `programs`
    (processes that hold) has done its exchange."""
    command, environment = runs.ligament(model, folder), runs.holding(folder)
    return _memory_when_all_arrived([runs.started(command, environment, folder)], programs, folder)


def memory_alone(count, folder):
    """Returns the same for processes without the library and without a run."""
    environment = runs.holding(folder)
    children = [runs.started([OUT / "alone"], environment, folder) for _ in range(count)]
    return _memory_when_all_arrived(children, count, folder)
