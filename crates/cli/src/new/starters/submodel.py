"""Starts from a level, and ends with its square. Replace what is computed by your own."""

from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    start = instance.receive("start")
    instance.send("end", Message(start.timestamp, data=start.data**2))
