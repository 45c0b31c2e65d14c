"""Values that few programs send, and a port to which nothing is connected: `odd_values.py`."""

import numpy as np
import ymmsl
from libmuscle import Grid, Instance, Message
from libmuscle.runner import run_simulation
from record import Record
from ymmsl import Operator
from ymmsl.v0_2 import Configuration

VALUES = [
    np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), {"in a dict": np.ma.masked_array([1, 2])},
    Grid(np.ma.masked_array([[4, 5]], [[True, False]], fill_value=-1), ["x", "y"]),
    memoryview(np.arange(2.0)), [memoryview(b"bytes")], np.matrix([[1.0, 2.0]]), Grid(np.zeros(2), ("x",)),
]
MODEL = """
ymmsl_version: v0.2
models:
  odd_values:
    description: a test
    components:
      maker: {description: sends, implementation: maker, ports: {o_i: [out, unread], s: back}}
      mirror: {description: sends back, implementation: mirror, ports: {f_init: came, o_f: back}}
    conduits:
      maker.out: mirror.came
      mirror.back: maker.back
"""


def maker():
    instance = Instance({Operator.O_I: ["out", "unread"], Operator.S: ["back"]})
    record = Record(instance)
    record.write(f"overlays come {instance.is_connected('muscle_settings_in')}")
    while instance.reuse_instance():
        for number, value in enumerate(VALUES):
            instance.send("unread", Message(number, data={"what nobody gets": object()}))
            instance.send("out", Message(number, data=value))
            record.receive(instance, "back")


def mirror():
    instance = Instance({Operator.F_INIT: ["came"], Operator.O_F: ["back"]})
    record = Record(instance)
    while instance.reuse_instance():
        record.send(instance, "back", record.receive(instance, "came"))


if __name__ == "__main__":
    run_simulation(ymmsl.load_as(Configuration, MODEL), {"maker": maker, "mirror": mirror})
