"""The models that are started over two machines, as text, and a run of a model: the times of its start and its
end, and its memory and connections when all instances are up."""

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
    """Instances on two machines, half of them on each, with conduits of each to the other machine."""

    name: str
    instances: int
    conduits: int  # of each instance; half of them leave it
    light: bool = False

    def __post_init__(self):
        if self.instances % 2 or self.conduits % 2 or self.conduits // 2 > self.instances // 2:
            raise ValueError("instances and their conduits come in pairs")

    @property
    def processes(self):
        return 2 if self.light else self.instances


def names(case, side):
    """Returns the components on one machine, `a` or `b`."""
    return [f"{side}{i}" for i in range(case.instances // 2)]


def model(case, folder):
    """Returns the model. Each instance sends to consecutive instances on the other machine, and receives from
    the same number."""
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
    # The model places the instances, because options for hundreds of names would make a long command line.
    lines += ["ligament:", *(["  light: [a, b]"] if case.light else []), "  place:"]
    lines += [f"    '{domain}': [{', '.join(names(case, side))}]" for domain, side in enumerate("ab")]
    return "\n".join(lines) + "\n"


def _proportional(pid):
    """Returns the memory of a process in bytes, with its share of shared memory. Returns 0 if the process has
    ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


def memory(network):
    """The proportional memory of all processes on both machines, bytes."""
    return sum(_proportional(pid) for host in network.hosts.values() for pid in processes_in(host.path))


def between(network):
    """Returns the number of TCP connections between the two machines."""
    other = {address for address in network["a"].addresses}
    return sum(remote.rpartition(":")[0].strip("[]") in other for _, remote in connections(network["b"]))


def measure(case, scratch, command):
    """Makes a run. Returns {"start_s", "end_s", "memory", "connections"}."""
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
    """Opens the FIFO again and again until the run is over. Each opening releases the processes that wait at
    this time."""
    until = time.monotonic() + LIMIT
    while any(process.poll() is None for process in spread.processes) and time.monotonic() < until:
        try:
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            pass  # no process waits
        time.sleep(0.002)
