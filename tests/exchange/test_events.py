"""Events that a code inserts and reads, and the errors for impossible ones."""

import json
import subprocess
import time

import pytest
from slow_cases import slow

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      nest: {{ports: {{o_i: spikes}}, implementation: nest}}
      neuron: {{ports: {{s: input}}, implementation: neuron}}
    conduits: {{nest.spikes: neuron.input}}
programs: {{nest: {nest}, neuron: {neuron}}}
ligament:
  ranks: {{nest: 2, neuron: 2}}
  ticks: {{nest: 5 ms{tick}}}
  exchange: {{nest.spikes -> neuron.input: {{events: 100, latency: 5 ms}}}}
{extra}"""

NEST = """
import numpy as np
instance = Instance({{Operator.O_I: ["spikes"]}})
while instance.reuse_instance():
    for k in range(4):
        now = instance.time()
        instance.insert_events("spikes", [now, now + {in_ms}], np.array([10 * k, 10 * k + 1 + instance.rank]))
        {more}
        instance.tick()
"""

NEURON = """
instance = Instance({{Operator.S: ["input"]}})
while instance.reuse_instance():
    {map}
    for k in range(4):
        instance.tick()
        {read}
"""
READ = 'print(round(instance.time(), 9), *sorted(instance.events("input")[1].tolist()))'


def models(python_program, more="pass", map="pass", read=READ, tick=", neuron: 5 ms", extra="", in_ms="0.001"):
    return MODEL.format(nest=python_program("nest", NEST.format(more=more, in_ms=in_ms)),
                        neuron=python_program("neuron", NEURON.format(map=map, read=read)), tick=tick,
                        extra=extra)


def routed(text, routing):
    return text.replace("latency: 5 ms}", f"latency: 5 ms, routing: {routing}}}")


@pytest.mark.parametrize("map, wanted", [
    ("pass", range(100)),
    ('instance.map_range("input", 5, 25)', range(5, 25)),
    ('instance.map_block("input", [10], [3])', range(10, 13)),
    ('instance.map_list("input", [31, 0, 22, 12])', {0, 12, 22, 31}),
    ('instance.map_list("input", [])', ()),
])
@pytest.mark.parametrize("routing", ["shared", "pairwise"])
def test_a_rank_gets_the_ids_that_it_wants(run, python_program, routing, map, wanted):
    done = run(routed(models(python_program, map=map), routing), "--overcommit")
    assert done.status == 0, done.text
    for rank in range(2):
        seen = done.file("neuron", f"output.{rank}.log").splitlines()
        for k, line in enumerate(seen):
            ids = sorted(i for i in [10 * k, 10 * k, 10 * k + 1, 10 * k + 2] if i in wanted)
            assert line.split() == [str(round(0.005 * (k + 1), 9)), *map_str(ids)], line


def map_str(numbers):
    return [str(number) for number in numbers]


@pytest.mark.parametrize("more, told", [
    ('instance.insert_event("spikes", now, 100)', "has the id 100, and the model gives the conduit ids from 0"),
    ('instance.insert_event("spikes", now, -1)', "has the id -1"),
    ('instance.insert_event("spikes", now, 2**40)', "has the id 1099511627776"),
    ('instance.insert_events("spikes", [now], [2**40])', "has the id 1099511627776"),
    ('instance.insert_event("spikes", float("nan"), 1)', "has the time NaN"),
    ('instance.insert_event("spikes", now - 0.001, 1)', "those of this tick have times from"),
    ('instance.insert_event("spikes", now + 0.006, 1)', "those of this tick have times from"),
    ('instance.insert_events("spikes", [now], [1, 2])', "n times and n integers"),
    ('instance.insert_events("spikes", [now], [1.5])', "n times and n integers"),
    ('instance.send("spikes", Message(now, data=1))', "carries events, and no messages of the code"),
    ('instance.map_range("spikes", 0, 200)', "the range is from 0 to 200"),
    ('instance.map_range("spikes", 50, 60)\n        instance.insert_event("spikes", now, 3)', "has given to"),
])
def test_an_event_that_cannot_be_is_refused_and_named(run, python_program, more, told):
    done = run(models(python_program, more=more), "--overcommit")
    assert done.status != 0 and told in done.text and "Traceback" not in done.text.split("nest:0")[0], done.text
    assert "spikes" in done.text


def test_an_event_at_the_next_tick_belongs_to_the_next_exchange(run, python_program):
    done = run(models(python_program, in_ms="0.005", read="t, i = instance.events('input'); "
                      "print(*sorted(zip(t.tolist(), i.tolist())))"), "--overcommit")
    assert done.status == 0, done.text
    first, second, *_ = done.file("neuron", "output.0.log").splitlines()
    assert first == "(0.0, 0) (0.0, 0)"
    assert second == "(0.005, 1) (0.005, 2) (0.005, 10) (0.005, 10)"


def test_events_that_nobody_reads_are_named_at_the_next_tick(run, python_program):
    done = run(models(python_program, read="pass"), "--overcommit")
    assert done.status != 0 and 'port "input" has events that were not read' in done.text, done.text


def test_a_component_without_a_tick_receives_batches_as_messages(run, python_program):
    neuron = """
instance = Instance({Operator.S: ["input[]"]})
while instance.reuse_instance():
    for k in range(4):
        for slot in range(2):
            message = instance.receive("input", slot)
            times, ids = message.data["times"].tolist(), message.data["ids"].tolist()
            print(message.timestamp, message.next_timestamp, times, ids)
