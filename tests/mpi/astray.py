"""Like astray.c, in Python: the first argument names the fault of the last rank in its third pass."""

import signal
import sys

import numpy as np

from ligament import Message, Operator
from ligament.mpi import Instance


def main():
    mode = sys.argv[1]
    ranks = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
    rank, passes = ranks.comm.rank, 0
    while ranks.reuse_instance():
        passes += 1
        astray = rank == (0 if mode == "type" else ranks.comm.size - 1) and passes == 3
        if astray and mode == "raise":
            raise ValueError("no such place")
        if astray and mode == "exit":
            sys.exit(3)
        if astray and mode == "late":
            signal.pause()
        if astray and mode == "order":
            ranks.receive("start")
        if mode == "type" and passes == 3:
            ranks.receive("start", "no slot" if astray else None)
        start = ranks.receive_all("begin" if astray and mode == "port" else "start")
        part = start.data.size // ranks.comm.size
        whole = ranks.comm.gather(start.data[rank * part:(rank + 1) * part] * (rank + 1), root=0)
        if ranks.root:
            ranks.root.send("end", Message(start.timestamp, data=np.concatenate(whole)))


main()
