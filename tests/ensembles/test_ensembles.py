"""Studies: points are sampled, a pool of instances evaluates them, and the answers are summed up. Also
evaluations that fail, hang, crash or are answered twice."""

import csv
import json
import math
import shutil
import statistics
import subprocess

import pytest

MODEL = """ymmsl_version: v0.2
models:
  ensemble:
    components:
      study: {ports: {o_i: settings, s: results, o_f: statistics}, implementation: study}
      member: {ports: {o_i: size}, implementation: member, multiplicity: MEMBERS}
      reader: {ports: {f_init: statistics}, implementation: reader}
    conduits:
      study.settings: member.muscle_settings_in
      member.size: study.results
      study.statistics: reader.statistics
programs:
  study: {executable: ligament, args: [study]}
  member: {executable: python3, args: member.py}
  reader: {executable: python3, args: reader.py}
"""
MEMBER = """
import os
import time
import numpy as np
from ligament import Instance, Message, Operator

# A code may answer twice within its loop; a second final message would be refused.
instance = Instance({Operator.O_I: ["size"]})
while instance.reuse_instance():
    rate, evaluation = instance.get_setting("rate", "float"), instance.get_setting("evaluation", "int")
    answer = rate**2
    DO
    instance.send("size", Message(0.0, data=answer))
"""
READER = """
from ligament import Instance, Operator

instance = Instance({Operator.F_INIT: ["statistics"]})
while instance.reuse_instance():
    print(sorted(instance.receive("statistics").data.items()))
"""


COUPLED = """ymmsl_version: v0.2
models:
  ensemble:
    components:
      study: {ports: {o_i: settings, s: results}, implementation: study}
      macro: {ports: {o_i: call, s: answer, o_f: end}, implementation: macro, multiplicity: 2}
      micro: {ports: {f_init: call, o_f: answer}, implementation: micro, multiplicity: 2}
    conduits:
      study.settings: macro.muscle_settings_in
      macro.call: micro.call
      micro.answer: macro.answer
      macro.end: study.results
programs:
  study: {executable: ligament, args: [study]}
  macro: {executable: python3, args: macro.py}
  micro: {executable: python3, args: micro.py}
settings:
  study.sampler: grid
  study.parameters: rate = 0.0 .. 1.0
  study.grid: [8]
  study.leave_out: true
ligament: {may_fail: [macro, micro]}
"""
MACRO = """
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["call"], Operator.S: ["answer"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    total = 0.0
    for step in range(2):
        instance.send("call", Message(float(step), data=None))
        total += instance.receive("answer").data
    instance.send("end", Message(0.0, data=total))
"""
MICRO = """
import os
import time
from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["call"], Operator.O_F: ["answer"]})
while instance.reuse_instance():
    start = instance.receive("call")
    if instance.get_setting("evaluation", "int") == 3 and start.timestamp == 1.0:
        os.kill(os.getpid(), 9)
    time.sleep(0.01)
    instance.send("answer", Message(start.timestamp, data=instance.get_setting("rate", "float")))
"""


class Study:
    """A study that is over."""

    def __init__(self, done, directory):
        self.status, self.text = done.returncode, done.stdout
        self.record = json.loads((directory / "run.json").read_text())
        # A run that ends at once may have none.
        read = directory / "instances/reader/output.log"
        self.read = read.read_text() if read.exists() else ""
        self.here = directory / "instances/study/workdir"

    def progress(self):
        """The progress on the page."""
        return json.loads((self.here / "study-progress.json").read_text())

    def rows(self, name):
        with open(self.here / name) as file:
            return list(csv.DictReader(file))


@pytest.fixture
def make(ligament, tmp_path):
    """Makes a study with these settings, whose members `do` something between their computation and their
    answer."""

    def make(do="pass", members=2, may_fail=False, model=MODEL, **settings):
        (tmp_path / "member.py").write_text(MEMBER.replace("DO", do))
        (tmp_path / "reader.py").write_text(READER)
        lines = "".join(f"  study.{name}: {json.dumps(value)}\n" for name, value in settings.items())
        options = "ligament: {may_fail: member}\n" if may_fail else ""
        model = model.replace("MEMBERS", str(members))
        (tmp_path / "model.ymmsl").write_text(model + options + "settings:\n" + lines)
        done = subprocess.run(
            [ligament, "run", "model.ymmsl", "--run-dir", "run"], cwd=tmp_path, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        )
        return Study(done, tmp_path / "run")

    return make


