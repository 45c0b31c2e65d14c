"""A model that runs until it is told to end, and the processes of its runs."""

import json
import os
import select
import signal
import subprocess

import pytest
from terminals import LONG, Terminal, until

SOURCE = """
import os, time
instance = Instance({Operator.O_I: ["out"], Operator.S: ["back"]})
while instance.reuse_instance():
    for step in range(100000):
        instance.send("out", Message(float(step), data=step))
        instance.receive("back")
        if os.path.exists(os.path.join(HERE, "fail")):
            print("the last words of the source")
            raise SystemExit(3)
        if os.path.exists(os.path.join(HERE, "go")):
            break
        time.sleep(0.01)
"""

WORKER = """
import logging
instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    message = instance.receive("in")
    if message.data == 0:
        logging.getLogger().warning("the worker warns")
    instance.send("out", message)
"""

MODEL = """ymmsl_version: v0.1
model:
  name: endless
  components:
    source: {{implementation: source, ports: {{o_i: out, s: back}}}}
    worker: {{implementation: worker, ports: {{f_init: in, o_f: out}}}}
  conduits:
    source.out: worker.in
    worker.out: source.back
settings: {{t_max: 1000.0}}
implementations:
  source: {source}
  worker: {worker}
"""


class Place:
    """A directory with a model that runs until it is told to end, and its runs."""

    def __init__(self, path, ligament, model):
        self.path, self.ligament, self.started = path, ligament, []
        (path / "endless.ymmsl").write_text(model)

    def call(self, *words, status=0, limit=LONG):
        """Calls the command, and returns its standard output and standard error."""
        done = subprocess.run([self.ligament, *map(str, words)], cwd=self.path, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit)
        assert done.returncode == status, f"{words} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout, done.stderr

    def starts(self, *words):
        """Starts the command, without a terminal."""
        child = subprocess.Popen([self.ligament, *map(str, words)], cwd=self.path, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(child)
        return child

    def attaches(self, *words):
        """Starts `ligament attach` without a terminal, and waits for its first output, which stays to be read.
        From then on it sees every change of the run."""
        child = self.starts("attach", "run", *words)
        assert select.select([child.stderr], [], [], LONG)[0], "it says nothing"
        return child

    def on_terminal(self, *words):
        terminal = Terminal([self.ligament, *words], self.path)
        self.started.append(terminal)
        return terminal

    def detached(self, *words):
        """Starts a run that needs no terminal, and returns its record."""
        return json.loads(self.call("run", "endless.ymmsl", "--run-dir=run", "--detach", "--json", *words)[0])

    def tells(self, word):
        (self.path / word).touch()

    @property
    def record(self):
        return json.loads((self.path / "run/run.json").read_text())

    def journal(self, name="run"):
        """The entries of the journal that are written whole."""
        lines = (self.path / name / "journal.jsonl").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def events(self):
        return [entry["event"] for entry in self.journal()]

    def is_under_way(self):
        """All instances have registered."""
        until(lambda: self.events().count("registered") == 2, "the begin of the run")

    def clear(self):
        self.tells("go")
        if (self.path / "run/run.json").exists() and self.record["state"] == "running":
            subprocess.run([self.ligament, "stop", "run"], cwd=self.path, capture_output=True, timeout=LONG)
        for one in self.started:
            if isinstance(one, Terminal):
                one.goes_away()
                if one.status is None:
                    os.kill(one.pid, signal.SIGINT)
                    one.ends()
            elif one.poll() is None:
                one.kill()
                one.wait()


@pytest.fixture
def place(tmp_path, ligament, python_program):
    source = python_program("source", SOURCE.replace("HERE", repr(str(tmp_path))))
    one = Place(tmp_path, ligament, MODEL.format(source=source, worker=python_program("worker", WORKER)))
    yield one
    one.clear()


@pytest.fixture
def elsewhere():
    """Words before a command that make it believe it is on another machine that sees the same files."""
    words = ["unshare", "--uts", "sh", "-c", "hostname far.away && exec \"$0\" \"$@\""]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        pytest.skip("this user may not name machines")
    return words
