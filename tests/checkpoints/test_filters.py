"""Filters that remember earlier messages, saved in the middle of their memory: a run that resumes goes on bit
for bit. Filters of users that cannot say what they remember are refused by name."""

import subprocess

import pytest
from conftest import ROOT, implementations
from test_resume import KEEP

MODEL = """
ymmsl_version: v0.2
models:
  filtered:
    components:
      teller: {ports: {o_i: out}, implementation: teller}
      listener: {ports: {s: [PORTS]}, implementation: listener}
    conduits:
      teller.out: [CONDUITS]
settings: {teller.steps: 24, teller.size: SIZE}
"""

# Each filter that remembers something; the last ones one behind the other, at both ends.
REMEMBER = {
    "every": "[{every: 3, at: AT}]",
    "block_until": "[{block_until: 0.35, at: AT}]",
    "block_after": "[{block_after: 2.0, at: AT}]",
    "interpolate_time": "[{interpolate_time: 3, at: AT}]",
    "moving_average": "[{moving_average: 4, at: AT}]",
    "chunk": "[{chunk: 5, at: AT}]",
    "several": "[{moving_average: 3, at: AT}, {interpolate_time: 2}, {every: 3}, {chunk: 4}]",
}

FILTERS = """
from ligament import Message

class Total:
    def __init__(self):
        self.sum = 0.0

    def __call__(self, message):
        self.sum += message.data
        return Message(message.timestamp, message.next_timestamp, self.sum)

class Saved(Total):
    def state(self):
        return {"sum": self.sum}

    def restore(self, state):
        self.sum = state["sum"]

def half(message):
    return Message(message.timestamp, message.next_timestamp, message.data / 2)
"""

# `total` remembers in `state`; `saved` has functions for that; `half` remembers nothing.
LIBRARY = """
#include <ligament_filter.h>
#include <stdlib.h>

int total(lig_filter *filter, const lig_filter_message *message) {
    double *sum = filter->state;
    if (message == NULL) {
        free(sum);
        filter->state = NULL;
        return 0;
    }
    if (sum == NULL) filter->state = sum = calloc(1, sizeof *sum);
    *sum += *(const double *)message->data;
    lig_filter_message all = *message;
    all.data = sum;
    return filter->emit(filter, &all) == NULL;
}

int saved(lig_filter *filter, const lig_filter_message *message) {
    return total(filter, message);
}

int saved_state(lig_filter *filter, const lig_filter_message *message) {
    (void)message;
    if (filter->state == NULL) return 0;
    const lig_filter_message sum = {.size = sizeof sum, .dtype = LIG_FLOAT64, .data = filter->state};
    return filter->emit(filter, &sum) == NULL;
}

int saved_restore(lig_filter *filter, const lig_filter_message *message) {
    double *sum = filter->state = calloc(1, sizeof *sum);
    *sum = *(const double *)message->data;
    return 0;
}

int half(lig_filter *filter, const lig_filter_message *message) {
    if (message == NULL) return 0;
    const double value = *(const double *)message->data / 2;
    lig_filter_message one = *message;
    one.data = &value;
    return filter->emit(filter, &one) == NULL;
}
"""


def filtered(lists, size=0, rule="every: 0.5"):
    """A model in which one sender's messages go through each of some lists of filters, to a port for each."""
    ports = [f"in{number}" for number in range(len(lists))]
    model = MODEL.replace("PORTS", ", ".join(ports)).replace("SIZE", str(size))
    model = model.replace("CONDUITS", ", ".join(f"listener.{port}" for port in ports))
    filters = ", ".join(f"teller.out -> listener.{port}: {one}" for port, one in zip(ports, lists))
    keep = KEEP.replace("keep: 100}", f"keep: 100}}, filters: {{{filters}}}")
    rules = f"checkpoints: {{simulation_time: [{{{rule}}}]}}\n" if rule else ""
    return model + implementations("teller", "listener") + rules + keep


def both_ends(lists):
    return [one.replace("AT", end) for one in lists for end in ("sender", "receiver")]


def resumes_everywhere(start, model, names=("teller", "listener")):
    """Resumes from each checkpoint of a run. Returns the number of those in which none of these had ended."""
    saved = start(model)
    assert saved.status == 0, saved.text
    whole = 0
    for number, record in saved.checkpoints().items():
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0, resumed.text
        for name in names:
            if name not in record["over"]:
                assert resumed.end(name) == saved.end(name), (number, record)
        whole += not any(name in record["over"] for name in names)
        assert record["over"] or "never received" not in resumed.text, resumed.text
    return whole


