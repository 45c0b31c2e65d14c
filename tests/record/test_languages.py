"""A code in each language is replayed alone. A changed one is stopped at its first difference."""

import json
import sys

import pytest
from conftest import HERE, programs


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Compiles the micro model in a language, and returns the command that starts it."""
    monkeypatch.setattr(programs, "DRIVERS", HERE)
    return lambda language: programs.LANGUAGES[language]("micro", tmp_path)


@pytest.mark.parametrize("language", ["python", "c", "fortran", "java"])
def test_the_first_difference_of_a_changed_code_is_named(user, command, language):
    program = [sys.executable, str(user.path / "micro.py")] if language == "python" else command(language)
    user.model(program=program)
    done = user.record()
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (user.path / "run/records").iterdir()) == [
        "micro.command.json", "micro.recording"]
    same = user("replay", "run", "--only", "micro")
    assert (same.returncode, same.stdout) == (0, "micro: 4 messages as recorded\n"), same.stderr
    assert list((user.path / "tmp").glob("ligament-replay-*")) == []
    changed = user("replay", "run", "--only", "micro", "--", *program, "changed")
    assert changed.returncode == 1, changed.stdout + changed.stderr
    place, numbers = changed.stdout.split(": data[1, 2]: ")
    assert place == "micro: port result at 1"
    found, recorded = (float(number) for number in numbers.strip().split(", recorded "))
    assert found - recorded == pytest.approx(0.25), changed.stdout
    told = user("replay", "run", "--only", "micro", "--json", "--", *program, "changed")
    [outcome] = json.loads(told.stdout.splitlines()[-1])["instances"]
    assert (outcome["state"], outcome["messages"]) == ("differs", 2), told.stdout
