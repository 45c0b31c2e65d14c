"""Submodels that the library drives (run_submodel, run_light) save and restore their state by functions of
their own, in each language. In a run with checkpoints each light component has a process of its own."""

import json

import pytest
from conftest import CALLS, implementations
from test_languages import command  # noqa: F401
from test_resume import every

INSTANCES = ["macro", "micro"]
# Within the first and the second pass, and after the third one.
RULES = "checkpoints: {simulation_time: [{at: [0.3, 1.2, 2.9]}]}\n"
SAVED_STEPS = {1: 3, 2: 2, 3: 5}


def calls(program, *arguments):
    executable, *given = program
    own = f"  own: {{executable: {json.dumps(executable)}, args: {json.dumps([*given, *arguments])}}}\n"
    model = CALLS.replace("MICRO", "own").replace("end: 12.0", "end: 4.0")
    return model + implementations("macro") + own


def ends(run):
    return {name: run.end(name) for name in INSTANCES}


@pytest.mark.parametrize("driver", ["submodel", "light"])
@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "java", "python"])
def test_a_resumed_submodel_ends_as_the_undisturbed_one(start, command, language, driver):  # noqa: F811
    model = calls(command(language, "cell"), driver)
    light = "light: [own], " if driver == "light" else ""
    plain = start(model)
    assert plain.status == 0 and plain.end("micro").split()[0] == "4", plain.text
    if light:
        together = start(model + f"ligament: {{{light}checkpoints: {{keep: 3}}}}\n")
        assert together.status == 0 and together.end("macro") == plain.end("macro"), together.text
    saved = start(model + RULES + f"ligament: {{{light}checkpoints: {{keep: 3}}}}\n")
    assert saved.status == 0 and ends(saved) == ends(plain), saved.text
    assert sorted(saved.checkpoints()) == sorted(SAVED_STEPS), saved.text
    for number, step in SAVED_STEPS.items():
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and "never received" not in resumed.text, resumed.text
        assert resumed.file("micro", "resumed.txt") == f"{step}\n"
        assert ends(resumed) == ends(plain), number


def test_a_submodel_ends_as_the_same_code_with_a_loop_of_its_own(start, command):  # noqa: F811
    driven = start(calls(command("python", "cell")))
    model = CALLS.replace("MICRO", "micro").replace("end: 12.0", "end: 4.0") + implementations("macro", "micro")
    looping = start(model)
    assert looping.status == 0 and ends(driven) == ends(looping), driven.text


SUBMODEL = """
class Own(Submodel):
    def __init__(self, instance):
        pass
    def initialise(self, instance):
        self.came = instance.receive("in")
    def is_done(self):
        return True
    def observe(self, instance):
        pass
    def solve(self, instance):
        pass
    def observe_final(self, instance):
        instance.send("out", Message(self.came.timestamp, None, self.came.data * 0.5))
"""
FORGETS = """
    def save(self, instance):
        pass
    def restore(self, instance):
        instance.load_snapshot()
"""
RUN = "run_light(Own, flags=InstanceFlags.{})\n"


@pytest.mark.parametrize("light", ["", "light: [own], "])
@pytest.mark.parametrize("body, reason", [
    (SUBMODEL + RUN.format("USES_CHECKPOINT_API"),
     "micro says that it saves its state, and has no functions save and restore; add both"),
    (SUBMODEL + RUN.format("NONE"), "micro does not say what it keeps from one pass to the next"),
    (SUBMODEL + FORGETS + RUN.format("USES_CHECKPOINT_API"),
     "the function save of micro has returned without a call of save_snapshot"),
])  # fmt: skip
def test_a_submodel_that_cannot_be_saved_is_refused_by_name(start, python_code, body, reason, light):
    program = python_code("own", body)
    model = CALLS.replace("MICRO", "own") + implementations("macro") + f"  own: {program}\n"
    plain = start(model + f"ligament: {{{light}checkpoints: {{keep: 2}}}}\n")
    assert plain.status == 0, plain.text
    refused = start(model + every(1.0).replace("ligament: {", f"ligament: {{{light}"))
    assert refused.status != 0 and reason in refused.text, refused.text


def test_a_submodel_without_state_needs_a_flag_only(start, python_code):
    program = python_code("own", SUBMODEL + RUN.format("KEEPS_NO_STATE_FOR_NEXT_USE"))
    model = CALLS.replace("MICRO", "own") + implementations("macro") + f"  own: {program}\n"
    plain, saved = start(model), start(model + every(3.0))
    assert saved.status == 0 and saved.end("macro") == plain.end("macro"), saved.text
    for number in saved.checkpoints():
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and resumed.end("macro") == plain.end("macro"), resumed.text


TOWN = """
ymmsl_version: v0.2
models:
  heating:
    components:
      town: {ports: {o_i: out, s: in}, implementation: town}
      house: {ports: {f_init: in, o_f: out}, multiplicity: 12, implementation: house}
    conduits:
      town.out: house.in
      house.out: town.in
ligament: {light: [house], checkpoints: {keep: 100}}
"""
HOUSE_CODE = """
class House(Submodel):
    def __init__(self, instance):
        self.heat = 0.1 * instance.index[0]
    def initialise(self, instance):
        self.came = instance.receive("in")
    def is_done(self):
        return True
    def observe(self, instance):
        pass
    def solve(self, instance):
        pass
    def observe_final(self, instance):
        self.heat = 0.9 * self.heat + 0.1 * self.came.data
        instance.send("out", Message(self.came.timestamp, None, self.heat))
    def save(self, instance):
        instance.save_snapshot(Message(0.0, None, self.heat))
    def restore(self, instance):
        self.heat = instance.load_snapshot().data

run_light(House, flags=InstanceFlags.USES_CHECKPOINT_API)
"""
TOWN_CODE = """
instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]}, InstanceFlags.USES_CHECKPOINT_API)
while instance.reuse_instance():
    if instance.resuming():
        hour, heat = instance.load_snapshot().data
    if instance.should_init():
        hour, heat = 0, 1.0
    while hour < 6:
        slots = range(instance.get_port_length("out"))
        for slot in slots:
            instance.send("out", Message(float(hour), None, heat + slot), slot)
        heat = sum(instance.receive("in", slot).data for slot in slots)
        hour += 1
        if instance.should_save_snapshot(float(hour)):
            instance.save_snapshot(Message(float(hour), None, [hour, heat]))
    if instance.should_save_final_snapshot():
        instance.save_final_snapshot(Message(float(hour), None, [hour, heat]))
    open("end.txt", "w").write(f"{hour} {heat!r}")
"""


def test_many_light_components_resume_each_with_its_own_state(start, python_code):
    town, house = python_code("town", TOWN_CODE), python_code("house", HOUSE_CODE)
    programs = f"programs:\n  town: {town}\n  house: {house}\n"
    model = TOWN + programs
    plain, saved = start(model), start(model + "checkpoints: {simulation_time: [{every: 2.0}]}\n")
    assert plain.status == 0 and plain.end("town"), plain.text
    assert saved.status == 0 and saved.end("town") == plain.end("town"), saved.text
    found = {number: record for number, record in saved.checkpoints().items() if "town" not in record["over"]}
    assert found, saved.text
    for number in found:
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and resumed.end("town") == plain.end("town"), resumed.text
