"""No message of one pass comes into the next, and times that a code adds up count as those of the clock."""

import pytest

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      mac: {{ports: {{o_i: [one, two]}}, implementation: mac}}
      a: {{ports: {{f_init: begin, o_i: x}}, implementation: a}}
      b: {{ports: {{f_init: begin, s: y}}, implementation: b}}
    conduits: {{mac.one: a.begin, mac.two: b.begin, a.x: b.y}}
programs: {{mac: {mac}, a: {a}, b: {b}}}
ligament:
  ticks: {{a: {tick}{b_tick}}}
  exchange: {{a.x -> b.y: {exchange}}}
{more}"""

MAC = """
instance = Instance({Operator.O_I: ["one", "two"]})
while instance.reuse_instance():
    for number in range(3):
        for port in ("one", "two"):
            instance.send(port, Message(float(number)))
"""

# Sample k of pass p has the value 100 p + k.
A = """
import numpy as np
instance = Instance({{Operator.F_INIT: ["begin"], Operator.O_I: ["x"]}})
one_pass = 0
while instance.reuse_instance():
    instance.receive("begin")
    {map}
    for k in range({ticks}):
        {send}
        instance.tick()
    one_pass += 1
"""
SAMPLE = 'instance.send("x", Message(instance.time(), data=np.array([100.0 * one_pass + k])))'

B = """
instance = Instance({{Operator.F_INIT: ["begin"], Operator.S: ["y"]}})
one_pass = 0
while instance.reuse_instance():
    instance.receive("begin")
    instance.map_range("y", 0, 1)
    seen = []
    for k in range({ticks}):
        {receive}
        instance.tick()
    {after}
    print(*seen)
    one_pass += 1
"""
RECEIVE = 'seen.append(int(instance.receive("y").data[0]))'


@pytest.fixture
def passes(run, python_program):
    """Runs three passes of a signal; returns what the receiver has seen in each."""

    def passes(sender_ticks, receiver_ticks, after="pass", more="", receive=RECEIVE):
        a = A.format(map='instance.map_range("x", 0, 1)', ticks=sender_ticks, send=SAMPLE)
        done = run(MODEL.format(
            mac=python_program("mac", MAC), a=python_program("a", a),
            b=python_program("b", B.format(ticks=receiver_ticks, receive=receive, after=after)),
            tick="1 ms", b_tick=", b: 1 ms", exchange="{signal: [1], delay: 0 ms}", more=more), "--overcommit")
        assert done.status == 0, done.text
        return [[int(value) for value in line.split()] for line in done.file("b", "output*.log").splitlines()]

    return passes


# Each check takes in a sample that the code does not receive.
@pytest.mark.parametrize("after", [
    'while not instance.poll("y"): pass',
    'assert instance.has_next("y")',
    'assert instance.wait_any(["y"]) == "y"',
])
def test_a_look_at_a_signal_keeps_nothing_for_the_next_pass(passes, after):
    assert passes(6, 3, after) == [[0, 1, 2], [100, 101, 102], [200, 201, 202]]


def test_a_signal_has_a_next_value_as_long_as_its_sender_goes_on(passes):
    receive = 'seen.append(int(instance.has_next("y")))'
    assert passes(4, 6, receive=receive) == [[1, 1, 1, 1, 0, 0]] * 3


@pytest.mark.parametrize("filters, ticks, first", [
    ("{every: 2}", "one_pass + 1", [0, 100, 200]),
    ("{block_until: 0.002}", "1", [2, 102, 202]),
])
def test_a_filter_begins_anew_in_each_pass(passes, filters, ticks, first):
    seen = passes(9, ticks, more=f"  filters: {{a.x -> b.y: [{filters}, {{multiply: 1}}]}}\n")
    assert [values[0] for values in seen] == first, seen


def test_a_second_sample_of_a_tick_is_refused(run, python_program):
    a = A.format(map='instance.map_range("x", 0, 1)', ticks=3, send=f"{SAMPLE}; {SAMPLE}")
    done = run(MODEL.format(mac=python_program("mac", MAC), a=python_program("a", a),
                            b=python_program("b", B.format(ticks=3, receive=RECEIVE, after="pass")),
                            tick="1 ms", b_tick=", b: 1 ms", exchange="{signal: [1], delay: 0 ms}", more=""),
               "--overcommit")
    assert done.status != 0 and 'port "x" has a sample of the time 0 already' in done.text, done.text


def test_a_receiver_without_a_clock_sees_messages_only(run, python_program):
    """Sender and receiver take turns, so that a mark of the end of the sender's pass would be there."""
    mac = """
instance = Instance({Operator.O_I: ["one", "two"], Operator.S: ["done", "seen"]})
while instance.reuse_instance():
    for number in range(3):
        instance.send("one", Message(float(number)))
        instance.receive("done")
        instance.send("two", Message(float(number)))
        instance.receive("seen")
"""
    a = A.format(map="pass", ticks=2, send='instance.insert_event("x", instance.time(), k)')
    a = a.replace('Operator.O_I: ["x"]', 'Operator.O_I: ["x"], Operator.O_F: ["done"]')
    a = a.replace("    one_pass += 1", '    instance.send("done", Message(0.0))')
    b = """
instance = Instance({Operator.F_INIT: ["begin"], Operator.S: ["y"], Operator.O_F: ["seen"]})
while instance.reuse_instance():
    instance.receive("begin")
    print(sum(len(instance.receive("y").data["ids"]) for _ in range(2)), instance.poll("y"))
    instance.send("seen", Message(0.0))
"""
    text = MODEL.format(mac=python_program("mac", mac), a=python_program("a", a), b=python_program("b", b),
                        tick="1 ms", b_tick="", exchange="{events: 4, latency: 1 ms}", more="")
    text = text.replace("o_i: [one, two]", "o_i: [one, two], s: [done, seen]")
    text = text.replace("o_i: x", "o_i: x, o_f: done").replace("s: y", "s: y, o_f: seen")
    text = text.replace("a.x: b.y}", "a.x: b.y, a.done: mac.done, b.seen: mac.seen}")
    done = run(text, "--overcommit")
    assert done.status == 0, done.text
    # In the last pass, the sender may have ended.
    assert done.file("b", "output*.log").splitlines()[:2] == ["2 False"] * 2


