"""The stranger, a code in C that knows no model, runs in models of every kind: any values, vector ports, either
role."""

import pytest
from test_heated_plate import STRANGER, built, codes, said  # noqa: F401

TELLER = """
import numpy as np
from ligament import Instance, Message, Operator, Settings

values = [
    None, True, -3, 2**64 - 1, 0.5, 1 - 2j, "text", b"\\0\\1", [1, "two", []], {"a": {"b": 1.5}},
    np.arange(6.0).reshape(2, 3), np.arange(6, dtype=np.int16), np.zeros((0, 3)), np.full((), 2.5, np.float32),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(12.0).reshape(3, 4)[:, ::2],
    Settings({"x": [1, 2]}),
]
instance = Instance({Operator.O_I: ["question"], Operator.S: ["answer"]})
while instance.reuse_instance():
    for step, value in enumerate(values):
        instance.send("question", Message(float(step), step + 0.5, value))
        answer = instance.receive("answer")
        assert answer.timestamp == step + 0.5
        if isinstance(value, np.ndarray):
            assert answer.data.dtype == value.dtype and answer.data.shape == value.shape
            np.testing.assert_array_equal(answer.data, value)
        else:
            assert answer.data == value and type(answer.data) is type(value), (answer.data, value)
"""
OUTPUT = """\
question at 0: nothing
question at 1: true
question at 2: -3
question at 3: 18446744073709551615
question at 4: 0.5
question at 5: 1-2i
question at 6: "text"
question at 7: 2 bytes
question at 8: [1, "two", []]
question at 9: {"a": {"b": 1.5}}
question at 10: an array of float64 and shape (2, 3) with the sum 15
question at 11: an array of int16 and shape (6)
question at 12: an array of float64 and shape (0, 3)
question at 13: an array of float32 and shape ()
question at 14: a column-major array of float64 and shape (2, 3) with the sum 15
question at 15: an array of float64 and shape (3, 2) with the sum 30
question at 16: settings {"x": [1, 2]}
"""
MEMBER = """
from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    start = instance.receive("start")
    print(start.timestamp, start.next_timestamp, start.data)
    instance.send("end", Message(start.timestamp, data="done"))
"""


def test_as_a_micro_model_it_understands_and_gives_back_any_value(codes):  # noqa: F811
    model = codes.model(
        {"teller": "{o_i: question, s: answer}", "stranger": "{f_init: question, o_f: answer}"},
        {"teller.question": "stranger.question", "stranger.answer": "teller.answer"},
        {"nothing": 0}, {"teller": codes.python("teller", TELLER), "stranger": STRANGER},
    )
    done, run = codes.run(model)
    assert done.returncode == 0, done.stdout
    first, rest = said(run, "stranger").split("\n", 1)
    assert first.startswith("this is stranger in the run ")
    assert rest == OUTPUT


@pytest.mark.parametrize("steps", [1, 3])
def test_as_a_macro_model_it_steps_as_often_as_it_is_told_to(codes, steps):  # noqa: F811
    model = codes.model(
        {"stranger": "{o_i: ask, s: told}", "member": "{f_init: start, o_f: end}"},
        {"stranger.ask": "member.start", "member.end": "stranger.told"},
        {"stranger.steps": steps}, {"stranger": STRANGER, "member": codes.python("member", MEMBER)},
    )
    done, run = codes.run(model)
    assert done.returncode == 0, done.stdout
    times = [(float(step), step + 1.0 if step + 1 < steps else None) for step in range(steps)]
    data = ["None"] + ["done"] * (steps - 1)
    assert said(run, "member") == "".join(f"{t} {n} {d}\n" for (t, n), d in zip(times, data))
    assert said(run, "stranger").count('told at ') == steps


def test_it_finds_its_vector_ports_and_their_slots_in_the_model(codes):  # noqa: F811
    model = codes.model(
        {"stranger": "{o_i: ask, s: told}", "member": "{f_init: start, o_f: end}"},
        {"stranger.ask": "member.start", "member.end": "stranger.told"},
        {"stranger.steps": 1}, {"stranger": STRANGER, "member": codes.python("member", MEMBER)},
    )
    text = model.read_text().replace("member: {implementation: member,",
                                     "member: {implementation: member, multiplicity: 3,")
    model.write_text(text)
    done, run = codes.run(model)
    assert done.returncode == 0, done.stdout
    told = [line for line in said(run, "stranger").splitlines() if line.startswith("told")]
    assert told == [f'told[{slot}] at 0: "done"' for slot in range(3)]
