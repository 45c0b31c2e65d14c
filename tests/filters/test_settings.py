"""Receives that want the settings of their message; and the settings by which MUSCLE 3 chooses the logged
lines."""

import pytest

STUDY = """
instance = Instance({Operator.O_I: ["settings[]", "begin[]"], Operator.S: ["results[]"]})
while instance.reuse_instance():
    for k in range(2):
        instance.send("settings", Message(0.0, data=Settings({"k": k + 10})), k)
        instance.send("begin", Message(0.0, data=k), k)
    for k in range(2):
        message = instance.receive_with_settings("results", k)
        print(message.data, dict(message.settings))
    message = instance.receive_with_settings("results", 0, timeout=120)
    print(message.data, dict(message.settings), instance.receive_with_settings("results", 1, default=3).data)
    print(instance.list_settings())
"""
MEMBER = """
instance = Instance({Operator.F_INIT: ["begin"], Operator.O_I: ["result"]})
while instance.reuse_instance():
    message = instance.receive_with_settings("begin")
    assert message.settings is not None and dict(message.settings) == {}, message.settings
    instance.send("result", Message(1.0, 2.0, [message.data, instance.get_setting("k", "int")]))
    instance.send("result", Message(2.0, None, "again"))
"""


def test_settings_come_with_one_receive_and_change_nothing_here(run, python_program):
    done = run(f"""ymmsl_version: v0.1
model:
  name: survey
  components:
    study: {{implementation: study, ports: {{o_i: [settings, begin], s: results}}}}
    member: {{implementation: member, multiplicity: 2, ports: {{f_init: begin, o_i: result}}}}
  conduits:
      {{study.settings: member.muscle_settings_in, study.begin: member.begin, member.result: study.results}}
implementations:
  study: {python_program("study", STUDY)}
  member: {python_program("member", MEMBER)}
""")
    assert done.status == 0, done.text
    assert (done.directory / "instances/study/output.log").read_text() == (
        "[0, 10] {'k': 10}\n[1, 11] {'k': 11}\nagain {'k': 10} again\n[]\n")


def test_an_ordinary_receive_beside_it_still_refuses_other_settings(run, python_program):
    study = STUDY.replace('message = instance.receive_with_settings("results", 0, timeout=120)',
                          'message = instance.receive("results", 0)')
    done = run(f"""ymmsl_version: v0.1
model:
  name: survey
  components:
    study: {{implementation: study, ports: {{o_i: [settings, begin], s: results}}}}
    member: {{implementation: member, multiplicity: 2, ports: {{f_init: begin, o_i: result}}}}
  conduits:
      {{study.settings: member.muscle_settings_in, study.begin: member.begin, member.result: study.results}}
implementations:
  study: {python_program("study", study)}
  member: {python_program("member", MEMBER)}
""")
    assert done.status == 1 and "other-settings" in done.text, done.text


LOGS = """
import logging
instance = Instance({})
while instance.reuse_instance():
    instance.log(LogLevel.DEBUG, "one")
    instance.log(LogLevel.WARNING, "two")
    instance.log(LogLevel.CRITICAL, "three")
"""


@pytest.mark.parametrize("settings, there, here", [
    ("", ["two", "three"], []),
    ("{muscle_remote_log_level: debug}", ["one", "two", "three"], []),
    ("{muscle_remote_log_level: DISABLED}", [], []),
    ("{muscle_remote_log_level: DISABLE, muscle_local_log_level: WARNING}", [],
     ["WARNING: two", "CRITICAL: three"]),
    ("{muscle_remote_log_level: INFO, logs.muscle_remote_log_level: CRITICAL, muscle_local_log_level: LOCAL}",
     ["three"],
     ["DEBUG: one", "WARNING: two", "CRITICAL: three"]),
])
def test_muscle_s_levels_choose_what_goes_to_the_run_s_log_and_what_to_an_instance_s_own(run, python_program,
                                                                                         settings, there, here):
    done = run(f"""ymmsl_version: v0.1
model: {{name: logging, components: {{logs: logs}}}}
implementations: {{logs: {python_program("logs", LOGS)}}}
settings: {settings or "{}"}
""")
    assert done.status == 0, done.text
    log = (done.directory / "manager.log").read_text().splitlines()
    assert [line.split()[-1] for line in log if line.split()[-1:] and line.split()[-1] in ("one", "two",
                                                                                           "three")] == there
    assert (done.directory / "instances/logs/output.log").read_text().splitlines() == here
