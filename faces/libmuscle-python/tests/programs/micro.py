"""A micro that sends back twice what it has received."""

from libmuscle import KEEPS_NO_STATE_FOR_NEXT_USE, Grid, Instance, Message
from ymmsl import Operator

instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]}, KEEPS_NO_STATE_FOR_NEXT_USE)
while instance.reuse_instance():
    came = instance.receive("in")
    instance.send("out", Message(came.timestamp, data=Grid(2 * came.data.array, ["x"])))
