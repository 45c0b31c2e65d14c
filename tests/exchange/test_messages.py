"""`messages: all`: every message of a rank goes to every rank of the receiver."""

import pytest

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      macro: {{ports: {{o_i: start, s: end}}, implementation: macro}}
      parallel: {{ports: {{f_init: start, o_f: end}}, implementation: parallel}}
    conduits: {{macro.start: parallel.start, parallel.end: macro.end}}
programs: {{macro: {macro}, parallel: {parallel}}}
ligament:
  ranks: {ranks}
  exchange: {{macro.start -> parallel.start: {{messages: all}}}}
{more}"""

# The rank does not know the parts of the other ranks when it sends.
MACRO = """
import numpy as np
instance = Instance({Operator.O_I: ["start"], Operator.S: ["end[]"]})
while instance.reuse_instance():
    for step in range(4):
        instance.send("start", Message(float(step), data={"step": step, "field": np.arange(5000.0) + step}))
        for rank in range(instance.get_port_length("end")):
            assert instance.receive("end", rank).data == [rank, step, 5000 * (2499.5 + step)]
print("all answers were right")
"""

PARALLEL = """
instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    message = instance.receive("start")
    answer = [instance.rank, message.data["step"], float(message.data["field"].sum())]
    instance.send("end", Message(message.timestamp, data=answer))
"""


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_code_that_calls_a_parallel_one_need_not_know_of_its_ranks(run, python_program, ranks):
    done = run(MODEL.format(macro=python_program("macro", MACRO), parallel=python_program("parallel", PARALLEL),
                            ranks=f"{{parallel: {ranks}}}", more=""))
    assert done.status == 0, done.text
    assert "all answers were right" in done.file("macro", "output.log")


ALL_TO_ALL = """ymmsl_version: v0.2
models:
  m:
    components:
      left: {{ports: {{o_i: out}}, implementation: left}}
      right: {{ports: {{s: in}}, implementation: right}}
    conduits: {{left.out: right.in}}
programs: {{left: {left}, right: {right}}}
ligament:
  ranks: {{left: 3, right: 2}}
  exchange: {{left.out -> right.in: {{messages: all}}}}
  filters: {{left.out -> right.in: [{{multiply: 10}}]}}
"""

SENDER_PROGRAM = """
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    for step in range(5):
        instance.send("out", Message(float(step), data=float(instance.rank + step)))
"""

RECEIVER_PROGRAM = """
instance = Instance({Operator.S: ["in[]"]})
while instance.reuse_instance():
    for step in range(5):
        came = [instance.receive("in", rank).data for rank in range(3)]
        assert came == [10.0 * (rank + step) for rank in range(3)]
print("right")
"""


def test_between_ranks_the_receiver_has_a_slot_for_each_rank_of_the_sender(run, python_program):
    left, right = python_program("left", SENDER_PROGRAM), python_program("right", RECEIVER_PROGRAM)
    done = run(ALL_TO_ALL.format(left=left, right=right))
    assert done.status == 0, done.text
    for rank in range(2):
        assert done.file("right", f"output.{rank}.log") == "right\n"


def test_a_message_for_all_needs_ranks(ligament, run):
    nothing = "{executable: /bin/true}"
    done = run(MODEL.format(macro=nothing, parallel=nothing, ranks="{macro: 2}", more=""))
    assert done.status == 2
    assert '"parallel" is to get the messages of an exchange, and has no ranks' in done.text
