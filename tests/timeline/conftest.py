"""Runs casts (see tests/deadlocks/cast.py): the first component is played in C, the second in Python, and so
on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PLAYERS = Path(__file__).parent.parent / "deadlocks"
sys.path.insert(0, str(PLAYERS))
import cast as cast_of  # noqa: E402


@pytest.fixture
def play(ligament, compile_c, tmp_path):
    c = compile_c(PLAYERS / "player.c")

    def program(n, script):
        return (str(c),) if n % 2 == 0 else (sys.executable, str(PLAYERS / "player.py"))

    def play(scripts, conduits, *arguments, ligament_options="", multiplicity=None):
        text = cast_of.model(scripts, conduits, program, ligament_options, multiplicity)
        return cast_of.Play(ligament, text, tmp_path, *arguments)

    return play


@pytest.fixture
def ask(ligament, tmp_path):
    """Asks `ligament` about a run. Returns exit status, standard output and standard error."""

    def ask(*words):
        done = subprocess.run(
            [ligament, *map(str, words)], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout, done.stderr

    return ask


@pytest.fixture
def told(ask):
    """Returns the output of `ligament timeline --json` for a successful run, and the events of its trace."""

    def told(directory):
        status, output, error = ask("timeline", directory, "--json")
        assert status == 0, error
        said = json.loads(output)
        return said, json.loads(Path(said["trace"]).read_text())["traceEvents"]

    return told
