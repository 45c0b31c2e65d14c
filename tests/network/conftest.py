"""Common parts of the tests over networks: networks that vanish with their test, the WAN emulator, plain TCP in
namespaces."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import namespaces
import wan
from domains import SpreadRun, can_spread

TRAFFIC = Path(__file__).resolve().parent / "traffic.py"
SLURM_TOOL = Path(__file__).resolve().parents[1] / "tools/slurm-cluster"


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow: takes longer than the others together; of the suite \"long networks\"")
    config.addinivalue_line("markers", "sites: all that goes from site to site; of the suite \"sites\"")


@pytest.fixture
def network():
    """Makes networks as `namespaces.Network` does; they are removed after the test."""
    reason = namespaces.unavailable()
    if reason:
        pytest.skip(reason)
    made = []

    def make(*names, **options):
        made.append(namespaces.Network(*names, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def slurm_tool():
    """The tool that starts a Slurm in a namespace. Munge, which serves all of them, is started outside."""
    absent = [program for program in ("slurmctld", "munged", "sshd") if shutil.which(program) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    subprocess.run([SLURM_TOOL, "munge"], check=True, timeout=60)
    return SLURM_TOOL


@pytest.fixture(scope="session")
def emulator(tmp_path_factory):
    """The emulator of wide-area links, compiled once."""
    reason = wan.no_wan()
    if reason:
        pytest.skip(reason)
    return wan.build(tmp_path_factory.mktemp("wan"))


@pytest.fixture
def wide_area(emulator):
    """Makes wide-area links as `wan.Wan` does; they are removed after the test."""
    made = []

    def make(**options):
        made.append(wan.Wan(emulator, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Plain:
    """A process of traffic.py in a namespace."""

    def __init__(self, host, *words):
        self.process = host.start(
            sys.executable, TRAFFIC, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True, bufsize=1,
        )
        self.read = b""

    def line(self, within=120):
        """Returns the next line that it prints; None if no line comes in this time (s)."""
        until = time.monotonic() + within
        # The lines are not read by readline, because select does not see what readline has read ahead.
        while b"\n" not in self.read:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            if not (piece := os.read(self.process.stdout.fileno(), 65536)):
                break  # it has ended
            self.read += piece
        line, _, self.read = self.read.partition(b"\n")
        return line.decode().strip()

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()


@pytest.fixture
def plain():
    """Starts traffic.py in a namespace; one that listens does so when this returns."""

    def start(host, *words):
        process = Plain(host, *words)
        if words[0] in ("receive", "echo"):
            assert process.line() == "listening"
        return process

    return start


@pytest.fixture
def transfer(plain):
    """Sends a number of bytes from one host to another, and returns the receiver's report. The bytes arrive
    whole."""

    def carry(one, other, address, total, limit=120):
        receiver = plain(other, "receive", address, 7001)
        sender = plain(one, "send", address, 7001, total)
        sent, found = json.loads(sender.line(limit)), json.loads(receiver.line(limit))
        assert (found["bytes"], found["sha256"]) == (total, sent["sha256"])
        return found

    return carry


# ---- runs that are spread over a network ---------------------------------------------------------------------
@pytest.fixture
def spread(ligament, tmp_path):
    """Starts a model (a text, or a file) over hosts, as `domains.SpreadRun` does. A run that is not over at the
    end of the test ends with its network."""
    reason = can_spread(ligament)
    if reason:
        pytest.skip(reason)
    count = 0

    def start(hosts, model, **options):
        nonlocal count
        count += 1
        if isinstance(model, str):
            (tmp_path / f"model{count}.ymmsl").write_text(model)
            model = tmp_path / f"model{count}.ymmsl"
        environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                       **options.pop("environment", {})}
        return SpreadRun(ligament, hosts, model, tmp_path / f"run{count}", environment=environment, **options)

    return start


class Flow:
    """A run of flow.c over two hosts: one floods the other ("bulk"), or each answers the other ("exchange")."""

    ROLES = {"bulk": ("source", "sink"), "exchange": ("ping", "pong")}

    def __init__(self, start, program, hosts, kind, size, folder, options):
        self.folder, (one, other) = folder, self.ROLES[kind]
        ports = "{o_i: out, s: in}" if kind == "exchange" else None
        lines = ["ymmsl_version: v0.1", "model:", "  name: flow", "  components:",
                 f"    {one}: {{implementation: {one}, ports: {ports or '{o_i: out}'}}}",
                 f"    {other}: {{implementation: {other}, ports: {ports or '{s: in}'}}}",
                 f"  conduits: {{{one}.out: {other}.in{f', {other}.out: {one}.in' if ports else ''}}}",
                 "implementations:"]
        lines += [f"  {name}: {{executable: {program}, args: [{name}, '{folder}', '{size}']}}"
                  for name in (one, other)]
        self.one, self.other = one, other
        self.run = start(hosts, "\n".join(lines) + "\n", on={1: [other]}, **options)

    def await_begun(self, limit=60):
        """Waits until more than 20 messages were sent."""
        until = time.monotonic() + limit
        while not (self.folder / "begun").exists():
            ended = [process.poll() for process in self.run.processes if process.poll() is not None]
            assert not ended and time.monotonic() < until, f"it did not begin {ended}\n{self.run.said()}"
            time.sleep(0.01)

    def enough(self):
        """Lets the leader send one more message and end."""
        (self.folder / "enough").touch()

    def end_well(self, limit=180):
        """Returns the number of messages from one host to the other, after a check that both ends agree on
        them."""
        self.enough()
        self.run.succeed(limit)
        sent, came = (self.run.file(name, "summary").split() for name in (self.one, self.other))
        assert sent == came
        return int(sent[0])


@pytest.fixture
def flow(spread, compile_c, tmp_path):
    """Starts a run of flow.c over two hosts; `size` is that of a message, bytes."""
    count = 0

    def start(hosts, kind, size, **options):
        nonlocal count
        count += 1
        folder = tmp_path / f"flow{count}"
        folder.mkdir()
        program = compile_c(Path(__file__).resolve().parent / "flow.c")
        return Flow(spread, program, hosts, kind, size, folder, options)

    return start
