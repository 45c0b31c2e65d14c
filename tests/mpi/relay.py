"""Like relay.c, in Python."""

import sys

import numpy as np
from mpi4py import MPI

from ligament import Message, Operator, UnexpectedError
from ligament.mpi import Instance


def say(line):
    """Each line is written at once, because mpirun mixes the outputs of all ranks in the order in which they
    come."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


all_ranks = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
rank, ranks, passes = all_ranks.comm.rank, all_ranks.comm.size, 0
while all_ranks.reuse_instance():
    passes += 1
    if sys.argv[1:] == ["unlike"]:
        try:
            all_ranks.receive_into("start", np.empty(7))
        except UnexpectedError as error:
            say(f"rank {rank} got unexpected: {error}")
        all_ranks.comm.Barrier()  # the run may end once rank 0 goes on: by then all have written
        continue
    if passes % 4 == 0:
        # Rank 0 gets the message, and passes it on by itself.
        came = all_ranks.receive("start")
        assert (came is None) == (rank > 0)
        timestamp, field = all_ranks.comm.bcast(came and (came.timestamp, np.array(came.data)), root=0)
    elif passes % 4 == 1:
        field = np.empty(1200)
        timestamp = all_ranks.receive_into("start", field).timestamp
    else:
        start = all_ranks.receive_all("start")
        timestamp, field = start.timestamp, start.data
    if all_ranks.steer(timestamp):
        say(f"rank {rank} is steered at {timestamp:g} to {all_ranks.get_setting('factor', 'float'):g}")
    part = field.size // ranks
    own = field[rank * part:(rank + 1) * part] * (rank + 1)
    whole = all_ranks.comm.gather(own, root=0)
    if all_ranks.root:
        all_ranks.root.send("end", Message(timestamp, data=np.concatenate(whole)))
say(f"rank {rank} of {ranks}: {passes} passes, 1 threads")
all_ranks.finish()
