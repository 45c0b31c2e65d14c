"""A run that resumes from a checkpoint ends as the undisturbed one, bit for bit."""

import pytest
from conftest import CALLS, PEERS, implementations
from slow_cases import slow

KEEP = "ligament: {checkpoints: {keep: 100}}\n"


def calls(micro="micro"):
    return CALLS.replace("MICRO", micro) + implementations("macro", micro)


def peers(lead=0):
    return PEERS.replace("LEAD", str(lead)) + implementations("peer")


def every(time, extra=""):
    return f"checkpoints: {{simulation_time: [{{every: {time}}}]{extra}}}\n" + KEEP


# A run of its own resumes from each checkpoint, so a shorter time takes longer.
@pytest.mark.parametrize("time, micro", [
    (1.0, "micro"), (2.5, "stateless"),
    *slow((2.5, "micro"), (1.0, "stateless"), (0.3, "micro"), (0.3, "stateless"))])
def test_calls_of_a_micro_model(start, time, micro):
    model = calls(micro)
    plain = start(model)
    assert plain.status == 0, plain.text
    saved = start(model + every(time))
    assert saved.status == 0, saved.text
    instances = ["macro"] + ["micro"] * (micro == "micro")
    assert [saved.end(name) for name in instances] == [plain.end(name) for name in instances]
    found = saved.checkpoints()
    assert len(found) >= 4, saved.text
    for number in found:
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and "never received" not in resumed.text, resumed.text
        running = [name for name in instances if name not in found[number]["over"]]
        assert [resumed.end(name) for name in running] == [plain.end(name) for name in running], found[number]
        assert len(resumed.file("macro", "steps.txt")) <= len(plain.file("macro", "steps.txt"))


@pytest.mark.parametrize("lead", [0, 3, *slow(1)])
def test_peers_with_messages_on_their_way(start, lead):
    model = peers(lead)
    plain = start(model)
    assert plain.status == 0, plain.text
    saved = start(model + every(3.0))
    assert saved.status == 0, saved.text
    found = saved.checkpoints()
    assert len(found) >= 5, saved.text
    for number in found:
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and "never received" not in resumed.text, resumed.text
        for name in {"fast", "slow"}.difference(found[number]["over"]):
            assert resumed.end(name) == plain.end(name), found[number]


def test_more_messages_on_their_way_than_memory_holds(start, python_code):
    """The receiver is at the moment of the checkpoint long before the sender is, so what is on its way at the
    cut is four times the memory of the run. Nobody waits for memory that the cut keeps."""
    sender = python_code("sender", """
        instance = Instance({Operator.O_I: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            first = instance.load_snapshot().data if instance.resuming() else 0
            instance.should_init()
            for number in range(first, 260):
                instance.send("out", Message(0.001 * number, None, np.full(1 << 17, number)))
                if instance.should_save_snapshot(0.001 * number if number < 256 else 10.0):
                    instance.save_snapshot(Message(10.0, None, number + 1))
            if instance.should_save_final_snapshot():
                instance.save_final_snapshot(Message(10.0, None, 260))
    """)
    receiver = python_code("receiver", """
        instance = Instance({Operator.S: ["in"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            first = instance.load_snapshot().data if instance.resuming() else 0
            instance.should_init()
            for number in range(first, 260):
                data = instance.receive("in").data
                assert data.shape == (1 << 17,) and (data == number).all()
                if instance.should_save_snapshot(1.0 * number):
                    instance.save_snapshot(Message(1.0 * number, None, number + 1))
            if instance.should_save_final_snapshot():
                instance.save_final_snapshot(Message(260.0, None, 260))
        open("end.txt", "w").write(str(number))
    """)
    model = f"""
ymmsl_version: v0.2
models:
  drift:
    components:
      sender: {{ports: {{o_i: out}}, implementation: sender}}
      receiver: {{ports: {{s: in}}, implementation: receiver}}
    conduits: {{sender.out: receiver.in}}
programs:
  sender: {sender}
  receiver: {receiver}
ligament: {{memory: 64 MiB, budget: 8 MiB}}
"""
    saved = start(model + "checkpoints: {simulation_time: [{at: [5.0]}]}\n")
    assert saved.status == 0 and saved.end("receiver") == "259", saved.text
    assert len(saved.checkpoints()) == 1, saved.text
    resumed = start(model, saved.resume_file(1))
    assert resumed.status == 0 and resumed.end("receiver") == "259", resumed.text
