"""Runs casts: the first component is played in Python, the second in C, and so on."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import cast as cast_of  # noqa: E402


@pytest.fixture
def play(ligament, compile_c, tmp_path):
    c = compile_c(HERE / "player.c")

    def program(n, script):
        in_python = n % 2 == 0 or "hold" in script
        return (sys.executable, str(HERE / "player.py")) if in_python else (str(c),)

    def play(scripts, conduits, *arguments, ligament_options="", multiplicity=None, directory=tmp_path):
        text = cast_of.model(scripts, conduits, program, ligament_options, multiplicity)
        return cast_of.Play(ligament, text, directory, *arguments)

    return play