"""
    text = models(python_program, tick="").replace("neuron: 2}", "neuron: 1}")
    python_program("neuron", neuron)
    done = run(text, "--overcommit")
    assert done.status == 0, done.text
    lines = done.file("neuron", "output*.log").splitlines()
    assert lines[0] == "0.0 0.005 [0.0, 0.001] [0, 1]", lines
    assert lines[3] == "0.005 0.01 [0.005, 0.006] [10, 12]", lines


def test_times_are_in_the_unit_of_the_model(run, python_program):
    done = run(models(python_program, in_ms="1.0", extra="  time_unit: ms\n",
                      read="print(instance.time(), *instance.events('input')[0].tolist())"), "--overcommit")
    assert done.status == 0, done.text
    assert done.file("neuron", "output.1.log").splitlines()[0] == "5.0 0.0 1.0 0.0 1.0"


@pytest.mark.parametrize("change, told", [
    (("5 ms, neuron", "0.3 ns, neuron"), "it is no whole number of nanoseconds"),
    (("5 ms, neuron", "5, neuron"), "it is no number with a unit of time"),
    (("{nest: 5 ms, neuron: 5 ms}", "{neuron: 5 ms}"), '"nest" sends "nest.spikes -> neuron.input" by its'),
    (("events: 100", "events: 3000000000"), "at most 2147483647 different ids"),
    (("latency: 5 ms", "delay: 5 ms"), 'an exchange with "events" has no "delay"'),
    (("nest: 5 ms", "nset: 5 ms"), "there is no such component"),
    (("latency: 5 ms", "latency: 5 ms, routing: direct"), 'use one of: shared, pairwise'),
    (("events: 100, latency: 5 ms", "signal: [4], delay: 9 ms, routing: pairwise"), 'no "routing"'),
])
def test_a_clock_that_cannot_be_is_refused_before_the_run(run, python_program, change, told):
    text = models(python_program)
    assert change[0] in text
    done = run(text.replace(*change))
    assert done.status == 2 and told in done.text, done.text


def test_a_tap_shows_batches_while_the_run_goes_on(python_program, ligament, tmp_path):
    """The tap shows what a component without a clock would receive. The sender goes on until the tap has shown
    it."""
    seen = tmp_path / "seen"
    wait = f"import os, time; time.sleep(0.02); stop = os.path.exists({str(seen)!r})"
    text = models(python_program, more=wait)
    body = NEST.format(more=wait, in_ms="0.001").replace("range(4)", "range(3000)")
    body = body.replace("10 * k", "10 * k % 90")
    body = body.replace("        instance.tick()", "        instance.tick()\n        if stop: break")
    python_program("nest", body)
    file, directory = tmp_path / "tapped.ymmsl", tmp_path / "tapped"
    file.write_text(text)
    going = subprocess.Popen([ligament, "run", str(file), "--run-dir", str(directory), "--overcommit"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    shown = None
    # The first attempts may come before the run is under way.
    while going.poll() is None and (shown is None or shown.returncode != 0):
        time.sleep(0.05)
        shown = subprocess.run([ligament, "tap", str(directory), "nest.spikes", "--json", "--once"],
                               capture_output=True, text=True, timeout=60)
    seen.touch()
    output, _ = going.communicate(timeout=60)
    assert going.returncode == 0, output
    assert shown.returncode == 0, shown.stdout
    assert "times" in json.dumps(json.loads(shown.stdout.splitlines()[0])), shown.stdout


DIES = "__import__('os').kill(__import__('os').getpid(), 9)"


# Each case: the line before which a rank ends itself, and the condition under which it does.
@pytest.mark.parametrize("before, when", [
    ("    for k in range(4):", "instance.rank == 1"),
    ("        instance.tick()", "instance.rank == k == 1"),
    ("while instance.reuse_instance():", None),
])
@pytest.mark.parametrize("routing, side", [
    ("shared", "nest"), ("pairwise", "neuron"), *slow(("shared", "neuron"), ("pairwise", "nest"))])
def test_a_rank_that_is_killed_ends_the_run_and_is_named(run, python_program, routing, side, before, when):
    text = routed(models(python_program), routing)
    bodies = {"nest": NEST.format(more="pass", in_ms="0.001"), "neuron": NEURON.format(map="pass", read=READ)}
    body = bodies[side]
    assert before in body
    if when:
        space = " " * (len(before) - len(before.lstrip()))
        body = body.replace(before, f"{space}if {when}:\n{space}    {DIES}\n{before}")
    else:
        # The event comes after the last tick, when the code asks for the next pass.
        body = body.replace(before, before[:-1] + f" or instance.rank == 1 and {DIES}:")
    python_program(side, body)
    done = run(text, "--overcommit")
    assert done.status != 0 and f"{side}:1" in done.text and "SIGKILL" in done.text, done.text


def test_a_component_of_an_exchange_cannot_be_recorded(ligament, python_program, tmp_path):
    file = tmp_path / "recorded.ymmsl"
    file.write_text(models(python_program).replace("nest: 2, neuron: 2", "neuron: 2"))
    command = [ligament, "play", "case.yaml", "--record", str(file), "--instance", "nest"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and 'takes part in an exchange on its port "spikes"' in done.stderr, done.stderr
