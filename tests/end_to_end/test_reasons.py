"""Reasons of Python codes: a program that leaves by `SystemExit`, misspelt settings, arrays that are not what
is expected."""

import pytest

MODEL = """ymmsl_version: v0.1
model:
  name: reasons
  components:
    giver: {{implementation: giver, ports: {{o_i: out}}}}
    taker: {{implementation: taker, ports: {{s: in}}}}
  conduits: {{giver.out: taker.in}}
settings: {{betta: 0.5, count: 3}}
implementations: {{giver: {giver}, taker: {taker}}}
"""
GIVER = """
import sys
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data=1))
    LEAVE
"""
FORGETFUL = """
instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
if LOOP:
    instance.reuse_instance()
    instance.send("end", instance.receive("start"))
else:
    instance.send("end", instance.receive("start"))
"""
CALLER = """
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(2):
        instance.send("out", Message(float(step)))
        instance.receive("in")
"""
CALLS = """ymmsl_version: v0.1
model:
  name: calls
  components:
    caller: {{implementation: caller, ports: {{o_i: out, s: in}}}}
    called: {{implementation: called, ports: {{f_init: start, MODEL_OPERATOR: end}}}}
  conduits: {{caller.out: called.start, called.end: caller.in}}
implementations: {{caller: {caller}, called: {called}}}
"""
TAKER = """
instance = Instance({Operator.S: ["in"]})
while instance.reuse_instance():
    for _ in range(3):
        print(instance.receive("in").data)
"""


def ran(run, python_program, leave, taker=TAKER):
    return run(MODEL.format(giver=python_program("giver", GIVER.replace("LEAVE", leave)),
                            taker=python_program("taker", taker)))


def test_a_program_that_leaves_with_a_reason_has_failed_and_its_neighbour_has_not(run, python_program):
    for leave in ('raise SystemExit("no fuel is left")', 'sys.exit("no fuel is left")',
                  'print("no fuel is left", file=sys.stderr); sys.exit(3)'):
        done = ran(run, python_program, leave)
        assert done.status != 0
        reason = next(line for line in done.text.splitlines() if line.startswith("ligament: "))
        assert "giver ended with exit status" in reason and "no fuel is left" in done.text, done.text
        assert "taker reported" not in done.text and "closed" not in reason, done.text


def test_a_program_that_leaves_without_one_is_done(run, python_program):
    count = 'for step in (1, 2):\n        instance.send("out", Message(step, data=1))\n    '
    for leave in ("sys.exit()", "sys.exit(0)", "raise SystemExit", "break"):
        done = ran(run, python_program, count + leave)
        assert done.status == 0, done.text


def test_a_submodel_that_leaves_without_one_is_done(run, python_program):
    giver = """
import sys
from ligament import Submodel, run_submodel
class Giver(Submodel):
    step = 0
    def initialise(self, instance): pass
    def is_done(self): return False
    def observe(self, instance): instance.send("out", Message(float(self.step), data=1))
    def solve(self, instance):
        self.step += 1
        if self.step == 3:
            sys.exit(STATUS)
    def observe_final(self, instance): pass
run_submodel(Instance({Operator.O_I: ["out"]}), Giver())
"""
    for status, good in [("0", True), ("", True), ("3", False)]:
        done = run(MODEL.format(giver=python_program("giver", giver.replace("STATUS", status)),
                                taker=python_program("taker", TAKER)))
        assert (done.status == 0) is good and ("SystemExit: 3" in done.text) is not good, done.text


def test_what_a_code_cannot_have_is_said_with_a_code_of_its_own(run, python_program):
    taker = """
import numpy as np
instance = Instance({Operator.S: ["in"]})
def refused(call):
    try:
        call()
    except Exception as error:
        print(error)
while instance.reuse_instance():
    refused(lambda: instance.get_setting("beta"))
    refused(lambda: instance.get_setting("gamma"))
    refused(lambda: instance.receive("in").array())
    refused(lambda: instance.receive("in").array(dtype="float32", shape=(3,)))
    refused(lambda: instance.receive("in").array(dtype="float64", shape=(4,)))
    refused(lambda: instance.receive_into("in", np.zeros(3, dtype=np.float32)))
    refused(lambda: instance.receive_into("in", np.zeros(4)))
    print(instance.has_next("in"), instance.has_next("in"))
    try:
        instance.wait_any(["in"])
    except ClosedError:
        print("all have ended")
"""
    leave = ('import numpy\n    for n in range(4):\n        instance.send("out", Message(n, '
             'data=numpy.zeros(3)))')
    done = ran(run, python_program, leave, taker)
    assert done.status == 0, done.text
    lines = (done.directory / "instances/taker/output.log").read_text().splitlines()
    assert 'the setting "beta" is not set for taker; did you mean "betta", which is set?' in lines[0]
    assert 'the setting "gamma" is not set for taker; add "gamma: value"' in lines[1]
    codes = [line.rpartition("(ligament explain ")[2] for line in lines[2:7]]
    assert codes == [f"{code})" for code in ("not-an-array", "other-type", "other-shape", "other-type",
                                             "other-shape")]
    assert lines[7:] == ["False False", "all have ended"]


@pytest.mark.parametrize("loop", ["True", "False"])
def test_a_code_that_does_not_ask_whether_it_is_wanted_again_is_named(run, python_program, loop):
    model = CALLS.replace("MODEL_OPERATOR", "o_f")
    done = run(model.format(caller=python_program("caller", CALLER),
                            called=python_program("called", FORGETFUL.replace("LOOP", loop))))
    assert done.status != 0
    assert "(called.end), which ended without calling reuse_instance() again" in done.text, done.text


def test_another_operator_in_the_same_direction_is_told_and_the_codes_counts(run, python_program):
    called = FORGETFUL[:FORGETFUL.index("if LOOP")] + """
while instance.reuse_instance():
    instance.send("end", instance.receive("start"))
"""
    model = CALLS.replace("MODEL_OPERATOR", "o_i")
    done = run(model.format(caller=python_program("caller", CALLER), called=python_program("called", called)))
    assert done.status == 0, done.text
    warning = ('the code declares the port "end" with the operator O_F, and the model says O_I; the code\'s '
               'counts')
    assert f"called: {warning}" in (done.directory / "manager.log").read_text()


def test_reasons_and_lines_are_told_whatever_characters_they_have(run, python_program):
    leave = """broken = b"run-\\xff.dat".decode("utf-8", "surrogateescape")
    import logging
    logging.warning("reading %s", broken)
    try:
        instance.send(broken, Message(0.0))
    except UsageError as error:
        instance.log(LogLevel.WARNING, "refused: " + str(error))
    raise ValueError("cannot read " + broken)"""
    done = ran(run, python_program, leave)
    assert done.status != 0
    log = (done.directory / "manager.log").read_text()
    assert r"reading run-\udcff.dat" in log and r'refused: there is no port "run-\udcff.dat"' in log, log
    assert r"giver reported an error: ValueError: cannot read run-\udcff.dat" in done.text, done.text
