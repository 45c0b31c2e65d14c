"""`ligament play --record`: a case from a run of a whole model."""

import os
import subprocess
import sys

import pytest

MACRO = """
import numpy as np
from ligament import Array, Instance, Message, Operator

instance = Instance({Operator.O_I: ["state", "hint"], Operator.S: ["result"]})
while instance.reuse_instance():
    for t in range(3):
        field = Array(np.arange(4.0).reshape(2, 2) + t, ["x", "y"], "K")
        instance.send("state", Message(float(t), t + 1.0, {"field": field, "name": "a\\"b"}))
        instance.send("hint", Message(float(t), data=[t, None, True]))
        instance.receive("result")
"""
MICRO = """
import sys
from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["start", "hint"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    start, hint = instance.receive("start"), instance.receive("hint")
    if "fail" in sys.argv:
        raise RuntimeError("no such tissue")
    factor = instance.get_setting("factor", "float")
    instance.send("end", Message(start.timestamp, data=start.data["field"].array * factor + hint.data[0]))
"""
MODEL = """ymmsl_version: v0.1
model:
  name: two
  components:
    macro: {implementation: macro, ports: {o_i: [state, hint], s: result}}
    micro: {implementation: micro, ports: {f_init: [start, hint], o_f: end}}
  conduits:
    macro.state: micro.start
    macro.hint: micro.hint
    micro.end: macro.result
settings:
  micro.factor: 2.0
  factor: 7.0
  macro.steps: 3
implementations:
  macro: {executable: python3, args: macro.py}
  micro: {executable: python3, args: micro.py}
"""


@pytest.fixture
def user(tmp_path):
    (tmp_path / "macro.py").write_text(MACRO)
    (tmp_path / "micro.py").write_text(MICRO)
    (tmp_path / "model.ymmsl").write_text(MODEL)
    (tmp_path / "tmp").mkdir()

    def run(*words):
        return subprocess.run(["ligament", *words], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})

    run.path = tmp_path
    return run


def record(user, *more, instance="micro"):
    return user("play", "case.yaml", "--record", "model.ymmsl", "--instance", instance, *more)


def test_a_recorded_case_has_ports_settings_and_messages_and_passes(user):
    done = record(user)
    assert done.returncode == 0, done.stderr
    text = (user.path / "case.yaml").read_text()
    assert "ports:\n  f_init: [start, hint]\n  o_f: [end]\nsettings:\n  factor: 2.0\nmessages:\n" in text
    assert text.count("- {to: start") == text.count("- {to: hint") == text.count("- {from: end") == 3
    assert 'names: ["x", "y"], unit: "K"' in text
    played = user("play", "case.yaml", "--", sys.executable, "micro.py")
    assert (played.returncode, played.stdout) == (0, "3 of 3 messages as expected\n"), played.stderr
    (user.path / "micro.py").write_text(MICRO.replace("* factor", "* factor * 1.5"))
    assert user("play", "case.yaml", "--", sys.executable, "micro.py").returncode == 1
    assert list((user.path / "tmp").iterdir()), "what differs stays, to be looked at"


def test_the_macro_side_can_be_recorded_too(user):
    assert record(user, instance="macro").returncode == 0
    text = (user.path / "case.yaml").read_text()
    assert "ports:\n  o_i: [state, hint]\n  s: [result]\n" in text and "steps: 3" in text
    played = user("play", "case.yaml", "--", sys.executable, "macro.py")
    assert played.returncode == 0 and "6 of 6 messages as expected" in played.stdout, played.stdout + played.stderr


def test_a_setting_given_with_the_command_is_that_of_the_case(user):
    assert record(user, "-s", "micro.factor=3.5").returncode == 0
    assert "factor: 3.5\n" in (user.path / "case.yaml").read_text()


def test_a_run_that_fails_leaves_no_case(user):
    (user.path / "model.ymmsl").write_text(MODEL.replace("args: micro.py", "args: [micro.py, fail]"))
    done = record(user)
    assert done.returncode == 1 and "no such tissue" in done.stderr
    assert not (user.path / "case.yaml").exists()
    assert list((user.path / "tmp").iterdir()) == []


def test_a_case_that_is_there_is_not_overwritten(user):
    (user.path / "case.yaml").write_text("mine")
    done = record(user)
    assert done.returncode == 2 and "case.yaml is there already" in done.stderr
    assert (user.path / "case.yaml").read_text() == "mine"
    assert not (user.path / "runs").exists()


@pytest.mark.parametrize("words, text", [
    (("--instance", "mirco"), 'did you mean "micro"?'),
    ((), "--instance"),
    (("--instance", "micro", "--", "./micro"), "cannot be used with"),
])
def test_what_cannot_be_recorded_is_said(user, words, text):
    done = user("play", "case.yaml", "--record", "model.ymmsl", *words)
    assert done.returncode == 2 and text in done.stderr, done.stderr
    assert not (user.path / "case.yaml").exists()