def test_a_study_has_the_statistics_of_its_results_in_order(make):
    study = make(sampler="latin_hypercube", evaluations=60, parameters="rate = 0.0 .. 1.0", seed=3,
                 quantiles=[0.25, 0.5])
    assert study.status == 0, study.text
    rows = study.rows("results.csv")
    assert [int(row["evaluation"]) for row in rows] == list(range(60))
    values = [float(row["result"]) for row in rows]
    assert all(value == float(row["rate"]) ** 2 for value, row in zip(values, rows))
    # One point in each sixtieth.
    assert sorted(int(float(row["rate"]) * 60) for row in rows) == list(range(60))
    (found,) = study.rows("statistics.csv")
    assert float(found["mean"]) == pytest.approx(statistics.fmean(values))
    assert float(found["variance"]) == pytest.approx(statistics.variance(values))
    lower, middle, _ = statistics.quantiles(values, method="inclusive")
    assert (float(found["quantile 0.25"]), float(found["quantile 0.5"])) == pytest.approx((lower, middle))
    assert "('evaluations', 60)" in study.read and "('left_out', 0)" in study.read
    members = {one["name"]: one["iterations"] for one in study.record["instances"]
               if one["name"].startswith("member")}
    assert sum(members.values()) == 60 and min(members.values()) > 0


def test_answers_may_be_arrays(make):
    study = make("answer = np.array([[rate, 1.0], [0.0, -rate]])", sampler="grid",
                 parameters="rate = 1.0 .. 3.0", grid=[3])
    assert study.status == 0, study.text
    rows = study.rows("statistics.csv")
    assert [float(row["mean"]) for row in rows] == [2.0, 1.0, 0.0, -2.0]
    assert [float(row["variance"]) for row in rows] == [1.0, 0.0, 0.0, 1.0]


def test_points_may_come_from_a_file(make, tmp_path):
    (tmp_path / "points.csv").write_text("rate, colour\n0.5, red\n2, blue\n")
    study = make(members=1, sampler="file", points=str(tmp_path / "points.csv"))
    assert study.status == 0, study.text
    assert [(row["colour"], float(row["result"])) for row in study.rows("results.csv")] == [("red", 0.25),
                                                                                            ("blue", 4.0)]


def test_an_evaluation_that_fails_ends_the_run_with_its_number_and_its_settings(make):
    study = make("answer = {'error': 'it diverges'} if evaluation == 3 else rate",
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11])
    assert study.status == 1
    assert "evaluation 3 (rate = 0.3" in study.record["reason"] and "it diverges" in study.record["reason"]
    assert study.record["code"] == "evaluation-failed"
    progress = study.progress()
    assert progress["failed"] == 1
    assert [(one["evaluation"], one["why"]) for one in progress["failures"]] == [(3, "it diverges")]


def test_evaluations_that_fail_are_left_out_if_the_model_says_so(make):
    study = make("answer = {3: {'error': 'it diverges'}, 5: None, 7: float('nan')}.get(evaluation, rate)",
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11], leave_out=True)
    assert study.status == 0, study.text
    failures = {int(row["evaluation"]): row["failure"] for row in study.rows("results.csv") if row["failure"]}
    assert failures == {3: "it diverges", 5: "its answer is empty", 7: "its answer has NaN"}
    (found,) = study.rows("statistics.csv")
    assert float(found["mean"]) == pytest.approx((5.5 - 0.3 - 0.5 - 0.7) / 8)
    assert "('left_out', 3)" in study.read
    progress = study.progress()
    assert [progress[key] for key in ("evaluations", "answered", "failed")] == [11, 11, 3]
    assert [one["evaluation"] for one in progress["failures"]] == [3, 5, 7]
    assert "evaluation 3 (rate = 0.3" in study.text and "it is left out" in study.text


