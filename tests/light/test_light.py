"""Light components in coupled runs: among themselves, with ordinary processes, and with faults."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent

MACRO = """
import numpy as np
instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]})
n, steps = instance.get_port_length("out"), instance.get_setting("steps", "int")
while instance.reuse_instance():
    for step in range(steps):
        for slot in range(n):
            instance.send("out", Message(step, None, np.arange(700.0) + slot * step), slot)
        for slot in range(n):
            answer = instance.receive("in", slot)
            assert answer.timestamp == step, answer
            assert np.array_equal(answer.data, 2 * (np.arange(700.0) + slot * step) + slot), (step, slot)
print("all answers are right")
"""


def scattered(macro, micro, *, micros=7, steps=20, light="[micro]", settings=""):
    return f"""ymmsl_version: v0.1
model:
  name: scattered
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
    micro: {{implementation: micro, multiplicity: {micros}, ports: {{f_init: in, o_f: out}}}}
  conduits:
    macro.out: micro.in
    micro.out: macro.in
settings:
  steps: {steps}
{settings}
implementations:
  macro: {macro}
  micro: {micro}
ligament:
  light: {light}
"""


def ring(program, names, *, steps=10, settings="", conduits=None):
    components = "\n".join(f"    {n}: {{implementation: walker, ports: {{o_i: out, s: in}}}}" for n in names)
    pairs = conduits or list(zip(names, names[1:] + names[:1]))
    conduits = "\n".join(f"    {a}.out: {b}.in" for a, b in pairs)
    starts = "\n".join(f"  {name}.start: {100 * i}" for i, name in enumerate(names))
    return f"""ymmsl_version: v0.1
model:
  name: ring
  components:
{components}
  conduits:
{conduits}
settings:
  steps: {steps}
{starts}
{settings}
implementations:
  walker: {program}
ligament:
  light: walker
