"""A wide-area link between two namespaces, `a` and `b`: tests/tools/wan_emulator.c, and the actions of a
test."""

import itertools
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from namespaces import NAMED, Guard, Namespace, owned_names, sweep, unavailable

SOURCE = Path(__file__).resolve().parent.parent / "tools" / "wan_emulator.c"
_counter = itertools.count()


def no_wan():
    """The reason why there can be no wide-area link here, in one sentence, or None."""
    if not Path("/dev/net/tun").exists():
        return "the WAN emulator needs /dev/net/tun"
    return unavailable() or (None if shutil.which("gcc") else "gcc is not installed (apt-get install gcc)")


def build(folder):
    """Compiles the emulator into a folder, and returns the program's path."""
    program = Path(folder) / "wan_emulator"
    subprocess.run(["gcc", "-O2", "-o", program, SOURCE, "-lpthread"], check=True)
    return program


class Wan:
    """Two namespaces, `a` (10.77.1.1) and `b` (10.77.2.1), and the link between them, for IPv4 only. `rtt` is
    the round-trip time in ms, `rate` is in Mbit/s (0: no limit), and `loss` is in % of the segments of each
    direction. `more` are further options of the emulator ("--jitter", "2")."""

    def __init__(self, program, rtt=20, rate=1000, loss=0, more=()):
        sweep()
        Guard.ensure()
        name = f"{owned_names()}wan{next(_counter)}"
        self.log = os.memfd_create("wan")
        self.process = subprocess.Popen(
            [program, "--rtt", str(rtt), "--rate", str(rate), "--loss", str(loss), "--name", name,
             *map(str, more)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, start_new_session=True,
        )
        self.is_cut = False
        self.a = Namespace(NAMED / f"{name}-a", "a", ["10.77.1.1"])
        self.b = Namespace(NAMED / f"{name}-b", "b", ["10.77.2.1"])
        # The emulator prints its first line when both namespaces have their names and addresses, and installs
        # the handler of SIGUSR1 right after.
        self._await(lambda: "enter with" in self.said() and self._handles_signals())

    def said(self):
        """Returns the output of the emulator so far. At its end it prints the numbers of carried and lost
        segments, and the reasons."""
        return os.pread(self.log, 1 << 20, 0).decode(errors="replace")

    def _handles_signals(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
        return caught >> (signal.SIGUSR1 - 1) & 1

    def _await(self, so):
        until = time.monotonic() + 120
        while not so():
            if self.process.poll() is not None or time.monotonic() > until:
                self.close()
                raise OSError(f"the WAN emulator did not do as it was told:\n{self.said()}")
            time.sleep(0.005)

    def __getitem__(self, name):
        return {"a": self.a, "b": self.b}[name]

    def _toggle(self, wanted, word):
        if self.is_cut != wanted:
            before = self.said().count(word)
            self.process.send_signal(signal.SIGUSR1)
            self._await(lambda: self.said().count(word) > before)
            self.is_cut = wanted

    def cut(self):
        """Cuts the link: all packets that are sent, or are on their way, are lost from now on."""
        self._toggle(True, "link down")

    def restore(self):
        """Ends the cut."""
        self._toggle(False, "link up")

    def attach(self, side, network):
        """Joins one end of the link to a network's switch, with an address there. The other hosts of the
        network can reach this end, and nothing behind the link."""
        prefix, device, address = network.prefix, f"to{side}", f"10.88.0.{200 + 'ab'.index(side)}"
        port = ("ip", "-n", f"{prefix}switch", "link", "set", f"wan.{side}")
        own = ("ip", "-n", self[side].path.name)
        for words in (("ip", "link", "add", f"wan.{side}", "netns", f"{prefix}switch", "type", "veth", "peer",
                       "name", device,
                       "netns", self[side].path.name), (*port, "master", "br0"), (*port, "up"),
                      (*own, "addr", "add", f"{address}/24", "dev", device),
                      (*own, "link", "set", device, "up")):
            subprocess.run(words, check=True)
        return address

    def close(self):
        # The emulator itself is in one of the two namespaces. It ends all other processes there, and then
        # removes the names.
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=120)
        for side in (self.a, self.b):
            side.reap()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        os.close(self.log)
