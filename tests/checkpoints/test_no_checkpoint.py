"""A run that ends without any of the checkpoints that its model asks for says whose state was missing."""

import pytest

SENDER = """
    instance = Instance({Operator.O_I: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        instance.resuming()
        instance.should_init()
        for number in range(20):
            instance.send("out", Message(float(number), None, number))
            if instance.should_save_snapshot(number + 1.0):
                instance.save_snapshot(Message(number + 1.0, None, number))
        instance.should_save_final_snapshot()
"""
RECEIVER = """
    instance = Instance({Operator.S: ["in"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        instance.resuming()
        instance.should_init()
        for number in range(20):
            instance.receive("in")
            if ASKS and instance.should_save_snapshot(number + 1.0):
                instance.save_snapshot(Message(number + 1.0, None, number))
            if number == 15:
                os.abort()
"""


@pytest.mark.parametrize("asks", [False, True])
def test_a_code_that_never_asks_is_named_when_the_run_fails(start, python_code, asks):
    receiver = python_code("receiver", RECEIVER.replace("ASKS", str(asks)))
    failed = start(f"""
ymmsl_version: v0.2
models:
  m:
    components:
      sender: {{ports: {{o_i: out}}, implementation: sender}}
      receiver: {{ports: {{s: in}}, implementation: receiver}}
    conduits: {{sender.out: receiver.in}}
programs: {{sender: {python_code("sender", SENDER)}, receiver: {receiver}}}
checkpoints: {{simulation_time: [{{at: [5.0, 10.0]}}]}}
""")
    assert failed.status == 1, failed.text
    missed = "no checkpoint was saved, although the model asks for them: these did not save at 5: receiver\n"
    assert (missed in failed.text) != asks, failed.text
    assert bool(failed.checkpoints()) == asks, failed.text
