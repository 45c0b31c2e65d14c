"""Deadlocks that `ligament check` foresees, and the same models run."""

import json
import os
import random
import subprocess

import ahead
import pytest

MODELS = int(os.environ.get("LIGAMENT_MODELS", "150"))  # `make test-all` has more
RUNS = int(os.environ.get("LIGAMENT_RUNS", "8"))
SEED = int(os.environ.get("LIGAMENT_SEED", "17"))
CODES = {"deadlock-ahead", "waiting-circle"}


def check(ligament, model, folder):
    """The file of a model, and the deadlocks that the check foresees in it."""
    folder.mkdir(exist_ok=True)
    file = folder / "m.ymmsl"
    file.write_text(model.text(folder))
    done = subprocess.run([ligament, "check", "--json", file], capture_output=True, text=True, timeout=60)
    return file, json.loads(done.stdout)["problems"]


def run(ligament, file):
    """The exit status of a run, and the reason for its end."""
    directory = file.parent / "run"
    done = subprocess.run([ligament, "run", file, "--ignore", "deadlocks", "--run-dir", directory],
                          capture_output=True, text=True, timeout=120)
    return done.returncode, json.loads((directory / "run.json").read_text()).get(
        "reason") or done.stdout + done.stderr


@pytest.mark.parametrize("name", ahead.STUCK)
def test_a_deadlock_is_told_before_the_run_and_by_it(name, ligament, tmp_path):
    model = ahead.STUCK[name]
    file, problems = check(ligament, model, tmp_path)
    problems = [problem for problem in problems if problem["code"] in CODES]
    assert len(problems) == 1, problems
    told = f"{problems[0]['message']}; {problems[0]['advice']}"
    assert problems[0]["severity"] == model.severity and problems[0]["line"] > 0, told
    for part in model.told:
        assert part in told, told
    status, reason = run(ligament, file)
    assert status == 1 and reason.startswith("deadlock: "), reason


@pytest.mark.parametrize("name", ahead.FREE)
def test_what_runs_to_its_end_is_not_called_a_deadlock(name, ligament, tmp_path):
    file, problems = check(ligament, ahead.FREE[name], tmp_path)
    assert not CODES & {problem["code"] for problem in problems}, problems
    status, reason = run(ligament, file)
    assert status == 0, reason


def test_what_is_told_of_a_step_holds_only_if_it_is_made(ligament, tmp_path):
    model = ahead.STUCK["two that are called, each after the other"]
    model = ahead.Model(model.components, model.conduits, steps={"one": [0, 1]})
    file, problems = check(ligament, model, tmp_path)
    assert [problem["severity"] for problem in problems if problem["code"] in CODES] == ["warning"]
    status, reason = run(ligament, file)
    assert status == 0, reason


def test_random_models_are_never_called_a_deadlock_without_being_one(ligament, tmp_path):
    dice = random.Random(SEED)
    judged = {"ends": 0, "waits": 0, "fails": 0}
    told_of, missed, ran = 0, 0, 0
    explained = {"ends": 0, "fails": 0}
    for number in range(MODELS):
        with_scales = number % 2 == 1
        model = ahead.random_model(dice, with_scales)
        file, problems = check(ligament, model, tmp_path / str(number))
        what = f"model {number} of seed {SEED}\n{model.text(tmp_path)}\n{problems}"
        told = any(problem["code"] in CODES for problem in problems)
        truth = ahead.judge(model)
        judged[truth] += 1
        told_of += told
        assert not (told and truth == "ends"), f"a false alarm: {what}"
        # True if the deadlock may depend on the number of steps. With scales, this number is known.
        missed += truth == "waits" and not told
        assert not (with_scales and truth == "waits" and not told), f"missed: {what}"
        if truth == "waits" and not told:
            # With other numbers of steps the model would go on, so the check cannot foresee a deadlock from the
            # file alone.
            other = ahead.goes_on_with(model)
            assert other, f"missed: {what}"
            explained[ahead.judge(ahead.Model(model.components, model.conduits, steps=other))] += 1
        if ran < RUNS and (truth != "fails"):
            ran += 1
            status, reason = run(ligament, file)
            assert (status == 0) == (truth == "ends"), f"{truth}: {what}\n{reason}"
            assert truth == "ends" or reason.startswith("deadlock: "), what + reason
    print(f"{judged}, told of {told_of}, missed {missed}, {ran} run; with other steps those would: {explained}")
    assert judged["ends"] > MODELS / 20 and told_of > MODELS / 10, judged
