"""One final message on each O_F port, and slot, in each pass of the reuse loop: a second one would answer the
next question."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
MODEL = """ymmsl_version: v0.1
model:
  name: finals
  components:
    asker: {{implementation: asker, ports: {{o_i: ask, s: [end, list, many]}}}}
    answers: {{implementation: answers, ports: {{f_init: start, o_f: [end, list, many]}}}}
  conduits:
    {{asker.ask: answers.start, answers.end: asker.end, answers.list: asker.list, answers.many: asker.many}}
implementations: {{asker: {asker}, answers: {answers}}}
"""
ASKER = """
instance = Instance({Operator.O_I: ["ask"], Operator.S: ["end", "list", "many[]"]})
while instance.reuse_instance():
    for step in range(3):
        instance.send("ask", Message(float(step)))
        came = [instance.receive(*port).data for port in (("end",), ("list",), ("many", 0), ("many", 1))]
        print(step, [one.tolist() if hasattr(one, "shape") else one for one in came])
"""
ANSWERS = """
import numpy as np

def refused(what, send):
    try:
        send()
        print(what + ": sent")
    except UsageError as error:
        print(what + ":", error)

instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end", "list", "many[]"]})
step = 0
while instance.reuse_instance():
    instance.set_port_length("many", 2)
    time = instance.receive("start").timestamp
    array = np.full(3, float(step))
    refused("unsendable", lambda: instance.send("end", Message(time, data=object())))
    instance.send("end", Message(time, data=float(step)))
    refused("end", lambda: instance.send("end", Message(time, data=-1.0)))
    instance.send("list", Message(time, data=array))
    refused("list", lambda: instance.send("list", Message(time + 1.0, data=array)))
    for slot in range(2):
        instance.send("many", Message(time, data=float(step + slot)), slot)
    refused("many", lambda: instance.send("many", Message(time, data=-1.0), 1))
    refused("loan", lambda: instance.send_loan("list", time, None, instance.loan(3)))
    step += 1
"""


@pytest.mark.parametrize("language", ["cpp", "python"])
def test_a_second_final_message_of_a_pass_is_refused_and_no_answer_shifts(run, python_program, compile_cpp,
                                                                          language):
    answers = {"cpp": lambda: f"{{executable: {compile_cpp(HERE / 'answers.cpp')}}}",
               "python": lambda: python_program("answers", ANSWERS)}[language]()
    done = run(MODEL.format(asker=python_program("asker", ASKER), answers=answers))
    assert done.status == 0, done.text
    came = (done.directory / "instances/asker/output.log").read_text().splitlines()
    assert came == [f"{n} [{n}.0, [{n}.0, {n}.0, {n}.0], {n}.0, {n + 1}.0]" for n in range(3)]
    tries = (done.directory / "instances/answers/output.log").read_text().splitlines()
    tries = [line for line in tries if not line.startswith("unsendable: ")]  # what was not sent may be mended
    ports = ('end', 'list', 'many[1]', 'list')
    expected = [rf'\w+: port "{re.escape(port)}" is an O_F port and has sent its message of this pass already'
                for port in ports]
    assert len(tries) == 12
    for line, pattern in zip(tries, expected * 3, strict=True):
        assert re.match(pattern, line), line


def test_without_the_reuse_loop_a_second_final_message_is_sent_and_reported_once(run, python_program):
    model = """ymmsl_version: v0.1
model:
  name: free
  components:
    giver: {{implementation: giver, ports: {{o_f: out}}}}
    taker: {{implementation: taker, ports: {{f_init: in}}}}
  conduits: {{giver.out: taker.in}}
implementations: {{giver: {giver}, taker: {taker}}}
"""
    giver = python_program(
        "giver", 'instance = Instance()\nfor n in range(3):\n    instance.send("out", Message(0.0, data=n))\n')
    taker = python_program(
        "taker", 'instance = Instance()\nfor n in range(3):\n    print(instance.receive("in").data)\n')
    done = run(model.format(giver=giver, taker=taker))
    assert done.status == 0, done.text
    assert (done.directory / "instances/taker/output.log").read_text().split() == ["0", "1", "2"]
    log = (done.directory / "manager.log").read_text()
    assert log.count(
        'port "out": giver sends a second O_F message, and has not called reuse_instance()') == 1, log


def test_a_pass_without_a_final_message_is_reported_and_named_where_somebody_waits_for_it(run, python_program):
    asker = ASKER.replace('(("end",), ("list",), ("many", 0), ("many", 1))', '(("end",),)')
    answers = """
instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end", "list", "many[]"]})
passes = 0
while instance.reuse_instance():
    if passes != 1:
        instance.send("end", Message(0.0))
    passes += 1
"""
    done = run(MODEL.format(asker=python_program("asker", asker), answers=python_program("answers", answers)))
    assert done.status != 0
    assert 'port "end": answers has sent no O_F message in pass 2 of its loop' in done.text
    assert "answers at answers.end, before it waits at answers.start" in done.text
