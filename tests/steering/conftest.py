"""Runs that can be steered: a macro and a micro model (part.c) that record the settings of each of their
steps."""

import json
import subprocess
import time
from pathlib import Path

import pytest

LIMIT = 120

MODEL = """ymmsl_version: v0.1
model:
  name: steered
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: back}}}}
    micro: {{implementation: micro, ports: {{f_init: in, o_f: out}}}}
{lone}  conduits:
    macro.out: micro.in
    micro.out: macro.back
settings: {{D: 0.5, k: 2.0, t_max: 400.0, n: 3}}
ligament:
  time_unit: d
  steerable:
    D: {{min: 0.0, max: 1.0, unit: mm^2/s}}
    macro.D: {{min: 0.0, max: 1.0}}
    n:
  place: {{0: macro, 1: micro}}
implementations:
  macro: {{executable: {part}, args: [macro, {macro}, {go}]}}
  micro: {{executable: {part}, args: [micro, {micro}, {go}]}}
  lone: {{executable: {part}, args: [lone, deaf, {go}]}}
"""

LONE = "    lone: {implementation: lone}\n"


class Run:
    """Runs of the model in a directory."""

    def __init__(self, path, ligament):
        self.path, self.ligament = path, ligament

    def call(self, *words, status=0):
        done = subprocess.run([self.ligament, *map(str, words)], cwd=self.path, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == status, f"{words} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if status == 0 else done.stdout + done.stderr

    def starts(self, *words, run="run"):
        self.call("run", "steered.ymmsl", f"--run-dir={run}", "--detach", "--quiet", *words)

    def starts_in_two_domains(self):
        """Starts the head with the macro model, and an agent with the micro model. Returns both processes."""
        quiet = {"cwd": self.path, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL}
        words = ["--listen", "127.0.0.1"]
        head = subprocess.Popen([self.ligament, "run", "steered.ymmsl", "--run-dir=run", "--domains", "1",
                                 "--overcommit",
                                 "--quiet", *words], **quiet)
        invitation, until = self.path / "run/invitation", time.monotonic() + LIMIT
        while not invitation.exists():
            assert head.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        agent = subprocess.Popen([self.ligament, "agent", "--join", "run/invitation", "--domain", "1",
                                  "--quiet", *words],
                                 **quiet)
        while json.loads((self.path / "run/run.json").read_text())["agent"] is None:
            assert head.poll() is None and time.monotonic() < until
            time.sleep(0.02)
        return head, agent

    def steer(self, *words, status=0, run="run"):
        told = self.call("steer", run, *words, *(["--json"] if status == 0 else []), status=status)
        return json.loads(told) if status == 0 else told

    def is_let_go(self):
        """Lets the macro model run at full speed. Before, it is slow from a model time of 20 s on."""
        (self.path / "go").touch()

    def ends(self, run="run", status=0):
        self.is_let_go()
        self.call("attach", run, status=status)
        return json.loads((self.path / run / "run.json").read_text())

    def table(self, instance, run="run", name="steps.txt"):
        """Returns the steps that an instance has recorded: time and value."""
        text = (self.path / run / "instances" / instance / "workdir" / name).read_text()
        # The last line may be read while it is written.
        return [tuple(map(float, line.split())) for line in text[:text.rfind("\n") + 1].splitlines()]

    def waits_until(self, holds):
        """Waits until the run's status satisfies a condition."""
        until = time.monotonic() + LIMIT
        while True:
            status = json.loads(self.call("status", "run", "--json"))
            found = holds(status)
            if found:
                return found
            assert time.monotonic() < until, status
            time.sleep(0.02)

    def reaches(self, when):
        """Waits until the macro model is at a model time."""
        def time_of(status):
            return next(one["model_time"] for one in status["instances"] if one["name"] == "macro")

        self.waits_until(lambda status: (time_of(status) or 0.0) >= when)


@pytest.fixture
def steered(tmp_path, ligament, compile_c):
    part = compile_c(Path(__file__).parent / "part.c")

    def make(micro="steers", lone=""):
        (tmp_path / "steered.ymmsl").write_text(MODEL.format(part=part, macro="steers", micro=micro, lone=lone,
                                                             go=tmp_path / "go"))
        return Run(tmp_path, ligament)

    yield make
    for path in tmp_path.glob("*/run.json"):
        if json.loads(path.read_text())["state"] == "running":
            subprocess.run([ligament, "stop", str(path.parent)], capture_output=True, timeout=LIMIT)
