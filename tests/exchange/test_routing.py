"""Events that the sender sorts by receiver: the errors, and the receivers that get all events."""

import json
import subprocess
import time

import pytest

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      nest: {{ports: {{o_i: spikes, o_f: over}}, implementation: nest}}
      neuron: {{ports: {{s: [input, word]}}, implementation: neuron}}
      raster: {{ports: {{s: [input]}}, implementation: raster}}
    conduits: {{nest.spikes: [neuron.input, raster.input]{word}}}
programs: {{nest: {nest}, neuron: {neuron}, raster: {raster}}}
ligament:
  ranks: {{neuron: 2}}
  ticks: {{nest: 5 ms, {tick}}}
  exchange:
    nest.spikes -> neuron.input: {{events: 100, latency: 5 ms, routing: pairwise}}
    nest.spikes -> raster.input: {{events: 100, latency: 5 ms}}
"""
NEST = """
instance = Instance({Operator.O_I: ["spikes"], Operator.O_F: ["over"]})
while instance.reuse_instance():
    for k in range(4):
        for id in range(10):
            instance.insert_event("spikes", instance.time() + 0.0001 * id, 10 * k + id)
        MORE
        instance.tick()
    instance.send("over", Message(1.0, data=1))
"""
NEURON = """
instance = Instance({Operator.S: ["input", "word"]})
while instance.reuse_instance():
    instance.map_list("input", [id for id in range(100) if id % 3 == instance.rank])
    BEFORE
    for k in range(4):
        instance.tick()
        print(*sorted(instance.events("input")[1].tolist()))
        MORE
"""
RASTER = """
instance = Instance({Operator.S: ["input"]})
while instance.reuse_instance():
    for k in range(4):
        print(*instance.receive("input").data["ids"].tolist())
"""


def models(python_program, nest="pass", before="pass", more="pass", tick="neuron: 5 ms", word=""):
    programs = {"nest": NEST.replace("MORE", nest), "raster": RASTER,
                "neuron": NEURON.replace("BEFORE", before).replace("MORE", more)}
    return MODEL.format(tick=tick, word=word,
                        **{name: python_program(name, body) for name, body in programs.items()})


def test_a_receiver_of_messages_gets_all_events_and_ranks_get_theirs(run, python_program):
    done = run(models(python_program), "--overcommit")
    assert done.status == 0, done.text
    ids = [list(range(10 * k, 10 * k + 10)) for k in range(4)]
    assert [line.split() for line in done.file("raster", "output.log").splitlines()] == [
        [str(id) for id in batch] for batch in ids]
    for rank in range(2):
        assert [line.split() for line in done.file("neuron", f"output.{rank}.log").splitlines()] == [
            [str(id) for id in batch if id % 3 == rank] for batch in ids]


def test_a_rank_without_a_tick_has_no_ids_that_it_wants(run, python_program):
    done = run(models(python_program, tick="raster: 5 ms"))
    why = '"neuron" is to get the events that it wants, and has no tick'
    assert done.status == 2 and why in done.text, done.text


def test_another_map_after_the_first_tick_is_refused(run, python_program):
    done = run(models(python_program, more='instance.map_range("input", 0, 5)'), "--overcommit")
    assert done.status != 0 and "call map before the first tick of a pass" in done.text, done.text
    assert 'port "input"' in done.text


def test_a_receiver_that_never_ticks_is_named(run, python_program):
    """The rank waits for a message that its sender sends only after the first exchange, for which this rank has
    not sent its ids."""
    text = models(python_program, before='instance.receive("word")', word=", nest.over: neuron.word")
    text = text.replace("  exchange:", "  exchange:\n    nest.over -> neuron.word: {messages: all}")
    done = run(text, "--overcommit")
    assert done.status != 0 and "deadlock" in done.text, done.text
    assert "neuron:0.input" in done.text and "nest.over" in done.text, done.text


def test_a_receiver_that_ends_before_its_first_tick_holds_up_nobody(run, python_program):
    done = run(models(python_program, before="break"), "--overcommit")
    assert done.status == 0, done.text
    assert len(done.file("raster", "output.log").split()) == 40


def test_a_tap_sees_all_events(python_program, ligament, tmp_path):
    seen = tmp_path / "seen"
    wait = f"import os, time; time.sleep(0.02); k = 4 if os.path.exists({str(seen)!r}) else 0"
    nest = NEST.replace("for k in range(4):", "k = 0\n    while k < 4:").replace("MORE", wait)
    text = models(python_program)
    python_program("nest", nest)
    for name in ("neuron", "raster"):
        body = {"neuron": NEURON, "raster": RASTER}[name].replace("BEFORE", "pass").replace("MORE", "pass")
        body = body.replace("for k in range(4):", "while instance.has_next('input'):" if name == "raster"
                            else "for k in range(100000):\n        if instance.time() > 0 and stop(): break")
        python_program(name, f"import os\nstop = lambda: os.path.exists({str(seen)!r})\n" + body)
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
    value = json.dumps(json.loads(shown.stdout.splitlines()[0]))
    assert "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" in value, value
