"""The remarks of a successful run at its end, also with --quiet: messages that no instance received, settings
that no code asked for, warnings."""

import json

MODEL = """ymmsl_version: v0.1
model:
  name: look
  components:
    macro: {{implementation: macro, ports: {{o_i: out}}}}
    micro: {{implementation: micro, ports: {{s: in}}{copies}}}
  conduits: {{macro.out: micro.in}}
settings: {{{settings}}}
implementations:
  macro: {macro}
  micro: {micro}
"""

MACRO = """
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    instance.get_setting("t_max", default=1.0)
    for step in range(5):
        for slot in range(COPIES):
            instance.send("out", Message(float(step), data=step), slot=SLOT)
"""

MICRO = """
import logging
instance = Instance({Operator.S: ["in"]})
while instance.reuse_instance():
    instance.get_setting("dt", default=1.0)
    for step in range(RECEIVES):
        instance.receive("in")
    WARNS
"""


def model(python_program, receives=5, settings="", warns="pass", copies=1):
    many = copies > 1
    macro = MACRO.replace("COPIES", str(copies)).replace("SLOT", "slot" if many else "None")
    macro = macro.replace('["out"]', '["out[]"]') if many else macro
    micro = MICRO.replace("RECEIVES", str(receives)).replace("WARNS", warns)
    return MODEL.format(macro=python_program("macro", macro), micro=python_program("micro", micro),
                        settings=settings, copies=f", multiplicity: {copies}" if copies > 1 else "")


def record(done):
    return json.loads((done.directory / "run.json").read_text())


def test_messages_that_nobody_received_are_counted_by_conduit(run, python_program):
    done = run(model(python_program, receives=2), "--quiet")
    assert done.status == 0
    assert "3 messages were never received on the conduit macro.out: micro.in" in done.text
    assert record(done)["unreceived"] == [{"from": "macro.out", "to": "micro.in", "messages": 3}]


def test_those_of_all_copies_are_counted_together(run, python_program):
    done = run(model(python_program, receives=4, copies=3), "--quiet")
    assert done.status == 0
    assert "3 messages were never received on the conduit macro.out: micro.in" in done.text


def test_a_setting_that_nobody_asked_for_is_named_with_the_one_that_was_meant(run, python_program):
    done = run(model(python_program), "--quiet", "-s", "tmax=1", "-s", "micro.dt=0.5")
    assert done.status == 0
    assert done.text == 'warning: the setting "tmax" was never asked for; did you mean "t_max"?\n'
    assert record(done)["unasked_settings"] == [{"name": "tmax", "meant": "t_max", "given": True}]


def test_settings_of_the_model_that_nobody_asked_for_are_one_line(run, python_program):
    done = run(model(python_program, settings="a: 1, b: 2, micro.c: 3, elsewhere.dt: 1, muscle_x: 1, t_max: 1"))
    assert "settings of the model that nobody asked for: a, b, micro.c\n" in done.text
    assert [one["name"] for one in record(done)["unasked_settings"]] == ["a", "b", "micro.c"]


def test_whoever_looks_through_all_settings_has_asked_for_all(run, python_program):
    look = 'instance.list_settings()'
    done = run(model(python_program, settings="a: 1, micro.b: 1", warns=look), "--quiet")
    assert (done.status, done.text) == (0, "")


def test_warnings_are_said_again_at_the_end_also_by_a_quiet_run(run, python_program):
    warns = "[logging.getLogger().warning('the mesh is coarse') for _ in range(3)]"
    done = run(model(python_program, warns=warns), "--quiet")
    assert done.status == 0
    assert "warning: micro: root: the mesh is coarse (3 times)\n" in done.text
    [warning] = record(done)["warnings"]
    assert warning == {"who": "micro", "text": "root: the mesh is coarse", "times": 3}


def test_of_a_run_that_is_as_it_should_be_nothing_is_said(run, python_program):
    done = run(model(python_program, settings="t_max: 1, micro.dt: 2"), "--quiet")
    assert (done.status, done.text) == (0, "")
    assert not {"unreceived", "unasked_settings", "warnings"} & set(record(done))


def test_of_a_run_that_failed_only_the_reason_is_said(run, python_program):
    done = run(model(python_program, receives=2, settings="a: 1", warns="raise SystemExit(3)"), "--quiet")
    assert done.status == 1
    assert "never received" not in done.text and "asked for" not in done.text, done.text
