"""Runs of models with checkpoints, in Python's codes of `codes.py`."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMMAND = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
# Time within which a step of a test is over, s.
LIMIT_S = 120

CALLS = """
ymmsl_version: v0.2
models:
  calls:
    components:
      macro:
        ports: {o_i: out, s: in}
        implementation: macro
      micro:
        ports: {f_init: in, o_f: out}
        implementation: MICRO
    conduits:
      macro.out: micro.in
      micro.out: macro.in
settings: {step: 1.0, end: 12.0}
"""

PEERS = """
ymmsl_version: v0.2
models:
  peers:
    components:
      fast:
        ports: {o_i: out, s: in}
        implementation: peer
      slow:
        ports: {o_i: out, s: in}
        implementation: peer
    conduits:
      fast.out: slow.in
      slow.out: fast.in
settings:
  fast.step: 1.0
  fast.steps: 24
  fast.every: 1
  fast.lead: LEAD
  slow.step: 1.0
  slow.steps: 24
  slow.every: 1
  slow.lead: LEAD
"""


def implementations(*names):
    def line(name):
        return f"  {name}: {{executable: {sys.executable}, args: [{HERE / 'codes.py'}, {name}]}}"

    lines = [line(name) for name in names]
    return "programs:\n" + "\n".join(lines) + "\n"


class Run:
    """A run that has ended."""

    def __init__(self, done, directory):
        self.status, self.text, self.directory = done.returncode, done.stdout, directory

    def restarted(self, number):
        """The run of a restart; the first one is 1."""
        done = subprocess.CompletedProcess([], self.status, self.text)
        return Run(done, self.directory.with_name(f"{self.directory.name}-restart{number}"))

    def record(self):
        return json.loads((self.directory / "run.json").read_text())

    def file(self, instance, name):
        """The text of a file that an instance has written; empty if there is none."""
        found = list((self.directory / "instances" / instance).rglob(name))
        assert len(found) <= 1, found
        return found[0].read_text() if found else ""

    def end(self, name):
        """The end of an instance, or of a rank, as `flow:1`."""
        instance, _, rank = name.partition(":")
        return self.file(instance, f"end{rank}.txt")

    def checkpoints(self):
        """The contents of `checkpoint.json` of each checkpoint, by number."""
        found = (self.directory / "checkpoints").glob("*/checkpoint.json")
        return {int(file.parent.name): json.loads(file.read_text()) for file in found}

    def resume_file(self, number):
        return self.directory / "checkpoints" / str(number) / "resume.ymmsl"


class Going(Run):
    """A run that goes on."""

    def __init__(self, process, directory):
        self.process, self.directory, self.numbers = process, directory, directory.parent / "numbers"

    def steps(self, instance):
        return self.file(instance, "steps.txt").count("\n")

    def comes_to(self, instance, step):
        """Waits until an instance has made this number of steps."""
        end = time.monotonic() + LIMIT_S
        while self.steps(instance) < step:
            assert self.process.poll() is None and time.monotonic() < end, self.ended().text
            time.sleep(0.01)

    def ask(self, *arguments):
        """Asks for a checkpoint; returns the exit status and the answer."""
        done = subprocess.run([COMMAND, "checkpoint", str(self.directory), "--json", *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S)
        lines = (done.stdout or done.stderr).strip().splitlines()
        return done.returncode, json.loads(lines[-1])

    def saved(self, *arguments):
        """Asks for a checkpoint, waits until it is whole, and returns its number and its model time."""
        status, answer = self.ask("--wait", *arguments)
        assert status == 0, answer
        return answer["checkpoint"], answer["at"]

    def refused(self, *arguments):
        status, answer = self.ask(*arguments)
        assert status != 0, answer
        return json.dumps(answer)

    def ended(self):
        self.text = self.process.communicate(timeout=LIMIT_S)[0]
        self.status = self.process.returncode
        return self


@pytest.fixture
def start(tmp_path):
    """Runs a model, given as text or as files, to its end."""
    count = 0

    def start(*models, arguments=(), limit=120, env=None):
        nonlocal count
        count += 1
        files = []
        for number, model in enumerate(models):
            if isinstance(model, str):
                files.append(tmp_path / f"model{count}-{number}.ymmsl")
                files[-1].write_text(model)
            else:
                files.append(model)
        directory = tmp_path / f"run{count}"
        done = subprocess.run(
            [COMMAND, "run", *map(str, files), "--run-dir", str(directory), *arguments], cwd=tmp_path,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=limit, env=None if env is None else {**os.environ, **env})
        return Run(done, directory)

    return start


@pytest.fixture
def going(tmp_path):
    """Starts a run whose steps take a while."""
    begun = []

    def going(model, pause="0.02", arguments=()):
        place = tmp_path / f"going{len(begun)}"
        (place / "numbers").mkdir(parents=True)
        (place / "model.ymmsl").write_text(model)
        env = {**os.environ, "PAUSE": pause, "NUMBERS": str(place / "numbers")}
        process = subprocess.Popen(
            [COMMAND, "run", "model.ymmsl", "--run-dir", "run", *arguments], cwd=place, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        begun.append(process)
        return Going(process, place / "run")

    yield going
    for process in begun:
        if process.poll() is None:
            process.terminate()
        process.communicate()


@pytest.fixture
def python_code(tmp_path):
    """Writes a code in Python, and returns its program as yMMSL."""

    def write(name, body):
        path = tmp_path / f"{name}.py"
        path.write_text("import os\nimport numpy as np\nfrom ligament import *\n" + textwrap.dedent(body))
        return f"{{executable: {sys.executable}, args: [{path}]}}"

    return write
