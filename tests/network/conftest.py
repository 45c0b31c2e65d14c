"""What tests over networks share: networks that vanish with their test, the WAN emulator, plain TCP in namespaces."""

import json
import select
import subprocess
import sys
from pathlib import Path

import pytest

import namespaces
import wan

TRAFFIC = Path(__file__).resolve().parent / "traffic.py"


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
            sys.executable, TRAFFIC, *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, bufsize=1,
        )

    def line(self, within=30):
        """The next line that it prints; None if none comes in this time (s)."""
        if not select.select([self.process.stdout], [], [], within)[0]:
            return None
        return self.process.stdout.readline().strip()

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
    """Sends so many bytes from one host to another, and returns what the receiver found; the bytes arrive whole."""

    def carry(one, other, address, total, limit=120):
        receiver = plain(other, "receive", address, 7001)
        sender = plain(one, "send", address, 7001, total)
        sent, found = json.loads(sender.line(limit)), json.loads(receiver.line(limit))
        assert (found["bytes"], found["sha256"]) == (total, sent["sha256"])
        return found

    return carry
