"""A component that makes steps on any ports that its model gives it, and records all messages. It runs with
Ligament and with MUSCLE 3, which have the same calls. Its setting `steps` gives the number of steps of each
pass: the first number is for the first pass, and the last one for all later passes."""

import os
import sys
from pathlib import Path


class Walker:
    """One instance; each line of the file is a pass, a step, or a message that was received."""

    def __init__(self, instance, Message, file):
        self.ports = {op.name: sorted(names) for op, names in instance.list_ports().items()}
        self.name, self.Message, self.passes = Path(file).stem, Message, 0
        self.out = open(file, "w", buffering=1)

    def write(self, line):
        print(line, file=self.out)

    def receive(self, instance, operator):
        for port in filter(instance.is_connected, self.ports.get(operator, [])):
            for slot in slots(instance, port):
                message = instance.receive(port, slot)
                where = port if slot is None else f"{port}[{slot}]"
                self.write(f"{where} {message.timestamp:g} {message.data}")

    def send(self, instance, operator, time, text):
        for port in self.ports.get(operator, []):
            for slot in slots(instance, port):
                instance.send(port, self.Message(time, data=f"{self.name}.{port} {text}"), slot)

    def initialise(self, instance):
        self.write(f"pass {self.passes}")
        self.receive(instance, "F_INIT")
        steps = instance.get_setting("steps", "[int]")
        self.step, self.last = 0, steps[min(self.passes, len(steps) - 1)]

    def is_done(self):
        return self.step == self.last

    def observe(self, instance):
        self.write(f"step {self.step}")
        self.send(instance, "O_I", 10.0 * self.passes + self.step, f"{self.passes}.{self.step}")

    def solve(self, instance):
        self.receive(instance, "S")
        self.step += 1

    def observe_final(self, instance):
        self.send(instance, "O_F", 10.0 * self.passes + 9, f"{self.passes}")
        self.passes += 1


def slots(instance, port):
    return range(instance.get_port_length(port)) if instance.is_vector_port(port) else [None]


def walk(instance, Message, file):
    """Runs one instance by a loop of its own."""
    walker = Walker(instance, Message, file)
    while instance.reuse_instance():
        walker.initialise(instance)
        while not walker.is_done():
            walker.observe(instance)
            walker.solve(instance)
        walker.observe_final(instance)
    walker.write("over")


def main():
    from ligament import Instance, Message, run_light

    def file(instance):
        return os.path.join(sys.argv[1], f"{instance.name}.txt")

    if "--light" in sys.argv:
        run_light(lambda instance: Walker(instance, Message, file(instance)))
    else:
        instance = Instance()
        walk(instance, Message, file(instance))


if __name__ == "__main__":
    main()