"""


@pytest.fixture
def parts(compile_c):
    return compile_c(HERE / "parts.c")


def output(ran, program):
    return (ran.directory / "light" / program / "output.log").read_text()


def in_c(parts, role):
    return f"{{executable: {parts}, args: [{role}]}}"


def record(ran):
    return json.loads((ran.directory / "run.json").read_text())


def test_a_ring_in_one_process_passes_every_number_on(run, parts):
    names = [f"c{i}" for i in range(5)]
    ran = run(ring(in_c(parts, "walker"), names, steps=12))
    assert ran.status == 0, ran.text
    printed = output(ran, "walker")
    for i, name in enumerate(names):
        assert f"{name} ends at {100 * ((i - 12) % 5) + 12}" in printed
    assert "made 5, released 5" in printed
    instances = record(ran)["instances"]
    assert len({one["pid"] for one in instances}) == 1
    assert all((one["state"], one["sent_messages"], one["received_messages"]) == ("done", 12,
                                                                                  12) for one in instances)


def test_one_component_may_send_to_itself(run, parts):
    ran = run(ring(in_c(parts, "walker"), ["only"], steps=3))
    assert ran.status == 0, ran.text
    assert "only ends at 3" in output(ran, "walker")


@pytest.mark.parametrize("light", ["[micro]", "[]"])
def test_an_ordinary_macro_model_works_with_light_micro_models_and_the_same_program_without(
    light, run, parts, python_program
):
    ran = run(scattered(python_program("macro", MACRO), in_c(parts, "micro"), light=light))
    assert ran.status == 0, ran.text
    pids = {one["pid"] for one in record(ran)["instances"]}
    assert len(pids) == (2 if light == "[micro]" else 8)


def test_two_light_programs_talk_to_each_other(run, parts):
    model = ring(in_c(parts, "walker"), ["a", "b", "c", "d"], steps=9)
    model = model.replace("b: {implementation: walker", "b: {implementation: other")
    model = model.replace("d: {implementation: walker", "d: {implementation: other")
    model = model.replace("implementations:\n", f"implementations:\n  other: {in_c(parts, 'walker')}\n")
    ran = run(model.replace("light: walker", "light: [walker, other]"))
    assert ran.status == 0, ran.text
    printed = output(ran, "walker") + output(ran, "other")
    for i, name in enumerate("abcd"):
        assert f"{name} ends at {100 * ((i - 9) % 4) + 9}" in printed


def test_an_error_of_one_ends_the_run_with_its_name_and_its_reason(run, parts, python_program):
    model = scattered(
        python_program("macro", MACRO), in_c(parts, "micro"), settings='  fails: "micro[3]"'
    )
    ran = run(model)
    assert ran.status == 1, ran.text
    assert "micro[3] reported an error: the lattice has melted" in ran.text
    assert record(ran)["reason"].startswith("micro[3] reported an error: the lattice has melted")


def test_a_second_receive_in_one_step_says_what_to_do(run, parts):
    ran = run(ring(in_c(parts, "walker"), ["a", "b"], settings="  fails: b"))
    assert ran.status == 1, ran.text
    assert 'b reported an error: receiving on port "in" from a.out: nothing has come' in ran.text
    assert "Receive once on each port in a step" in ran.text


@pytest.mark.parametrize("ordinary", [None, "c"])
def test_a_deadlock_of_light_components_is_named(ordinary, run, parts):
    model = ring(in_c(parts, "walker"), ["a", "b", "c"], settings="  mute: b")
    if ordinary:
        model = model.replace("c: {implementation: walker", "c: {implementation: other")
        model = model.replace("implementations:\n", f"implementations:\n  other: {in_c(parts, 'walker')}\n")
    ran = run(model)
    assert ran.status == 1, ran.text
    assert "deadlock: " in ran.text
    for waits, sends in ["ac", "ba", "cb"]:
        assert f"{waits} waits at {waits}.in for a message from {sends}.out" in ran.text


def test_a_killed_process_is_named_with_what_it_ran(ligament, parts, python_program, tmp_path):
    model = ring(in_c(parts, "walker"), ["a", "b", "c"], steps=1_000_000_000)
    (tmp_path / "model.ymmsl").write_text(model)
    run = subprocess.Popen(
        [ligament, "run", "model.ymmsl", "--run-dir", "here"], cwd=tmp_path, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        pid = None
        deadline = time.monotonic() + 60
        while pid is None:
            assert time.monotonic() < deadline and run.poll() is None
            asked = subprocess.run([ligament, "status", "here", "--json"], cwd=tmp_path, capture_output=True,
                                   text=True)
            instances = json.loads(asked.stdout).get("instances", []) if asked.returncode == 0 else []
            if instances and all(one["sent_messages"] > 0 for one in instances):
                pid = instances[0]["pid"]
        os.kill(pid, signal.SIGKILL)
        text, _ = run.communicate(timeout=60)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 1, text
    assert "was ended by signal SIGKILL" in text and "its process ran 2 other instances too" in text


def test_an_ordinary_program_cannot_be_light(run, python_program):
    lone = python_program("lone", 'instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})\n')
    ran = run(ring(lone, ["a", "b"]))
    assert ran.status == 1, ran.text
    assert "write it with run_light" in ran.text


def test_a_light_program_that_is_none_is_an_error_of_the_model(run, parts):
    model = ring(in_c(parts, "walker"), ["a", "b"]).replace("light: walker", "light: [walkr]")
    ran = run(model)
    assert ran.status == 2, ran.text
    assert 'did you mean "walker"?' in ran.text


def test_the_log_of_a_component_is_that_of_its_process(run, parts, ligament):
    ran = run(ring(in_c(parts, "walker"), ["a", "b"]))
    shown = subprocess.run([ligament, "logs", str(ran.directory), "b"], capture_output=True, text=True)
    assert shown.returncode == 0 and "b ends at" in shown.stdout, shown.stderr


def test_a_ring_in_cpp_adds_up(run, compile_cpp):
    program = f"{{executable: {compile_cpp(HERE / 'adder.cpp')}}}"
    ran = run(ring(program, ["a", "b", "c"], steps=4, settings='  fails: ""'))
    assert ran.status == 0, ran.text
    # Each begins with 1, and adds each number that it receives.
    assert output(ran, "walker").split("\n")[:3] == ["a: 15", "b: 15", "c: 15"]


def test_an_exception_in_cpp_ends_the_run_and_comes_out(run, compile_cpp):
    program = f"{{executable: {compile_cpp(HERE / 'adder.cpp')}}}"
    ran = run(ring(program, ["a", "b", "c"], settings="  fails: b"))
    assert ran.status == 1, ran.text
    assert "b reported an error: it does not add up" in ran.text
    assert "caught: it does not add up" in output(ran, "walker")


WALKER ="""
import logging
import numpy as np

