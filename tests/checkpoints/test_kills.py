"""Kills at random moments: a run with restarts ends as the undisturbed one, bit for bit.

`LIGAMENT_KILLS` sets the number of kills, `LIGAMENT_SEED` the seed. A failure names its seed.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, Run
from domains import Domains
from test_resume import calls, peers

KILLS = int(os.environ.get("LIGAMENT_KILLS", "8"))
SEED = int(os.environ.get("LIGAMENT_SEED", "1"))
KILLS_OF_A_RUN = 4
# A watchdog, s: a busy machine may take minutes for a run.
LIMIT = 600
RULES = "checkpoints: {simulation_time: [{every: 1.5}]}\nligament: {restarts: 100}\n"


class Disturbance:
    """Kills some processes of a run, as a seed says. `pause` is the maximum time between two kills, s."""

    def __init__(self, place, seed, pause):
        self.chance, self.place, self.pause = random.Random(seed), place, pause
        self.wanted = self.chance.randint(1, KILLS_OF_A_RUN)
        self.killed = set()
        # The model time of the last checkpoint, and the number of kills since then.
        self.furthest, self.kills = None, 0
        (place / "numbers").mkdir(parents=True)

    def processes(self):
        """The codes of this run that live: each has written its number."""
        return [number for number in sorted(int(file.name) for file in (self.place / "numbers").iterdir())
                if number not in self.killed and self.is_of_this_run(number)]

    def is_of_this_run(self, number):
        try:
            environment = Path(f"/proc/{number}/environ").read_bytes()
        except OSError:
            return False
        return f"NUMBERS={self.place / 'numbers'}".encode() in environment.split(b"\0")

    def last_moment(self):
        """The model time of the last checkpoint of all runs."""
        moments = []
        for file in self.place.glob("run*/checkpoints/*/checkpoint.json"):
            # The oldest ones are removed meanwhile.
            with contextlib.suppress(FileNotFoundError):
                moments.append(json.loads(file.read_text())["model_time"])
        return max(moments, default=None)

    def kill_one(self):
        """Kills a process. There is no third end of a run without a checkpoint between, because the same end
        three times starts no run any more. A new checkpoint may be older than the kill before."""
        if (moment := self.last_moment()) != self.furthest:
            self.furthest, self.kills = moment, min(self.kills, 1)
        if self.kills < 2 and (processes := self.processes()):
            self.kills += 1
            victim = self.chance.choice(processes)
            self.killed.add(victim)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    def run(self, arguments):
        """Runs models with restarts. Returns all runs, the last one last."""
        command = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
        process = subprocess.Popen(
            [command, "run", *map(str, arguments), "--run-dir", "run"], cwd=self.place,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "NUMBERS": str(self.place / "numbers"), "PAUSE": "0.01"})
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and len(self.killed) < self.wanted and time.monotonic() < deadline:
            time.sleep(self.chance.uniform(0.0, self.pause))
            self.kill_one()
        try:
            text = process.communicate(timeout=LIMIT)[0]
        finally:
            process.terminate()
        runs = sorted((one for one in self.place.iterdir() if one.name.startswith("run")),
                      key=lambda one: int(one.name.partition("-restart")[2] or 0))
        done = subprocess.CompletedProcess([], process.returncode, text)
        return [Run(done, one) for one in runs]


def disturbed(model, tmp_path, seed):
    """Runs a model and kills some of its instances. Returns all runs and the number of kills."""
    disturbance = Disturbance(tmp_path / f"seed{seed}", seed, pause=0.6)
    (disturbance.place / "model.ymmsl").write_text(model)
    runs = disturbance.run(["model.ymmsl"])
    return runs, len(disturbance.killed)


def result(runs, name):
    """The end that an instance has written in the last run in which it had something to do, or no text."""
    return next((end for end in (run.end(name) for run in reversed(runs)) if end), "")


@pytest.mark.parametrize("kind", ["calls", "stateless", "peers", "ahead"])
def test_kills_at_random_moments(start, tmp_path, kind):
    model = {"calls": calls(), "stateless": calls("stateless"), "peers": peers(), "ahead": peers(3)}[kind]
    names = {"calls": ["macro", "micro"], "stateless": ["macro"]}.get(kind, ["fast", "slow"])
    plain = start(model)
    kills, seed = 0, SEED
    while kills < KILLS / 4:
        runs, killed = disturbed(model + RULES, tmp_path, seed)
        assert runs[-1].status == 0, f"seed {seed}:\n{runs[-1].text}"
        for name in names:
            assert result(runs, name) == plain.end(name), (seed, name, runs[-1].text)
        kills, seed = kills + killed, seed + 1


class DisturbanceOfDomains(Disturbance):
    """Kills codes and agents of a run over two domains. What an instance has written stays in a domain whose
    agent is killed, so no agent is killed once an instance has been seen near its end."""

    LAST_MOMENT = 12.0

    def processes(self):
        codes = super().processes()
        begins = self.furthest is None or self.furthest < self.LAST_MOMENT
        agents = [agent.pid for agent in self.domains.agents if agent.poll() is None]
        return codes + [pid for pid in agents if pid not in self.killed and codes and begins]

    def left(self, name):
        """The end that an instance has written in a domain whose agent was killed; empty if there is none."""
        files = [file for file in self.domains.scratch.rglob("end.txt") if name in file.parts]
        return max(files, key=lambda file: file.stat().st_mtime).read_text() if files else ""

    def runs(self, model, on):
        """Runs a model with restarts over two domains. Returns all runs, the last one last."""
        (self.place / "model.ymmsl").write_text(model)
        env = {"NUMBERS": str(self.place / "numbers"), "PAUSE": "0.01"}
        self.domains = Domains(self.place, [self.place / "model.ymmsl"], ["--on", on], env=env)
        try:
            while self.domains.head.poll() is None and len(self.killed) < self.wanted:
                time.sleep(self.chance.uniform(0.0, self.pause))
                self.kill_one()
            return self.domains.runs()
        finally:
            self.domains.end()


@pytest.mark.parametrize("kind", ["calls", "ahead"])
def test_kills_at_random_moments_in_two_domains(start, tmp_path, kind):
    model, on = {"calls": (calls(), "1=micro"), "ahead": (peers(3), "1=slow")}[kind]
    plain = start(model)
    names = [one.name for one in (plain.directory / "instances").iterdir()]
    kills, seed = 0, SEED
    while kills < KILLS / 4:
        disturbance = DisturbanceOfDomains(tmp_path / f"seed{seed}", seed, pause=0.6)
        runs = disturbance.runs(model + RULES, on)
        assert runs[-1].status == 0, f"seed {seed}:\n{runs[-1].text}"
        for name in names:
            end = result(runs, name) or disturbance.left(name)
            assert end == plain.end(name), f"seed {seed}, {name}:\n{runs[-1].text}"
        kills, seed = kills + len(disturbance.killed), seed + 1


class Example:
    """An example whose programs write their numbers before they begin."""

    def __init__(self, name, result, settings, every):
        self.directory, self.result = ROOT / "examples" / name, result
        self.model = self.directory / f"{name.replace('-', '_')}.ymmsl"
        self.settings = [word for setting in settings for word in ("-s", setting)]
        self.every = every

    def arguments(self, directory):
        """Builds the example, and writes its model with programs that write their numbers. Returns the
        arguments of its run."""
        subprocess.run([ROOT / "examples/build", self.directory.name], check=True)
        (directory / "number.sh").write_text('touch "$NUMBERS/$$"\nexec "$@"\n')
        model = yaml.safe_load(self.model.read_text())
        for program in model["programs"].values():
            code = sys.executable if program["executable"] == "python3" else program["executable"]
            words = [self.directory / word for word in (code, *program.get("args", "").split())]
            # YAML has it as a truth value, and yMMSL as text.
            program.pop("keeps_state_for_next_use", None)
            program.update(executable="/bin/sh", args=[str(directory / "number.sh"), *map(str, words)])
        model["checkpoints"] = {"simulation_time": [{"every": self.every}]}
        model["ligament"]["restarts"] = 100
        (directory / "model.ymmsl").write_text(yaml.safe_dump(model, sort_keys=False))
        return [directory / "model.ymmsl", *self.settings]

    def bits(self, runs):
        """The result in the last run in which its instance had something to do."""
        for run in reversed(runs):
            if found := list((run.directory / "instances").rglob(self.result)):
                return found[0].read_bytes()
        return None


@pytest.mark.parametrize("example", [
    Example("reaction-diffusion", "concentration.npy", [], 10.0),
    Example("canal-network", "canal_network.npz", ["t_max=32400.0"], 3600.0),
], ids=lambda example: example.directory.name)
def test_kills_of_codes_of_an_example(start, tmp_path, example):
    arguments = example.arguments(tmp_path)
    (tmp_path / "numbers").mkdir()
    plain = start(arguments=arguments, env={"NUMBERS": str(tmp_path / "numbers")})
    assert plain.status == 0, plain.text
    expected = example.bits([plain])
    kills, seed = 0, SEED
    while kills < KILLS / 2:
        disturbance = Disturbance(tmp_path / f"seed{seed}", seed, pause=1.0)
        runs = disturbance.run(arguments)
        assert runs[-1].status == 0, f"seed {seed}:\n{runs[-1].text}"
        assert example.bits(runs) == expected, (seed, runs[-1].text)
        kills, seed = kills + len(disturbance.killed), seed + 1
