"""Signals: at its clock c, a receiver reads the value that the sender had at c minus the delay of the
conduit."""

import pytest

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      neuron: {{ports: {{o_i: rate}}, implementation: neuron}}
      robot: {{ports: {{s: drive}}, implementation: robot}}
    conduits: {{neuron.rate: robot.drive}}
programs: {{neuron: {neuron}, robot: {robot}}}
ligament:
  ranks: {{neuron: {senders}, robot: {receivers}}}
  ticks: {{neuron: {sender_tick}, robot: {receiver_tick}}}
  exchange: {{neuron.rate -> robot.drive: {{signal: [6], delay: {delay}{more}}}}}
{extra}"""

# Element i has the value (i + 1) · t² at the time t (ms), so that a line between samples is no exact value.
NEURON = """
import numpy as np
instance = Instance({{Operator.O_I: ["rate"]}})
while instance.reuse_instance():
    mine = slice(6 * instance.rank // {senders}, 6 * (instance.rank + 1) // {senders})
    instance.map_range("rate", mine.start, mine.stop)
    for _ in range({steps}):
        ms = round(instance.time() * 1e3, 6)
        part = (np.arange(1.0, 7.0) * ms**2)[mine].astype("{dtype}")
        instance.send("rate", Message(instance.time(), data=part))
        instance.tick()
"""

ROBOT = """
import numpy as np
instance = Instance({{Operator.S: ["drive"]}})
while instance.reuse_instance():
    wanted = np.arange(6)[instance.rank::{receivers}]
    instance.map_list("drive", wanted)
    for step in range({steps}):
        if step % 2:
            into = np.empty(len(wanted), dtype="{dtype}")
            instance.receive_into("drive", into)
        else:
            into = instance.receive("drive").data
        print(round(instance.time() * 1e3, 6), *(float(value).hex() for value in into))
        assert (instance.receive("drive").data == into).all(), "a second look gives the same"
        instance.tick()
"""


def value(ms, tick, delay, interpolation):
    """The square that the receiver must have at the time `ms`."""
    at = ms - delay
    if at <= 0:
        return 0.0
    before = at // tick * tick
    if before == at:
        return at**2
    after = before + tick
    if interpolation == "nearest":
        return before**2 if at - before < after - at else after**2
    share = (at - before) / (after - before)
    return before**2 * (1 - share) + after**2 * share


@pytest.mark.parametrize("senders, receivers, tick, other, delay, interpolation, dtype", [
    (1, 1, 1, 1, 0, "linear", "float64"),
    (1, 1, 2, 1, 4, "linear", "float64"),
    (2, 3, 2, 1, 3, "linear", "float64"),
    (3, 2, 1, 2, 1.5, "linear", "float32"),
    (2, 1, 2, 1, 4, "nearest", "float64"),
    (1, 2, 4, 1, 5, "nearest", "int32"),
])
def test_the_receiver_has_the_value_of_a_delay_ago(run, python_program, senders, receivers, tick, other, delay,
                                                   interpolation, dtype):
    steps = 8
    neuron = NEURON.format(senders=senders, steps=1 + steps * other // tick, dtype=dtype)
    robot = ROBOT.format(receivers=receivers, steps=steps, dtype=dtype)
    done = run(MODEL.format(neuron=python_program("neuron", neuron), robot=python_program("robot", robot),
                            senders=senders, receivers=receivers, sender_tick=f"{tick} ms",
                            receiver_tick=f"{other} ms", delay=f"{delay} ms",
                            more=f", interpolation: {interpolation}", extra=""), "--overcommit")
    assert done.status == 0, done.text
    for rank in range(receivers):
        # One rank that `ranks` names has a number, too.
        lines = done.file("robot", f"output.{rank}.log" if receivers > 1 else "output*.log").splitlines()
        assert len(lines) == steps
        for number, line in enumerate(lines):
            at, *seen = line.split()
            assert float(at) == number * other
            expected = value(number * other, tick, delay, interpolation)
            close = pytest.approx(expected, rel=1e-6 if dtype == "float32" else 1e-12)
            for element, got in zip(range(rank, 6, receivers), seen):
                assert float.fromhex(got) / (element + 1) == close, (rank, number, line)


def test_filters_work_on_a_signal_and_not_on_events(run, python_program):
    neuron = python_program("neuron", NEURON.format(senders=1, steps=9, dtype="float64"))
    robot = python_program("robot", ROBOT.format(receivers=1, steps=8, dtype="float64"))
    filters = "  filters: {neuron.rate -> robot.drive: [{multiply: 2}]}\n"
    text = MODEL.format(neuron=neuron, robot=robot, senders=1, receivers=1, sender_tick="1 ms",
                        receiver_tick="1 ms", delay="0 ms", more="", extra=filters)
    done = run(text, "--overcommit")
    assert done.status == 0, done.text
    last = done.file("robot", "output*.log").splitlines()[-1].split()
    assert float.fromhex(last[1]) == 2 * 7.0**2
    done = run(text.replace("{signal: [6], delay: 0 ms}", "{events: 6}"))
    assert done.status == 2 and "carries parts of an array or events, and has filters" in done.text, done.text


def test_a_signal_that_ends_before_its_receiver_is_an_error(run, python_program):
    neuron = python_program("neuron", NEURON.format(senders=1, steps=3, dtype="float64"))
    robot = python_program("robot", ROBOT.format(receivers=1, steps=8, dtype="float64"))
    done = run(MODEL.format(neuron=neuron, robot=robot, senders=1, receivers=1, sender_tick="1 ms",
                            receiver_tick="1 ms", delay="0 ms", more="", extra=""), "--overcommit")
    assert done.status != 0 and "signal-over" in done.text and "neuron:0.rate" in done.text, done.text


def test_integers_have_no_line_between_them(run, python_program):
    neuron = python_program("neuron", NEURON.format(senders=1, steps=9, dtype="int32"))
    robot = python_program("robot", ROBOT.format(receivers=1, steps=8, dtype="int32"))
    done = run(MODEL.format(neuron=neuron, robot=robot, senders=1, receivers=1, sender_tick="2 ms",
                            receiver_tick="1 ms", delay="1 ms", more="", extra=""), "--overcommit")
    assert done.status != 0 and "interpolation: nearest" in done.text, done.text
