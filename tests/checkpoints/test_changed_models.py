"""A run resumes by the files of the run before: a model that has changed is named, and one that is lost."""

import subprocess

import pytest
from conftest import CALLS, COMMAND, LIMIT_S, implementations

RULES = "checkpoints: {simulation_time: [{every: 5.0}]}\n"
CHANGED = "warning: the model has changed since that run, whose model is "


def ligament(place, *arguments):
    done = subprocess.run(
        [COMMAND, *arguments], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
    return done.returncode, done.stdout


@pytest.fixture
def place(tmp_path):
    """A directory with a run that has checkpoints."""
    (tmp_path / "model.ymmsl").write_text(
        CALLS.replace("MICRO", "micro") + implementations("macro", "micro") + RULES)
    status, text = ligament(tmp_path, "run", "model.ymmsl", "--run-dir", "runs/first")
    assert status == 0, text
    return tmp_path


def test_a_model_that_is_as_it_was_needs_no_word(place):
    status, text = ligament(place, "run", "--resume", "first", "-s", "end=14.0", "--overcommit", "--restarts=1")
    assert status == 0 and "has changed" not in text, text


@pytest.mark.parametrize("models", [[], ["model.ymmsl"]])
def test_a_filter_that_was_added_is_a_changed_model(place, models):
    model = place / "model.ymmsl"
    model.write_text(model.read_text() + "ligament: {filters: {micro.in: {multiply: 2.0}}}\n")
    status, text = ligament(place, "run", *models, "--resume", "first")
    assert CHANGED + str(place / "runs/first/model.ymmsl") in text, text


def test_a_model_file_that_is_not_there_is_named(place):
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    status, text = ligament(elsewhere, "run", "--resume", "../runs/first")
    said = f"the model file model.ymmsl of {place / 'runs/first'} is not there; give this command in the " \
        "directory in which that run was started"
    assert status == 2 and said in text, text
