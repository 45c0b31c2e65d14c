"""Programs that exchange messages over the emulated link: their build, and their start at both ends."""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, run
from lib.network import SpreadRun, await_all

sys.path += [str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "network")]
import wan  # noqa: E402
from wan import Wan, no_wan  # noqa: E402

HERE = Path(__file__).resolve().parent
OUT = BUILD / "wan"
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused-function"]
PORT = 7000
UNSENT = 64 << 10  # maximum number of unsent bytes in each socket of the bare program


def missing():
    """Returns one sentence for each missing thing."""
    found = [no_wan()] if no_wan() else []
    return found + Ligament().missing()


def build():
    """Compiles the emulator and the programs."""
    OUT.mkdir(parents=True, exist_ok=True)
    wan.build(OUT)
    for name in ("bare", "ours", "member"):
        flags = [] if name == "bare" else Ligament().flags()
        run(["gcc", *FLAGS, HERE / f"{name}.c", "-o", OUT / name, *flags], seconds=120)


def link(cell, seed, *more):
    """Makes the emulated link of a cell. `more` are further options of the emulator."""
    more = ("--cc", cell.cc, "--seed", seed, *more)
    return Wan(OUT / "wan_emulator", rtt=cell.rtt, rate=cell.rate, loss=cell.loss, more=more)


def has_iperf3():
    return shutil.which("iperf3") is not None


class Played:
    """The output of both ends: for each message (sent, answered, received) in ns, and the processor time of
    both in s."""

    def __init__(self, first, second):
        first, second = first.splitlines(), second.splitlines()
        sides = [tuple(map(int, line.split())) for line in first[:-1]]
        self.messages = [(sent, answered, int(end)) for (sent, answered), end in zip(sides, second[:-1],
                                                                                     strict=True)]
        self.processor = float(first[-1]) + float(second[-1])

    @classmethod
    def read(cls, folder, number):
        """Reads the output of exchange `number` from a folder."""
        return cls((folder / f"a{number}").read_text(), (folder / f"b{number}").read_text())

    def halves(self):
        """Returns half of each round trip, in ms."""
        return [(answered - sent) / 2e6 for sent, answered, _ in self.messages]


def words_of(plan):
    """Returns a plan in the form that the programs read: [(count, bytes, pause in ms) or (…, kind), ...]."""
    return ",".join(":".join(map(str, part)) for part in plan)


def play(link_, program, plan, streams, seconds):
    """Makes one exchange from `a` to `b` with a plan (`words_of`), with new connections."""
    return play_beside(link_, program, [(plan, streams)], seconds)[0]


