"""A run that resumes from a checkpoint ends as the undisturbed one, bit for bit."""

import pytest
from conftest import CALLS, PEERS, implementations

KEEP = "ligament: {checkpoints: {keep: 100}}\n"


def calls(micro="micro"):
    return CALLS.replace("MICRO", micro) + implementations("macro", micro)


def peers(lead=0):
    return PEERS.replace("LEAD", str(lead)) + implementations("peer")


def every(time, extra=""):
    return f"checkpoints: {{simulation_time: [{{every: {time}}}]{extra}}}\n" + KEEP


@pytest.mark.parametrize("micro", ["micro", "stateless"])
@pytest.mark.parametrize("time", [1.0, 2.5, 0.3])
def test_calls_of_a_micro_model(start, micro, time):
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


@pytest.mark.parametrize("lead", [0, 1, 3])
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