def test_a_clock_that_is_used_before_the_loop_is_refused(run, python_program):
    a = A.format(map="pass", ticks=2, send='instance.insert_event("x", instance.time(), k)')
    a = a.replace("one_pass = 0", "one_pass = 0\ninstance.insert_event('x', 0.0, 0)\ninstance.tick()", 1)
    b = B.format(ticks=2, receive='instance.events("y")', after="pass")
    done = run(MODEL.format(mac=python_program("mac", MAC), a=python_program("a", a), b=python_program("b", b),
                            tick="1 ms", b_tick=", b: 1 ms", exchange="{events: 4, latency: 1 ms}", more=""),
               "--overcommit")
    assert done.status != 0 and "the clock was used before the first reuse_instance" in done.text, done.text


PAIR = """ymmsl_version: v0.2
models:
  m:
    components:
      a: {{ports: {{o_i: x}}, implementation: a}}
      b: {{ports: {{s: y}}, implementation: b}}
    conduits: {{a.x: b.y}}
programs: {{a: {a}, b: {b}}}
ligament:
  time_unit: {unit}
  ticks: {{a: {tick}, b: {tick}}}
  exchange: {{a.x -> b.y: {exchange}}}
"""


@pytest.mark.parametrize("unit, tick, step, ticks", [("ms", "0.1 ms", 0.1, 20000), ("d", "2.4 h", 0.1, 2000)])
def test_events_at_added_up_times_come_at_the_tick_of_their_time(run, python_program, unit, tick, step, ticks):
    a = f"""
instance = Instance({{Operator.O_I: ["x"]}})
while instance.reuse_instance():
    time = 0.0
    for k in range({ticks}):
        instance.insert_event("x", time, 2 * k)       # at the present
        time += {step}
        instance.insert_event("x", time, 2 * k + 1)   # at the next tick
        instance.tick()
"""
    b = f"""
instance = Instance({{Operator.S: ["y"]}})
while instance.reuse_instance():
    for k in range(1, {ticks}):
        instance.tick()
        ids = sorted(instance.events("y")[1].tolist())
        assert ids == ([0] if k == 1 else [2 * k - 3, 2 * k - 2]), (k, ids)
    print("all")
"""
    done = run(PAIR.format(a=python_program("a", a), b=python_program("b", b), unit=unit, tick=tick,
                           exchange=f"{{events: 100000, latency: {tick}}}"), "--overcommit")
    assert done.status == 0 and done.file("b", "output.log") == "all\n", done.text


def test_samples_at_added_up_times_are_those_of_their_tick(run, python_program):
    a = """
import numpy as np
instance = Instance({Operator.O_I: ["x"]})
while instance.reuse_instance():
    instance.map_range("x", 0, 1)
    time = 0.0
    for k in range(2000):
        instance.send("x", Message(time, data=np.array([float(k)])))
        time += 0.1
        instance.tick()
"""
    b = """
instance = Instance({Operator.S: ["y"]})
while instance.reuse_instance():
    instance.map_range("y", 0, 1)
    for k in range(2000):
        assert instance.receive("y").data[0] == k
        instance.tick()
    print("all")
"""
    done = run(PAIR.format(a=python_program("a", a), b=python_program("b", b), unit="d", tick="2.4 h",
                           exchange="{signal: [1], delay: 0 ms}"), "--overcommit")
    assert done.status == 0 and done.file("b", "output.log") == "all\n", done.text