@pytest.mark.parametrize("size", [0, 5])
def test_filters_go_on_in_the_middle_of_their_memory(start, size):
    assert resumes_everywhere(start, filtered(both_ends(REMEMBER.values()), size)) >= 3


@pytest.fixture
def functions(tmp_path):
    """Filters in Python and in C."""
    (tmp_path / "own_filters.py").write_text(FILTERS)
    (tmp_path / "own.c").write_text(LIBRARY)
    include = f"-I{ROOT}/crates/capi/include"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wall", "-Werror", include, "own.c", "-o", "own.so"],
                   cwd=tmp_path, check=True)

    def functions(name):
        if name[0].isupper() or name == "python half":
            return f"{{python: own_filters:{name.split()[-1]}, at: AT}}"
        return f"{{library: {{file: {tmp_path}/own.so, function: {name}}}, at: AT}}"

    return functions


def test_filters_of_users_go_on(start, functions, tmp_path):
    names = ["Saved", "python half", "saved", "half"]
    lists = both_ends(f"[{functions(name)}]" for name in names)
    assert resumes_everywhere(start, with_path(filtered(lists), tmp_path)) >= 3


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize("name, words", [
    ("Total", ('the class "own_filters:Total" may remember earlier messages', "state() and restore(state)")),
    ("total", ('the function "total" keeps something in its state', '"total_state" and "total_restore"')),
])
def test_a_filter_that_cannot_say_what_it_remembers_is_named_and_nothing_saved(start, functions, tmp_path, name,
                                                                               words, end):
    filters = f"[{{multiply: 2}}, {functions(name).replace('AT', end)}]"
    refused = start(with_path(filtered([filters]), tmp_path))
    assert refused.status != 0 and "conduit teller.out -> listener.in0: filter 2" in refused.text, refused.text
    assert all(word in refused.text for word in words), refused.text
    assert refused.checkpoints() == {}
    plain = start(with_path(filtered([filters], rule=""), tmp_path))
    assert plain.status == 0, plain.text


def test_such_a_filter_refuses_a_checkpoint_on_request(going, functions, tmp_path):
    model = filtered([f"[{functions('total').replace('AT', 'receiver')}]"], rule="")
    model = model.replace("steps: 24", "steps: 400")
    run = going(model)
    run.comes_to("listener", 5)
    assert 'keeps something in its state' in run.refused("--wait")
    run.process.terminate()
    run.ended()


def with_path(model, path):
    return model.replace("executable:", f"env: {{PYTHONPATH: {path}}}, executable:")


def test_an_instance_that_had_ended_needs_no_python_for_its_filter(start, python_code, tmp_path):
    (tmp_path / "doubling.py").write_text("def twice(message):\n    message.data = 2.0 * message.data\n"
                                          "    return message\n")
    sender = python_code("sender", """
        instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.KEEPS_NO_STATE_FOR_NEXT_USE)
        while instance.reuse_instance():
            instance.send("out", Message(0.0, None, 21.0))
        """)
    receiver = python_code("receiver", """
        from time import sleep
        instance = Instance({Operator.S: ["in"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            if instance.resuming():
                saved = instance.load_snapshot()
                time, x = saved.timestamp, saved.data
            if instance.should_init():
                time, x = 0.0, instance.receive("in").data
            while time < 5.0:
                time += 1.0
                sleep(0.2)
                if instance.should_save_snapshot(time):
                    instance.save_snapshot(Message(time, None, x))
            open("end.txt", "w").write(str(x))
            if instance.should_save_final_snapshot():
                instance.save_final_snapshot(Message(time, None, x))
        """)
    model = f"""
ymmsl_version: v0.2
models:
  m:
    components:
      a: {{ports: {{o_f: out}}, implementation: sender}}
      b: {{ports: {{s: in}}, implementation: receiver}}
    conduits: {{a.out: b.in}}
programs:
  sender: {sender}
  receiver: {receiver}
ligament:
  filters: {{a.out: [{{python: "doubling:twice", at: sender}}]}}
  checkpoints: {{keep: 9}}
checkpoints: {{simulation_time: [{{every: 1.0}}]}}
"""
    plain = start(model, env={"PYTHONPATH": str(tmp_path)})
    assert plain.status == 0 and plain.end("b") == "42.0", plain.text
    resumed = start(model, arguments=["--resume", f"{plain.directory}@3"], env={"PYTHONPATH": str(tmp_path)})
    assert resumed.status == 0 and resumed.end("b") == "42.0", resumed.text
