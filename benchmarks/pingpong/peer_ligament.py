"""Ligament's Python library: started twice by `ligament run`, as the components ping (side A) and pong (side
B)."""

import sys

import harness
from ligament import Instance, Message, Operator

side = sys.argv[1]
harness.pin(side)
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})


def send(array):
    instance.send("out", Message(0.0, None, array))


def receive():
    return instance.receive("in").data


while instance.reuse_instance():
    harness.run(side, send, receive)
