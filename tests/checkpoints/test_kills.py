"""Kills at random moments: a run with restarts ends as the undisturbed one, bit for bit.

`LIGAMENT_KILLS` sets the number of kills, `LIGAMENT_SEED` the seed. A failure names its seed.
"""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from conftest import ROOT, Run
from test_resume import calls, peers

KILLS = int(os.environ.get("LIGAMENT_KILLS", "8"))
SEED = int(os.environ.get("LIGAMENT_SEED", "1"))
KILLS_OF_A_RUN = 4
RULES = "checkpoints: {simulation_time: [{every: 1.5}]}\nligament: {restarts: 100}\n"


def instances(directory, known):
    """The processes of the codes that have written their number below `directory`, and are not known yet."""
    found = (file.name for file in directory.iterdir())
    return sorted(int(name) for name in found if int(name) not in known)


def disturbed(model, tmp_path, seed):
    """Runs a model and kills some of its instances. Returns the last run and the number of kills."""
    chance = random.Random(seed)
    place = tmp_path / f"seed{seed}"
    (place / "numbers").mkdir(parents=True)
    (place / "model.ymmsl").write_text(model)
    command = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    process = subprocess.Popen(
        [command, "run", "model.ymmsl", "--run-dir", "run"], cwd=place, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "NUMBERS": str(place / "numbers"), "PAUSE": "0.01"})
    killed = set()
    wanted = chance.randint(1, KILLS_OF_A_RUN)
    deadline = time.monotonic() + 100
    while process.poll() is None and len(killed) < wanted and time.monotonic() < deadline:
        time.sleep(chance.uniform(0.0, 0.6))
        alive = instances(place / "numbers", killed)
        if alive:
            victim = chance.choice(alive[-2:])
            killed.add(victim)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
    text = process.communicate(timeout=100)[0]
    runs = sorted((one for one in place.iterdir() if one.name.startswith("run")),
                  key=lambda one: int(one.name.partition("-restart")[2] or 0))
    done = subprocess.CompletedProcess([], process.returncode, text)
    return [Run(done, one) for one in runs], len(killed)


def result(runs, name):
    """The end that an instance has written in the last run in which it had something to do."""
    return next(end for end in (run.end(name) for run in reversed(runs)) if end)


@pytest.mark.parametrize("kind", ["calls", "stateless", "peers", "ahead"])
def test_kills_at_random_moments(start, tmp_path, kind):
    model = {"calls": calls(), "stateless": calls("stateless"), "peers": peers(), "ahead": peers(3)}[kind]
    names = {"calls": ["macro", "micro"], "stateless": ["macro"]}.get(kind, ["fast", "slow"])
    plain = start(model)
    kills, seed = 0, SEED
    while kills < KILLS / 4:
        runs, killed = disturbed(model + RULES, tmp_path, seed)
        assert runs[-1].status == 0, (seed, runs[-1].text)
        for name in names:
            assert result(runs, name) == plain.end(name), (seed, name, runs[-1].text)
        kills, seed = kills + killed, seed + 1
