"""MUSCLE 3's Python library: started twice by muscle_manager, as the components ping (side A) and pong (side
B)."""

import sys

import harness
from libmuscle import Instance, Message
from ymmsl.v0_2 import Operator

side = sys.argv[1]
harness.pin(side)
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})


def send(array):
    instance.send("out", Message(0.0, None, array))


def receive():
    data = instance.receive("in").data
    return data.array if hasattr(data, "array") else data


while instance.reuse_instance():
    harness.run(side, send, receive)
