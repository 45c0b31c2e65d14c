"""A model in which each call of an instance is made at least once: `every_call.py MODEL`."""

import sys

import numpy as np
import ymmsl
from libmuscle import DONT_APPLY_OVERLAY, KEEPS_NO_STATE_FOR_NEXT_USE, Grid, Instance, InstanceFlags, Message
from libmuscle.runner import run_simulation
from record import Record, shown
from ymmsl import Operator, Settings
from ymmsl.v0_2 import Configuration

VALUES = [
    None, True, 7, -(2**62), 0.1, float("inf"), "a text with ü", b"bytes", [1, [2.5, "x"]], {"k": {"n": None}},
    np.arange(6.0).reshape(2, 3), Grid(np.arange(4, dtype="int32"), ["x"]), Grid(np.array([True, False])),
    np.asfortranarray(np.arange(6, dtype="float32").reshape(2, 3)), Settings({"a": 1, "b": [1.0, 2.0]}),
    {"grid": Grid(np.zeros((2, 2)), ["x", "y"]), "list": [np.arange(3)]}, (1, 2), [], {}, np.zeros((0, 3)),
]


def describe(instance, record):
    """Writes down what the instance says of its ports."""
    for operator, names in sorted(instance.list_ports().items(), key=lambda item: item[0].name):
        for name in sorted(names):
            vector = instance.is_vector_port(name)
            length = instance.get_port_length(name) if vector and instance.is_connected(name) else None
            resizable = instance.is_resizable(name)
            record.write(f"port {operator.name} {name} {instance.is_connected(name)} {vector}"
                         f" {None if resizable else length} {resizable}")


def ask(instance, record):
    """Writes down the settings, each with its type."""
    for name, kind in (("text", "str"), ("whole", "int"), ("real", "float"), ("on_or_off", "bool"),
                       ("wholes", "[int]"), ("reals", "[float]"), ("table", "[[float]]")):
        record.write(f"setting {name} {instance.get_setting(name, kind)!r} {instance.get_setting(name)!r}")
    record.write(f"default {instance.get_setting('unset', 'int', default=4)!r}")
    record.write(f"names {instance.list_settings()}")


def driver():
    instance = Instance({Operator.O_I: ["settings_out[]", "work_out[]"], Operator.S: ["work_in[]"]})
    record = Record(instance)
    describe(instance, record)
    while instance.reuse_instance():
        ask(instance, record)
        for number, value in enumerate(VALUES):
            later = number + 1.0 if number + 1 < len(VALUES) else None
            for slot in range(instance.get_port_length("work_out")):
                overlay = Settings({"amount": number, "scale": 10.0 * slot})
                record.send(instance, "settings_out", Message(number, later, overlay), slot)
                record.send(instance, "work_out", Message(number, later, value, overlay), slot)
            for slot in range(instance.get_port_length("work_in")):
                result = instance.receive_with_settings("work_in", slot)
                record.message("with settings", "work_in", slot, result)


def worker():
    instance = Instance({Operator.F_INIT: ["work_in"], Operator.O_I: ["state_out"], Operator.S: ["state_in"],
                         Operator.O_F: ["work_out"]})
    record = Record(instance)
    describe(instance, record)
    while instance.reuse_instance():
        amount, scale = instance.get_setting("amount", "int"), instance.get_setting("scale", "float")
        record.write(f"overlay {amount} {scale}")
        work = record.receive(instance, "work_in")
        for step in range(instance.get_setting("steps", "int")):
            record.send(instance, "state_out", Message(work.timestamp + step, None, work.data))
            state = record.receive(instance, "state_in")
        record.send(instance, "work_out", Message(state.timestamp, data=state.data))


def helper():
    flags = InstanceFlags.DONT_APPLY_OVERLAY | KEEPS_NO_STATE_FOR_NEXT_USE
    instance = Instance({Operator.F_INIT: ["state_in"], Operator.O_F: ["state_out"]}, flags)
    record = Record(instance)
    assert DONT_APPLY_OVERLAY in flags
    while instance.reuse_instance():
        state = instance.receive_with_settings("state_in")
        record.message("with settings", "state_in", None, state)
        record.write(f"not applied {instance.get_setting('amount', default='none')!r}")
        record.send(instance, "state_out", Message(state.timestamp, data=state.data, settings=state.settings))


def splitter():
    instance = Instance({Operator.O_F: ["parts[]"]})
    record = Record(instance)
    while instance.reuse_instance():
        instance.set_port_length("parts", 3)
        for slot in range(instance.get_port_length("parts")):
            record.send(instance, "parts", Message(0.0, data=slot), slot)


def collector():
    instance = Instance({Operator.F_INIT: ["parts[]", "unconnected"]})
    record = Record(instance)
    default = Message(5.0, data="default")
    while instance.reuse_instance():
        record.write(f"length {instance.get_port_length('parts')} {shown(default.data)}")
        for slot in range(instance.get_port_length("parts")):
            record.receive(instance, "parts", slot)
        record.write(f"the default {instance.receive('unconnected', default=default) is default}")


if __name__ == "__main__":
    functions = {code.__name__: code for code in (driver, worker, helper, splitter, collector)}
    run_simulation(ymmsl.load_as(Configuration, open(sys.argv[1]).read()), functions)
