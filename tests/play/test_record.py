"""`ligament play --record`: a case from a run of a whole model."""

import json
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
    assert played.returncode == 0 and ("6 of 6 messages as "
                                       "expected") in played.stdout, played.stdout + played.stderr


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


def test_what_lies_beside_a_case_stays_as_it_is(user):
    (user.path / "case.part").write_text("mine")
    assert record(user).returncode == 0
    assert (user.path / "case.part").read_text() == "mine"
    assert not list(user.path.glob(".case*"))


def test_a_case_that_appears_meanwhile_is_not_overwritten(user):
    (user.path / "macro.py").write_text(MACRO.replace("for t in range(3):",
                                                     f"open({str(user.path / 'case.yaml')!r}, "
                                                     f"'w').write('mine')\n    for t in range(3):"))
    done = record(user)
    assert done.returncode == 2 and "is there already" in done.stderr and ("the recording is in "
                                                                           ".case.yaml.") in done.stderr
    assert (user.path / "case.yaml").read_text() == "mine"
    (kept,) = user.path.glob(".case.yaml.*")
    assert kept.read_text().startswith("ligament_case: 1\n")


def test_a_case_that_cannot_be_written_is_refused_before_the_run(user):
    done = user("play", "nowhere/case.yaml", "--record", "model.ymmsl", "--instance", "micro")
    assert done.returncode == 2 and "cannot be written" in done.stderr and not (user.path / "runs").exists()


@pytest.mark.parametrize("instance, factor", [("micro[0]", "2.0"), ("micro[1]", "5.0")])
def test_the_settings_are_those_that_the_instance_sees(user, instance, factor):
    model = MODEL.replace("ports: {f_init: [start, hint], o_f: end}}",
                          "ports: {f_init: [start, hint], o_f: end}, multiplicity: 2}")
    (user.path / "model.ymmsl").write_text(model.replace("  factor: 7.0\n",
                                                         "  factor: 7.0\n  micro[1].factor: 5.0\n"))
    (user.path / "macro.py").write_text("""
from ligament import Array, Instance, Message, Operator
import numpy as np
instance = Instance({Operator.O_I: ["state[]", "hint[]"], Operator.S: ["result[]"]})
while instance.reuse_instance():
    for slot in range(2):
        instance.send("state", Message(0.0, data={"field": Array(np.ones(2), ["x"])}), slot=slot)
        instance.send("hint", Message(0.0, data=[0]), slot=slot)
    for slot in range(2):
        instance.receive("result", slot=slot)
""")
    assert record(user, instance=instance).returncode == 0
    text = (user.path / "case.yaml").read_text()
    assert f"settings:\n  factor: {factor}\nmessages:" in text, text
    assert user("play", "case.yaml", "--", sys.executable, "micro.py").returncode == 0


def test_slots_that_the_model_gives_are_those_of_the_case(user):
    model = MODEL.replace("ports: {f_init: [start, hint], o_f: end}}",
                          "ports: {f_init: [start, hint], o_f: end}, multiplicity: 3}")
    (user.path / "model.ymmsl").write_text(model)
    (user.path / "macro.py").write_text("""
from ligament import Array, Instance, Message, Operator
import numpy as np
instance = Instance({Operator.O_I: ["state[]", "hint[]"], Operator.S: ["result[]"]})
while instance.reuse_instance():
    for slot in range(instance.get_port_length("state")):
        instance.send("state", Message(0.0, data={"field": Array(np.ones(2), ["x"])}), slot=slot)
        instance.send("hint", Message(0.0, data=[0]), slot=slot)
    for slot in range(instance.get_port_length("result")):
        instance.receive("result", slot=slot)
""")
    done = record(user, instance="macro")
    assert done.returncode == 0, done.stderr
    text = (user.path / "case.yaml").read_text()
    assert 'ports:\n  o_i: ["state[3]", "hint[3]"]\n  s: ["result[3]"]\n' in text, text
    played = user("play", "case.yaml", "--", sys.executable, "macro.py")
    assert (played.returncode, played.stdout) == (0, "6 of 6 messages as expected\n"), played.stderr
    for case, words in [("state[0]", '"state[0]" has not'), ("state[2]", "slots are numbers below 2")]:
        (user.path / "wrong.yaml").write_text(text.replace("state[3]", case))
        refused = user("play", "wrong.yaml", "--", sys.executable, "macro.py")
        assert refused.returncode == 2 and words in refused.stderr, refused.stderr


@pytest.mark.parametrize("old, new, text", [
    ("    micro.end: macro.result\n", "    micro.end: macro.result\n    micro.more: micro.again\n",
     "a conduit to itself"),
    ("    macro.hint: micro.hint\n", "    macro.hint: micro.muscle_settings_in\n",
     "receives settings on muscle_settings_in"),
])
def test_an_instance_that_cannot_be_recorded_is_refused(user, old, new, text):
    model = MODEL.replace("f_init: [start, hint], o_f: end",
                          "f_init: [start, hint], o_i: more, s: again, o_f: end")
    (user.path / "model.ymmsl").write_text(model.replace(old, new))
    done = record(user)
    assert done.returncode == 2 and text in done.stderr, done.stderr


def test_a_message_that_holds_settings_is_refused_by_name(user):
    (user.path / "macro.py").write_text(MACRO.replace("data=[t, None, True]", "data=[t, Settings({'a': 1})]")
                                        .replace("import Array", "import Settings, Array"))
    done = record(user)
    assert done.returncode == 1 and 'a message on port "hint" holds settings' in done.stderr, done.stderr
    assert not (user.path / "case.yaml").exists() and not list(user.path.glob(".case*"))


def test_what_is_wrong_with_the_model_is_said_as_json_too(user):
    (user.path / "model.ymmsl").write_text(MODEL.replace("args: micro.py", "args: mirco.py"))
    done = record(user, "--json")
    assert done.returncode == 2 and json.loads(done.stdout)["ok"] is False