class Walker(Submodel):
    def __init__(self, instance):
        self.name, self.steps = instance.name, instance.get_setting("steps", "int")
        self.value = {"number": instance.get_setting("start", "int"), "list": [1.5, "two", None]}

    def initialise(self, instance):
        self.step = 0

    def is_done(self):
        return self.step == self.steps

    def observe(self, instance):
        self.value["array"] = np.full((2, 3), float(self.value["number"]))
        instance.send("out", Message(self.step, self.step + 1.0, self.value))
        # A change by the sender afterwards is never seen.
        self.value["array"][:] = -1
        self.value["list"].append("changed")

    def solve(self, instance):
        message = instance.receive("in")
        assert (message.timestamp, message.next_timestamp) == (self.step, self.step + 1)
        data = message.data
        assert data["list"] == [1.5, "two", None], data
        assert np.array_equal(data["array"], np.full((2, 3), float(data["number"])))
        if self.name == instance.get_setting("fails", "str"):
            raise ValueError("walked into a wall")
        self.value = {"number": data["number"] + 1, "list": list(data["list"])}
        self.step += 1

    def observe_final(self, instance):
        logging.getLogger("walk").warning("%s ends at %d", instance.name, self.value["number"])

run_light(Walker)
"""


def test_a_ring_in_python_passes_values_on(run, python_program):
    names = [f"p{i}" for i in range(4)]
    ran = run(ring(python_program("walker", WALKER), names, steps=6, settings='  fails: ""'))
    assert ran.status == 0, ran.text
    for i, name in enumerate(names):
        assert f"{name}: walk: {name} ends at {100 * ((i - 6) % 4) + 6}" in ran.text


def test_an_exception_in_python_ends_the_run_with_its_name_and_its_place(run, python_program):
    ran = run(ring(python_program("walker", WALKER), ["a", "b"], settings="  fails: b"))
    assert ran.status == 1, ran.text
    assert "b reported an error: ValueError: walked into a wall (" in ran.text
    assert "Traceback" in output(ran, "walker")


LOANER = """
import numpy as np

class Loaner(Submodel):
    def __init__(self, instance):
        self.instance = instance

    def initialise(self, instance):
        self.done = False

    def is_done(self):
        return self.done

    def observe(self, instance):
        for slot in range(2):
            loan = instance.loan((100, 10))
            loan.array[:] = slot + 1
            instance.send_loan("out", 0.0, None, loan, slot=slot)

    def solve(self, instance):
        for slot in range(2):
            assert (instance.receive("in", slot=slot).data == slot + 1).all()
        self.done = True

    def observe_final(self, instance):
        pass

class Echo(Submodel):
    def __init__(self, instance):
        pass

    def initialise(self, instance):
        self.message = instance.receive("in")

    def is_done(self):
        return True

    observe = solve = None

    def observe_final(self, instance):
        instance.send("out", self.message)