def test_an_instance_that_crashes_ends_the_run(make):
    study = make("os.kill(os.getpid(), 9) if evaluation == 4 else None", members=1,
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11])
    assert study.status == 1
    assert study.record["failed"] == "member[0]"
    assert "SIGKILL" in study.record["reason"]


KILL = "os.kill(os.getpid(), 9) if evaluation in (4, 7) else time.sleep(0.02)"
CRASHES = {"sampler": "grid", "parameters": "rate = 0.0 .. 1.0", "grid": [11], "may_fail": True}
OTHERS = [n for n in range(11) if n not in (4, 7)]
# The time limit of an evaluation (s) in a study with one that takes longer. A slow machine alone does not reach
# it.
LIMIT_S = 4.0


def failures_of(study):
    return {int(row["evaluation"]): row["failure"] for row in study.rows("results.csv") if row["failure"]}


def test_a_pool_goes_on_with_one_fewer_when_an_instance_is_killed(make):
    study = make(KILL, members=3, leave_out=True, **CRASHES)
    assert study.status == 0, study.text
    ended = "its instance has ended without an answer"
    assert failures_of(study) == {4: ended, 7: ended}
    assert [int(row["evaluation"]) for row in study.rows("results.csv")] == list(range(11))
    (found,) = study.rows("statistics.csv")
    assert float(found["mean"]) == pytest.approx(sum((n / 10) ** 2 for n in OTHERS) / 9)
    assert "('left_out', 2)" in study.read
    assert ("evaluation 4 (rate = "
            "0.4") in study.text and "2 are left" in study.text and "1 are left" in study.text
    assert study.text.count("SIGKILL") >= 2 and "the run goes on without it" in study.text
    members = [one for one in study.record["instances"] if one["name"].startswith("member")]
    assert sorted(one["state"] for one in members) == ["done", "failed", "failed"]


def test_a_pool_of_which_no_instance_is_left_fails_and_keeps_what_it_has(make):
    study = make(KILL, members=2, leave_out=True, **CRASHES)
    assert study.status == 1
    assert "no instance is left" in study.record["reason"] and study.record["failed"] == "study"
    assert set(failures_of(study)) == {4, 7} and len(study.rows("results.csv")) >= 8
    progress = study.progress()
    assert (progress["instances"], progress["instances_left"], progress["failed"]) == (2, 0, 2)


def test_a_file_of_the_user_with_the_name_of_the_progress_is_kept(make, ligament, tmp_path):
    for make_it in ("echo mine > study-progress.json", "mkfifo study-progress.json"):
        command = json.dumps(["-c", f"{make_it}; exec {ligament} study"])
        model = MODEL.replace("{executable: ligament, args: [study]}", f"{{executable: sh, args: {command}}}")
        study = make(model=model, sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[3])
        assert study.status == 0, study.text
        assert "study-progress.json cannot be written: there is another file of this name" in study.text
        log = (tmp_path / "run/manager.log").read_text()
        assert log.count("study-progress.json cannot be written") == 1, log
        assert len(study.rows("results.csv")) == 3
        file = study.here / "study-progress.json"
        assert file.is_fifo() or file.read_text() == "mine\n"
        shutil.rmtree(tmp_path / "run")