def play_beside(link_, program, plans, seconds):
    """Makes exchanges [(plan, streams), ...] at the same time, each with connections of its own. Returns a
    `Played` for each."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=OUT) as folder, Processes(link_, folder) as started:
        folder, ends, relays = Path(folder), [], started.relays(RELAYS.get(program, 0))
        for number, (plan, streams) in enumerate(plans):
            where = [link_.b.v4, PORT + number]
            if program == "bare":
                more = {"a": [streams, UNSENT], "b": [streams, UNSENT]}
            else:
                key = folder / f"key{number}"
                Key.make(key)
                more = {"a": [key, streams, *relays], "b": [key, streams, *relays[-1:]]}
            for side in "ba":
                name = "bare" if program == "bare" else "ours"
                words = [side, folder / f"{side}{number}", words_of(plan), *where, *more[side]]
                ends.append(started.start(side, OUT / name, *words))
                time.sleep(0.05)
        until = time.monotonic() + seconds
        try:
            failed = [p for p in ends if p.wait(max(until - time.monotonic(), 0.1)) != 0]
        except subprocess.TimeoutExpired:
            failed = ["none came to its end in time"]
        if failed:
            raise CannotMeasure(
                f"{program} with {[streams for _, streams in plans]} streams failed:\n{started.said()}")
        return [Played.read(folder, number) for number in range(len(plans))]


def play_run(link_, plans, seconds):
    """Makes a run over both ends of the link with a pair of instances for each plan. Returns a `Played` for
    each, and the s from the command to the end of the run at both ends."""
    pairs = range(len(plans))
    with tempfile.TemporaryDirectory(prefix="run-", dir=OUT) as folder:
        folder = Path(folder)
        names = [f"{side}{number}" for number in pairs for side in "ab"]
        lines = ["ymmsl_version: v0.1", "model:", "  name: wan", "  components:"]
        lines += [f"    {name}: {{implementation: {name}, ports: {{o_i: out, s: in}}}}" for name in names]
        lines += ["  conduits:"]
        lines += [f"    {one}{n}.out: {other}{n}.in" for n in pairs for one, other in ("ab", "ba")]
        lines += ["implementations:"]
        for name in names:
            words = f"[{name[0]}, '{folder / name}', '{words_of(plans[int(name[1:])])}']"
            lines += [f"  {name}: {{executable: {OUT / 'member'}, args: {words}}}"]
        (folder / "model.ymmsl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        begun = time.monotonic()
        run_ = SpreadRun(Ligament().command, [link_.a, link_.b], folder / "model.ymmsl", folder / "run",
                         on={1: [f"b{number}" for number in pairs]})
        await_all(run_.processes, seconds, run_.said)
        took = time.monotonic() - begun
        return [Played.read(folder, number) for number in pairs], took


RELAYS = {"relay": 1,
          "trunk": 2}  # relays of a path by program; the last one is beside `b`, and a second one beside `a`


class Processes(contextlib.ExitStack):
    """The processes at both ends of a link. At the end of the `with` block, the remaining ones are ended."""

    def __init__(self, link_, folder):
        super().__init__()
        self.link, self.folder = link_, Path(folder)
        self.log = self.enter_context(open(self.folder / "log", "w+b"))

    def start(self, side, *command):
        process = self.link[side].start(*command, stdout=self.log, stderr=self.log)
        self.callback(self._end, side, process)
        return process

    def _end(self, side, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        self.link[side].processes = [p for p in self.link[side].processes if p is not process]

    def relays(self, count):
        """Starts relays in a row. Returns their files, the nearest to `a` first."""
        files = [self.folder / f"{side}.relay" for side in "ab"[2 - count:]]
        for side, onward in [("b", None), ("a", "b")][:count]:
            file = self.folder / f"{side}.relay"
            lead = ["--onward", self.folder / f"{onward}.relay"] if onward else []
            address = self.link[side].v4
            self.start(side, Ligament().command, "relay", file, "--listen", address, "--address", address,
                       *lead)
            until = time.monotonic() + 20
            while not file.exists() or f"listens at {address}" not in self.said():
                if time.monotonic() > until:
                    raise CannotMeasure(f"no relay at {side}:\n{self.said()}")
                time.sleep(0.02)
        return files

    def said(self):
        """Returns the end of their output."""
        return (self.folder / "log").read_text(errors="replace")[-2000:]


class Key:
    """Makes a key for paths, with the measured library."""

    @staticmethod
    def make(file):
        import ctypes

        library = ctypes.CDLL(str(Ligament().library / "libligament.so"))
        if library.lig_path_key_make(os.fsencode(file), None) != 0:
            raise CannotMeasure(f"no key can be made at {file}")


def iperf3(link_, streams, size, seconds):
    """Returns the Mbit/s that iperf3 reports at its receiving end."""
    server = link_.b.start("iperf3", "-s", "-1", "-p", PORT, stdout=subprocess.DEVNULL)
    time.sleep(0.2)
    words = ["iperf3", "-c", link_.b.v4, "-p", PORT, "-P", streams, "-n", size // streams, "-J"]
    printed = link_.a.run(*words, limit=seconds)
    server.wait(seconds)
    return json.loads(printed)["end"]["sum_sent"]["bits_per_second"] / 1e6


def ping(link_):
    """Returns the median of some round trips, in ms."""
    return statistics.median(map(float, link_.a.run(sys.executable, HERE / "ping.py", link_.b.v4, 11,
                                                    limit=60).split()))