run_light(lambda instance: Loaner(instance) if instance.name == "boss" else Echo(instance))
"""


def test_loans_and_vector_ports_work_between_components_of_one_process(run, python_program):
    program = python_program("both", LOANER)
    ran = run(f"""ymmsl_version: v0.1
model:
  name: loans
  components:
    boss: {{implementation: both, ports: {{o_i: out, s: in}}}}
    echo: {{implementation: both, multiplicity: 2, ports: {{f_init: in, o_f: out}}}}
  conduits:
    boss.out: echo.in
    echo.out: boss.in
implementations:
  both: {program}
ligament: {{light: both}}
""")
    assert ran.status == 0, ran.text


OVERLAID = """
class Giver(Submodel):
    def __init__(self, instance): pass
    def initialise(self, instance): pass
    def is_done(self): return True
    def observe(self, instance): pass
    def solve(self, instance): pass
    def observe_final(self, instance):
        for slot in range(3):
            instance.send("settings", Message(0.0, data=Settings({"k": 10 * slot})), slot=slot)

class Taker(Giver):
    def observe_final(self, instance):
        instance.send("out", Message(0.0, data=instance.get_setting("k", "int")))

class Asker(Giver):
    def initialise(self, instance):
        expected = 10 * instance.index[0]
        assert instance.receive("in").data == expected == instance.get_setting("k", "int")
    def observe_final(self, instance):
        instance.send("out", Message(0.0, data=instance.get_setting("k", "int")))

PARTS = {"giver": Giver, "taker": Taker, "asker": Asker}
run_light(lambda instance: PARTS[instance.name.split("[")[0]](instance))
"""

LAST = """
instance = Instance({Operator.F_INIT: ["in"]})
while instance.reuse_instance():
    assert instance.receive("in").data == 10 * instance.index[0] == instance.get_setting("k", "int")
"""


def test_settings_overlays_go_from_one_to_the_next_and_out_of_the_process(run, python_program):
    ran = run(f"""ymmsl_version: v0.1
model:
  name: overlaid
  components:
    giver: {{implementation: light, ports: {{o_f: settings}}}}
    taker: {{implementation: light, multiplicity: 3, ports: {{o_f: out}}}}
    asker: {{implementation: light, multiplicity: 3, ports: {{f_init: in, o_f: out}}}}
    last: {{implementation: last, multiplicity: 3, ports: {{f_init: in}}}}
  conduits:
    giver.settings: taker.muscle_settings_in
    taker.out: asker.in
    asker.out: last.in
settings:
  k: 1
implementations:
  light: {python_program("light", OVERLAID)}
  last: {python_program("last", LAST)}
ligament: {{light: light}}
""")
    assert ran.status == 0, ran.text


FOR_ALL = """
class Teller(Submodel):
    def __init__(self, instance): self.name = instance.name
    def initialise(self, instance): self.step = 0
    def is_done(self): return self.step == 50
    def observe(self, instance):
        if self.name == "teller":
            instance.send("out", Message(float(self.step), data=[self.step, "x" * 5000]))
    def solve(self, instance):
        if self.name != "teller":
            assert instance.receive("in").data == [self.step, "x" * 5000]
        self.step += 1
    def observe_final(self, instance): pass