def test_a_study_is_continued_with_the_answers_of_a_run_that_was_killed(make, ligament, tmp_path):
    mended = tmp_path / "mended"
    do = f"""
    print("made", evaluation, flush=True)
    if evaluation == 7 and not os.path.exists({str(mended)!r}):
        os.kill(os.getpid(), 9)
    answer = np.array([rate, 0.1 + rate])
    """
    first = make(do, sampler="random", evaluations=12, parameters="rate = 0.0 .. 1.0", seed=5)
    assert first.status == 1, first.text
    answered = [
        json.loads(line)["evaluation"] for line in (first.here / "answers.jsonl").read_text().splitlines()]
    assert 7 not in answered and answered

    def carry_on(earlier, directory, *options):
        done = subprocess.run(
            [ligament, "study", "--continue", earlier, "--", "--run-dir", directory, *options], cwd=tmp_path,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        )
        return Study(done, tmp_path / directory)

    # Other points are other evaluations. A damaged journal is named with its line.
    refused = carry_on("run", "refused", "-s", "study.seed=6")
    assert refused.status == 1 and "answers.jsonl:1: the earlier study had another point" in refused.text
    mended.touch()
    second = carry_on("run", "second")
    assert second.status == 0 and "warning: the model has changed" not in second.text, second.text
    logs = [tmp_path / f"second/instances/member[{at}]/output.log" for at in range(2)]
    made = [int(line.split()[1]) for log in logs for line in log.read_text().splitlines()]
    assert sorted(made + answered) == list(range(12))
    (tmp_path / "run").rename(tmp_path / "first")
    whole = make(do, sampler="random", evaluations=12, parameters="rate = 0.0 .. 1.0", seed=5)
    for name in ("results.csv", "statistics.csv"):
        assert (second.here / name).read_bytes() == (whole.here / name).read_bytes()
    # A continuation can be continued again; then no evaluation is left.
    third = carry_on("second", "third")
    assert third.status == 0, third.text
    assert (third.here / "statistics.csv").read_bytes() == (whole.here / "statistics.csv").read_bytes()
    # A change of the model since then is reported, and so is a setting that has no effect.
    model = (tmp_path / "model.ymmsl").read_text()
    (tmp_path / "model.ymmsl").write_text(model.replace("seed: 5", "seed: 6").replace("multiplicity: 2",
                                                                                      "multiplicity: 3"))
    edited = carry_on("second", "edited")
    assert edited.status == 0 and "warning: the model has changed since that run" in edited.text, edited.text
    assert 'the setting "study.seed" is 5 as in that run, and not 6 as in the model file' in edited.text
    (tmp_path / "elsewhere").mkdir()
    elsewhere = subprocess.run([ligament, "study", "--continue", str(tmp_path / "second")],
                               cwd=tmp_path / "elsewhere",
                               capture_output=True, text=True, timeout=120)
    assert elsewhere.returncode == 2 and "in the directory in which that run was started" in elsewhere.stderr
    # A run without a study has no answers.
    for answers in (tmp_path / "third").rglob("answers.jsonl"):
        answers.unlink()
    nothing = subprocess.run([ligament, "study", "--continue", "third"], cwd=tmp_path, capture_output=True,
                             text=True,
                             timeout=120)
    assert nothing.returncode == 2 and "has no answers of a study" in nothing.stderr


def test_an_instance_that_is_killed_ends_a_study_that_leaves_nothing_out(make):
    study = make(KILL, members=3, **CRASHES)
    assert study.status == 1
    assert "evaluation 4 (rate = 0.4" in study.record[
        "reason"] and "has ended without an answer" in study.record["reason"]


def test_an_instance_that_raises_an_error_is_left_out_with_it(make):
    study = make("answer = 1 / (evaluation - 2)", members=2, leave_out=True, **CRASHES)
    assert study.status == 0, study.text
    assert set(failures_of(study)) == {2}
    assert "ZeroDivisionError" in study.text


def test_short_evaluations_that_were_given_to_one_that_is_killed_are_made_by_others(make):
    study = make("os.kill(os.getpid(), 9) if evaluation == 150 else None", members=3, leave_out=True,
                 may_fail=True,
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[301])
    assert study.status == 0, study.text
    assert set(failures_of(study)) == {150}
    assert [float(row["result"]) for row in study.rows("results.csv") if not row["failure"]] == \
        pytest.approx([(n / 300) ** 2 for n in range(301) if n != 150])


def test_a_run_ends_without_an_instance_that_hangs_and_may_fail(make):
    study = make("time.sleep(3600) if evaluation == 2 else None", leave_out=True, time_limit=LIMIT_S, **CRASHES)
    assert study.status == 0, study.text
    assert failures_of(study) == {2: f"it takes longer than {LIMIT_S:g} s"}
    assert ("does not come back from evaluation 2 (rate = "
            "0.2") in study.text and "it is left behind" in study.text
    assert "the run ends without member[" in study.text
    assert study.record["state"] == "done"


