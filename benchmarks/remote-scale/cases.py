"""The models that are started over two machines, as text, and one run of one of them: how long its start and
its end take, and what memory and which connections it has when all of it is there."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, run
from lib.network import Network, SpreadRun, await_all, connections, processes_in

HERE = Path(__file__).resolve().parent
OUT = BUILD / "remote-scale"
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
LIMIT = 300  # s after which a run is given up


def build():
    """Compiles the programs into build/benchmarks/remote-scale."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, more in (("process", []), ("light", ["-DLIGHT"])):
        run(["gcc", *FLAGS, *more, HERE / "member.c", "-o", OUT / name, *Ligament().flags()], seconds=120)


@dataclass(frozen=True)
class Case:
    """So many instances on two machines, half of them on each, with so many conduits each to the other
    machine."""

    name: str
    instances: int
    conduits: int  # of an instance: half of them leave it
    light: bool = False

    def __post_init__(self):
        if self.instances % 2 or self.conduits % 2 or self.conduits // 2 > self.instances // 2:
            raise ValueError("instances and their conduits come in pairs")

    @property
    def processes(self):
        return 2 if self.light else self.instances


def names(case, side):
    """The components on one machine, `a` or `b`."""
    return [f"{side}{i}" for i in range(case.instances // 2)]


def model(case, folder):
    """Each instance sends to as many on the other machine, one after the other, and receives from as many."""
    half, each = case.instances // 2, case.conduits // 2
    ports = (f"{{o_i: [{', '.join(f'o{k}' for k in range(each))}], s: "
             f"[{', '.join(f'i{k}' for k in range(each))}]}}")
    lines = ["ymmsl_version: v0.1", "model:", "  name: scale", "  components:"]
    lines += [f"    {name}: {{implementation: {side}, ports: {ports}}}" for side in "ab"
              for name in names(case, side)]
    lines += ["  conduits:"]
    lines += [f"    {one}{i}.o{k}: {other}{(i + k) % half}.i{k}"
              for one, other in ("ab", "ba") for i in range(half) for k in range(each)]
    executable, held = OUT / ("light" if case.light else "process"), half if case.light else 1
    lines += ["implementations:"]
    lines += [f"  {side}: {{executable: {executable}, args: ['{folder}', '{held}']}}" for side in "ab"]
    # The model says where each runs: hundreds of names would be a long command line.
    lines += ["ligament:", *(["  light: [a, b]"] if case.light else []), "  place:"]
    lines += [f"    '{domain}': [{', '.join(names(case, side))}]" for domain, side in enumerate("ab")]
    return "\n".join(lines) + "\n"


def _proportional(pid):
    """A process's memory, bytes, what it shares counted as its part of it; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def memory(network):
    """The proportional memory of all processes on both machines, bytes."""
    return sum(_proportional(pid) for host in network.hosts.values() for pid in processes_in(host.path))


def between(network):
    """How many TCP connections join the two machines now."""
    other = {address for address in network["a"].addresses}
    return sum(remote.rpartition(":")[0].strip("[]") in other for _, remote in connections(network["b"]))


def measure(case, scratch, command):
    """{"start_s", "end_s", "memory", "connections"} of one run."""
    scratch.mkdir()
    os.mkfifo(scratch / "go")
    (scratch / "arrived").touch()
    file = scratch / "scale.ymmsl"
    file.write_text(model(case, scratch), encoding="utf-8")
    with Network("a", "b", direct=True) as network:
        begun = time.monotonic()
        spread = SpreadRun(command, [network["a"], network["b"]], file, scratch / "run", options=["--quiet"],
                           folder=scratch)
        while (scratch / "arrived").stat().st_size < case.processes:
            failed = [process for process in spread.processes if process.poll() not in (None, 0)]
            if failed or time.monotonic() - begun > LIMIT:
                raise CannotMeasure(
                    f"{case.name}: not all instances got what they wait for:\n{spread.said()[-3000:]}")
            time.sleep(0.002)
        found = {"start_s": time.monotonic() - begun, "memory": memory(network),
                 "connections": between(network)}
        begun = time.monotonic()
        _let_go(scratch / "go", spread)
        await_all(spread.processes, LIMIT, spread.said)
        return {**found, "end_s": time.monotonic() - begun}


def _let_go(fifo, spread):
    """Opens the FIFO until the run is over: each opening lets through who waits, and one that comes later needs
    another."""
    until = time.monotonic() + LIMIT
    while any(process.poll() is None for process in spread.processes) and time.monotonic() < until:
        try:
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass  # nobody waits
        time.sleep(0.002)