run_light(Teller)
"""

LISTENER = """
instance = Instance({Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(50):
        assert instance.receive("in").data == [step, "x" * 5000]
"""


@pytest.mark.parametrize("budget", [1, 12_000, 1 << 20])
def test_one_that_sends_to_many_waits_for_those_inside_and_outside(budget, run, python_program):
    ran = run(f"""ymmsl_version: v0.1
model:
  name: told
  components:
    teller: {{implementation: light, ports: {{o_i: out}}}}
    near: {{implementation: light, ports: {{s: in}}}}
    far: {{implementation: far, ports: {{s: in}}}}
  conduits:
    teller.out: [near.in, far.in]
implementations:
  light: {python_program("light", FOR_ALL)}
  far: {python_program("far", LISTENER)}
ligament: {{light: light, budget: {budget}}}
""")
    assert ran.status == 0, ran.text
    counts = {one["name"]: one for one in record(ran)["instances"]}
    assert counts["near"]["received_messages"] == counts["far"]["received_messages"] == 50


SCRIPT = """
import sys
from ligament import Message, Model, Submodel, run

class Node(Submodel):
    def __init__(self, instance): self.name = instance.name
    def initialise(self, instance): self.step = 0
    def is_done(self): return self.step == 3
    def observe(self, instance): instance.send("out", Message(float(self.step), data=self.name))
    def solve(self, instance):
        assert instance.receive("in").data == self.name
        self.step += 1
    def observe_final(self, instance): print(self.name, "is done")

model = Model("study")
model.add("node", ports={"o_i": ["out"], "s": ["in"]}, multiplicity=5)
model.connect("node.out", "node.in")
result = run(model, {"node": Node}, run_dir=sys.argv[1], show="nothing")
assert {one.received_messages for one in result.instances.values()} == {3}, result
assert "node[4] is done" in result.output("node[4]")
"""


def test_a_script_runs_a_submodel_class_as_light_components(tmp_path):
    (tmp_path / "study.py").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, "study.py", str(tmp_path / "run")], cwd=tmp_path, capture_output=True, text=True,
        timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    instances = json.loads((tmp_path / "run" / "run.json").read_text())["instances"]
    assert len({one["pid"] for one in instances}) == 1


READER ="""
class Reader(Submodel):
    def __init__(self, instance):
        self.done = False
    def initialise(self, instance):
        pass
    def is_done(self):
        return self.done
    def observe(self, instance):
        pass
    def solve(self, instance):
        instance.receive("in")
        self.done = True
    def observe_final(self, instance):
        pass
run_light(Reader)
"""

FEEDER = """
import numpy as np
instance = Instance({Operator.O_I: ["out", "other"]})
while instance.reuse_instance():
    for k in range(3000):
        instance.send("out", Message(float(k), data=np.zeros(10_000)))
    instance.send("other", Message(0.0, data=1))
"""


def test_what_is_sent_to_a_component_that_is_over_holds_up_nobody(run, python_program):
    ran = run(f"""ymmsl_version: v0.1
model:
  name: retired
  components:
    feeder: {{implementation: feeder, ports: {{o_i: [out, other]}}}}
    early: {{implementation: reader, ports: {{s: in}}}}
    late: {{implementation: reader, ports: {{s: in}}}}
  conduits:
    feeder.out: early.in
    feeder.other: late.in
implementations:
  feeder: {python_program("feeder", FEEDER)}
  reader: {python_program("reader", READER)}
ligament: {{light: [reader]}}
""")
    # Many more messages are sent than the conduit holds, and the reader takes one of them.
    assert ran.status == 0, ran.text
    assert all(one["state"] == "done" for one in record(ran)["instances"])


FINISHER = """
class Finisher(Submodel):
    def __init__(self, instance):
        self.done = False
    def initialise(self, instance):
        instance.receive("in")
    def is_done(self):
        return True
    def observe(self, instance):
        pass
    def solve(self, instance):
        pass
    def observe_final(self, instance):
        instance.finish()
run_light(Finisher)
"""

STARTER = """
instance = Instance({Operator.O_F: ["out"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data=1))
"""


def test_a_component_that_signs_off_by_itself_is_told_that_it_is_over(run, python_program):
    ran = run(f"""ymmsl_version: v0.1
model:
  name: finished
  components:
    starter: {{implementation: starter, ports: {{o_f: out}}}}
    b: {{implementation: finisher, ports: {{f_init: in}}}}
  conduits:
    starter.out: b.in
implementations:
  starter: {python_program("starter", STARTER)}
  finisher: {python_program("finisher", FINISHER)}
ligament: {{light: [finisher]}}
""")
    assert ran.status == 1, ran.text
    assert "b is over" in ran.text
