"""The micro model as a submodel that the library drives: with "light" as argument by run_light, otherwise by
run_submodel."""

import sys
from pathlib import Path

from ligament import Instance, InstanceFlags, Message, Operator, Submodel, run_light, run_submodel


class Cell(Submodel):

    def __init__(self, instance):
        self.total, self.passes = 0.0, 0

    def initialise(self, instance):
        message = instance.receive("in")
        self.begin, self.number, self.value = message.timestamp, 0, message.data

    def is_done(self):
        return self.number >= 5

    def observe(self, instance):
        pass

    def solve(self, instance):
        self.value = self.value * 0.7 + 0.01 * self.total
        self.number += 1

    def observe_final(self, instance):
        self.total, self.passes = self.total + self.value, self.passes + 1
        Path("end.txt").write_text(f"{self.passes} {self.total!r}\n")
        instance.send("out", Message(self.begin + 0.5, None, self.value))

    def model_time(self):
        return self.begin + 0.1 * self.number

    def save(self, instance):
        state = [self.total, self.passes, self.begin, self.number, self.value]
        instance.save_snapshot(Message(self.model_time(), None, state))

    def restore(self, instance):
        self.total, self.passes, self.begin, self.number, self.value = instance.load_snapshot().data
        Path("resumed.txt").write_text(f"{self.number}\n")


flags = InstanceFlags.USES_CHECKPOINT_API
if "light" in sys.argv[1:]:
    run_light(Cell, flags=flags)
else:
    instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]}, flags)
    run_submodel(instance, Cell(instance))
