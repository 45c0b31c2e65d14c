"""Runs over several domains on this machine, whose agents a test starts by hand, over loopback."""

import contextlib
import os
import subprocess
import threading
import time
from pathlib import Path

from conftest import COMMAND, LIMIT_S, Run


class Domains:
    """A run with a head and one more domain, and its restarts. An agent for domain 1 is started for each of
    them. Agents have directories of their own unless `shared`, and then see the run directory."""

    def __init__(self, place, models, arguments=(), *, shared=False, env=None, before_agent=()):
        place.mkdir(exist_ok=True)
        self.place, self.agents, self.texts, self.is_over = place, [], [], False
        self.before_agent, self.shared = list(before_agent), shared
        self.scratch = place / "scratch"
        self.scratch.mkdir()
        self.env = {**os.environ, **(env or {})}
        run = [COMMAND, "run", *map(str, models), "--domains", "1", "--listen", "127.0.0.1", "--overcommit",
               "--run-dir", str(place / "run"), *arguments]
        self.head = self.begin(run)
        self.joiner = threading.Thread(target=self.join_all)
        self.joiner.start()

    def begin(self, command):
        text = self.place / f"text{len(self.texts)}"
        self.texts.append(text)
        with text.open("w") as file:
            return subprocess.Popen(
                command, cwd=self.place, env=self.env, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True)

    def join_all(self):
        """Starts an agent for the run, and one for each restart."""
        joined = set()
        while not self.is_over and self.head.poll() is None:
            for invitation in sorted(self.place.glob("run*/invitation")):
                with contextlib.suppress(FileNotFoundError):
                    if invitation.parent not in joined and invitation.read_text():
                        joined.add(invitation.parent)
                        self.join(invitation)
            time.sleep(0.02)

    def join(self, invitation):
        scratch = [] if self.shared else ["--scratch", str(self.scratch)]
        self.agents.append(self.begin(
            [*self.before_agent, COMMAND, "agent", "--join", str(invitation), "--domain", "1", "--listen",
             "127.0.0.1", "--patience", "10s", *scratch]))

    def text(self):
        return "\n".join(text.read_text() for text in self.texts)

    def until(self, true, what):
        end = time.monotonic() + LIMIT_S
        while not true():
            assert time.monotonic() < end, f"it never came to this: {what}\n{self.text()}"
            assert self.head.poll() is None, self.text()
            time.sleep(0.01)

    def runs(self):
        """Waits until the head and the agents have ended. Returns all runs in their order."""
        try:
            status = self.head.wait(timeout=LIMIT_S)
            for agent in self.agents:
                agent.wait(timeout=LIMIT_S)
        finally:
            self.end()
        done = subprocess.CompletedProcess([], status, self.text())
        found = sorted((one for one in self.place.glob("run*") if one.is_dir()),
                       key=lambda one: int(one.name.partition("-restart")[2] or 0))
        return [Run(done, one) for one in found]

    def done(self):
        """The last run, which has ended well and has left nothing in the other domain."""
        last = self.runs()[-1]
        assert last.status == 0, last.text
        assert list(self.scratch.iterdir()) == [], last.text
        return last

    def end(self):
        self.is_over = True
        self.joiner.join(timeout=LIMIT_S)
        for process in (self.head, *self.agents):
            if process.poll() is None:
                process.kill()
            process.wait()


def in_namespace(*disks):
    """Words before a command that give it a mount namespace with small disks: path and size."""
    script = ("while [ $1 != -- ]; do mount -t tmpfs -o size=$2 none $1 || exit 9; shift 2; done; shift; "
              "exec \"$@\"")
    return ["unshare", "-Urm", "sh", "-c", script, "sh", *map(str, disks), "--"]


def unfinished(run):
    """The files of checkpoints that are not whole."""
    return list(Path(run.directory, "checkpoints").glob(".unfinished/*"))