def test_a_pool_of_coupled_models_loses_the_one_whose_micro_model_is_killed(ligament, tmp_path):
    (tmp_path / "macro.py").write_text(MACRO)
    (tmp_path / "micro.py").write_text(MICRO)
    (tmp_path / "model.ymmsl").write_text(COUPLED)
    done = subprocess.run(
        [ligament, "run", "model.ymmsl", "--run-dir", "run"], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
    )
    study = Study(done, tmp_path / "run")
    assert study.status == 0, study.text
    assert set(failures_of(study)) == {3}
    results = [float(row["result"]) for row in study.rows("results.csv") if not row["failure"]]
    assert results == pytest.approx([2 * n / 7 for n in range(8) if n != 3])


def test_an_instance_that_hangs_is_told_and_what_the_others_answered_is_written(make):
    study = make("time.sleep(3600) if evaluation == 2 else None",
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11], time_limit=LIMIT_S, leave_out=True)
    assert study.status == 1
    assert "does not come back from evaluation 2 (rate = 0.2" in study.record["reason"]
    assert len(study.rows("results.csv")) == 11
    (found,) = study.rows("statistics.csv")
    assert float(found["mean"]) == pytest.approx(sum((n / 10) ** 2 for n in range(11) if n != 2) / 10)


def test_a_study_of_which_no_instance_comes_back_fails_and_keeps_what_it_has(make):
    study = make("time.sleep(3600) if evaluation >= 2 else None", members=2,
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11], time_limit=LIMIT_S, leave_out=True)
    assert study.status == 1
    assert "no instance comes back from its evaluation" in study.record["reason"]
    done = [row["evaluation"] for row in study.rows("results.csv") if not row["failure"]]
    assert done == ["0", "1"]


def test_an_instance_that_is_late_is_used_again_when_it_comes_back(make):
    study = make(f"time.sleep({1.4 * LIMIT_S}) if evaluation == 2 else time.sleep(0.15)",
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[41], time_limit=LIMIT_S, leave_out=True)
    assert study.status == 0, study.text
    failures = {int(row["evaluation"]): row["failure"] for row in study.rows("results.csv") if row["failure"]}
    assert failures == {2: f"it takes longer than {LIMIT_S:g} s"}


def test_an_instance_that_answers_twice_ends_the_run(make):
    study = make("instance.send('size', Message(0.0, data=1.0)) if evaluation == 2 else None", members=1,
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11])
    assert study.status == 1
    assert "answers evaluation 2 again, when evaluation 3 is due" in study.record["reason"]


def test_a_second_answer_is_left_out_if_the_model_says_so(make):
    study = make("instance.send('size', Message(0.0, data=7.0)) if evaluation == 2 else None", members=1,
                 leave_out=True,
                 sampler="grid", parameters="rate = 0.0 .. 1.0", grid=[11])
    assert study.status == 0, study.text
    assert "answers evaluation 2 again; the second answer is left out" in study.text
    expected = [7.0 if n == 2 else (n / 10) ** 2 for n in range(11)]
    assert [float(row["result"]) for row in study.rows("results.csv")] == pytest.approx(expected)


@pytest.mark.parametrize("settings, expected", [
    ({"sampler": "sobol", "evaluations": 8, "parameters": "; ".join(f"p{n} = 0.0 .. 1.0" for n in range(22))},
     "can have 21 parameters, and here are 22"),
    ({"sampler": "halton", "evaluations": 8, "parameters": "rate = 0.0 .. 1.0"}, "there is no sampler"),
    ({"evaluations": 8}, '"parameters\\" is not set'),
    ({"evaluations": 8, "parameters": "rate is 1"}, "has no"),
    ({"sampler": "file", "points": "nowhere.csv"}, "nowhere.csv"),
    ({"sampler": "grid", "parameters": "rate = 0.0 .. 1.0", "grid": [3, 4]}, "1 numbers of values"),
    ({"evaluations": 8, "parameters": "rate = 0.0 .. 1.0", "time_limit": 0.0}, "must be above 0"),
])
def test_a_study_that_cannot_be_made_is_refused(make, settings, expected):
    study = make(**settings)
    assert study.status == 1
    assert expected.replace("\\", "") in study.record["reason"]
    assert study.record["code"] == "bad-study"
    assert math.isfinite(study.record["duration"])
