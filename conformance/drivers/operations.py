"""Calls the operations that the other driver in Python does not use, and prints their results (README.md)."""

import sys

import numpy as np

from ligament import (Instance, LogLevel, Mapper, Message, Operator, Settings, Submodel, run_light, run_mapper,
                      run_submodel)


def about(instance):
    instance.log(LogLevel.WARNING, "said by the giver")
    ports = instance.list_ports()
    print("name", instance.name)
    print("index", len(instance.index))
    print("rank", instance.rank, "of", instance.ranks)
    print("run", int(instance.run_name != ""))
    print("ports", len(ports[Operator.O_I]), len(ports[Operator.S]))
    print("connected", int(instance.is_connected("deal")), int(instance.is_connected("nothing")))
    print("vector", int(instance.is_vector_port("deal")), int(instance.is_vector_port("plain")))
    print("resizable", int(instance.is_resizable("deal")), int(instance.is_resizable("plain")))
    instance.set_port_length("deal", 2)
    print("length", instance.get_port_length("deal"))
    print("setting", int(4 * instance.get_setting("ratio", "float")))
    print("settings", len(instance.list_settings()))
    instance.declare_steerable("ratio", 0, 1, "m")
    print("steered", int(instance.steer(0)), int(instance.steer(1)),
          int(4 * instance.get_setting("ratio", "float")))


def giver():
    instance = Instance({Operator.O_I: ["deal[]", "plain"], Operator.S: ["back[]", "nothing"]})
    assert instance.reuse_instance()
    about(instance)
    instance.send("deal", Message(1.0, data=5), 0)
    loan = instance.loan(2)
    loan.array[:] = 1, 2
    instance.send_loan("deal", 1.0, None, loan, 1)

    slots = [("back", 0), ("back", 1)]
    print("first", slots.index(instance.wait_any(slots)), int(instance.poll("back", 0)))
    print("more", int(instance.has_next("back", 0)))
    message = instance.receive("back", 0)
    print("came", message.data, int(message.timestamp))
    print("overlay", int(message.settings is not None))
    two = np.zeros(2)
    instance.receive_into("back", two, 1)
    print("into", int(two.sum()))
    print("nothing", instance.receive("nothing", default=0))
    which, message = instance.receive_any(slots[:1])
    print("any", slots.index(which), message.array(dtype="int64", shape=(1,))[0])
    message = instance.receive_with_settings("back", 1)
    print("under", message.settings["k"], message.data)
    print("more", int(instance.has_next("back", 1)))
    instance.finish()
    instance.error_shutdown("it is over, so that nobody hears this")


class Taker(Submodel):
    """Receives on two slots, and sends both messages back. Then it sends a third message, and one with an
    overlay of its own."""

    def __init__(self, instance=None, done=False):
        self.done = done

    def initialise(self, instance):
        pass

    def is_done(self):
        return self.done

    def observe(self, instance):
        pass

    def solve(self, instance):
        self.done = True
        messages = [instance.receive("deal", slot) for slot in range(2)]
        instance.set_port_length("back", 2)
        for slot, message in enumerate(messages):
            instance.send("back", message, slot)
        instance.send("back", Message(2.0, data=np.array([7])), 0)
        instance.send("back", Message(2.0, data=9, settings=Settings({"k": 3})), 1)

    def observe_final(self, instance):
        pass


class Scale(Mapper):
    """Adds up all inputs, and multiplies the number of each slot by a setting."""

    inputs = ["a", "b[]"]
    outputs = ["sum", "each[]", "spare"]

    def map(self, messages):
        if self.instance.get_setting("lazy", "bool"):
            return {"spare": 0.0}
        a, b = messages["a"].data, [message.data for message in messages["b"]]
        factor = self.instance.get_setting("factor", "float")
        return {"sum": factor * (a + sum(b)), "each": [np.array([a * one, one]) for one in b], "spare": 0.0}


def rows():
    """Sends the two rows of the array that this rank has."""
    instance = Instance({Operator.O_I: ["rows"]})
    instance.reuse_instance()
    first = 2 * instance.rank
    instance.map_block("rows", [first, 0], [2, 6])
    for step in range(3):
        part = 10.0 * (first + np.arange(2)[:, None]) + np.arange(6) + 100 * step
        instance.send("rows", Message(step, data=part))


def part():
    """Receives the part of the array that belongs to this rank."""
    instance = Instance({Operator.S: ["part"]})
    instance.reuse_instance()
    print("array", *instance.array_shape("part"))
    if instance.rank == 0:
        instance.map_range("part", 3, 9)
    elif instance.rank == 1:
        instance.map_list("part", [23, 0, 7])
    else:
        instance.map_block("part", (1, 2), (3, 4))
    for _ in range(3):
        values = instance.receive("part").data.ravel()
        print("part", int((values * np.arange(1, values.size + 1)).sum()))


def pulse():
    """Sends three events in each tick."""
    instance = Instance({Operator.O_I: ["spikes"]})
    instance.reuse_instance()
    for step in range(3):
        now, first = instance.time(), 10 * step + instance.rank
        instance.insert_event("spikes", now, first)
        instance.insert_events("spikes", np.array([now + 0.00025, now + 0.0005]), [first + 2, first + 4])
        instance.tick()


def count():
    """Prints the sum of the events that are delivered in each tick."""
    instance = Instance({Operator.S: ["input"]})
    instance.reuse_instance()
    for _ in range(3):
        instance.tick()
        times, ids = instance.events("input")
        print("tick", round(1e6 * instance.time()), "ids", ids.sum(), "times", round(1e6 * times.sum()))


if sys.argv[1] == "pulse":
    pulse()
if sys.argv[1] == "count":
    count()
if sys.argv[1] == "rows":
    rows()
if sys.argv[1] == "part":
    part()
if sys.argv[1] == "mapper":
    run_mapper(Scale())
if sys.argv[1] == "giver":
    giver()
if sys.argv[1] == "taker":
    run_submodel(Instance({Operator.S: ["deal[]"], Operator.O_I: ["back[]"]}), Taker())
if sys.argv[1] == "lone":
    run_light(lambda instance: Taker(instance, done=True))
