"""Starts from a level, and ends with its square, to which each rank adds a part. Replace what is computed by
your own."""

from ligament import Message, Operator
from ligament.mpi import Instance

instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
comm = instance.comm
while instance.reuse_instance():
    start = instance.receive_all("start")  # on all ranks
    part = start.data**2 / comm.size
    whole = comm.reduce(part, root=0)
    if instance.root:
        instance.root.send("end", Message(start.timestamp, data=whole))
