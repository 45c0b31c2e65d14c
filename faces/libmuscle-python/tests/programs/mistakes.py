"""Each instance makes one mistake and writes down of which kinds the exception is: `mistakes.py`."""

import sys

import numpy as np
import ymmsl
from libmuscle import Grid, Instance, Message
from libmuscle.runner import run_simulation
from record import Record
from ymmsl import Operator
from ymmsl.v0_2 import Configuration

KINDS = (RuntimeError, KeyError, TypeError, ValueError)
MISTAKES = {
    "send on no port": lambda one: one.send("nowhere", Message(0.0)),
    "send where one receives": lambda one: one.send("start", Message(0.0)),
    "receive where one sends": lambda one: one.receive("out"),
    "receive without a sender": lambda one: one.receive("start"),
    "slot of a scalar port": lambda one: one.send("out", Message(0.0), 0),
    "slot below 0 of a scalar port": lambda one: one.send("out", Message(0.0), -1),
    "unsendable": lambda one: one.send("out", Message(0.0, data=object())),
    "unset": lambda one: one.get_setting("unset"),
    "wrong type": lambda one: one.get_setting("text", "int"),
    "no type": lambda one: one.get_setting("text", "number"),
    "a question about no port": lambda one: one.is_connected("nowhere"),
    "the length of no port": lambda one: one.get_port_length("nowhere"),
    "the length of a scalar port": lambda one: one.get_port_length("out"),
    "resizing a scalar port": lambda one: one.set_port_length("out", 2),
    "no flag for checkpoints": lambda one: one.resuming(),
    "names of axes": lambda one: Grid(np.zeros((2, 2)), ["x"]),
    "a time that is none": lambda one: Message("now"),
    "nothing wrong": lambda one: None,
}
# Mistakes with a vector port, by the name of their component.
SLOTS = {
    "without_slot": lambda one: one.send("many", Message(0.0)),
    "wrong_slot": lambda one: one.send("many", Message(0.0), 2),
    "resizing": lambda one: one.set_port_length("many", 5),
}
PART = """
      NAME:
        description: makes a mistake with a vector port
        implementation: vector_maker
        ports: {o_i: many}
      NAME_reader:
        description: reads what NAME sends
        implementation: reader
        multiplicity: 2
        ports: {f_init: wanted}
"""
MODEL = f"""
ymmsl_version: v0.2
models:
  mistakes:
    description: a test
    components:
      maker:
        description: a part of the test
        implementation: maker
        multiplicity: {len(MISTAKES)}
        ports:
          f_init: start
          o_i: out
      reader:
        description: a part of the test
        implementation: reader
        multiplicity: {len(MISTAKES)}
        ports:
          f_init: wanted
{"".join(PART.replace("NAME", name) for name in SLOTS)}
    conduits:
{"".join(f"      {name}.many: {name}_reader.wanted" + chr(10) for name in SLOTS)}
      maker.out: reader.wanted
settings:
  text: a text
"""


def maker():
    instance = Instance({Operator.F_INIT: ["start"], Operator.O_I: ["out"]})
    make(instance, *list(MISTAKES.items())[int(str(instance._instance_id).strip("maker[]"))])


def vector_maker():
    instance = Instance({Operator.O_I: ["many[]"]})
    name = str(instance._instance_id)
    make(instance, name, SLOTS[name])


def make(instance, name, mistake):
    record = Record(instance)
    instance.reuse_instance()
    try:
        mistake(instance)
        record.write(f"{name}: nothing")
    except KINDS as error:
        kinds = [kind.__name__ for kind in KINDS if isinstance(error, kind)]
        record.write(f"{name}: {' '.join(kinds)}")
        if "--texts" in sys.argv:
            record.write(str(error))
    instance.error_shutdown("this mistake was made on purpose")


def reader():
    instance = Instance({Operator.F_INIT: ["wanted"]})
    record = Record(instance)
    while instance.reuse_instance():
        instance.receive("wanted")
    record.write("over")


if __name__ == "__main__":
    functions = {code.__name__: code for code in (maker, vector_maker, reader)}
    run_simulation(ymmsl.load_as(Configuration, MODEL), functions)
