"""The limits that measurements of MPI programs must keep. Nothing is run here."""

import statistics

from lib.mpi import TITLES
from lib.report import Bar, size_name

SHARE = {"openmpi": 0.5, "mpich": 1.5}  # % of a core
COMPUTES = 1.05
# Times MPI_Bcast of the same size. Small messages are allowed 1 µs more, where MPI_Bcast takes 1 µs.
KIB = 1 << 10
SMALL_GIFT_LIMIT, GIFT_LIMIT = 2.0, 1.1
# Times mpirun alone, which takes about 0.2 s. This allows 50 ms more.
START = 1.25


class Measurements:
    """Measured values of each repetition, by MPI."""

    def __init__(self):
        # Waiting ranks, % of a core, of the busiest among ranks 1 to 3: in calls of Ligament, and in MPI_Bcast.
        self.shares, self.bcast_shares = {}, {}
        # Time of a computation in s: beside waiting ranks, and alone.
        self.beside, self.alone = {}, {}
        # By MPI and bytes, time until the last rank has the message of rank 0, in ns: with Ligament, and by
        # MPI_Bcast.
        self.given, self.bcast = {}, {}
        # By MPI and ranks, time until all ranks take part, in s: by `ligament run`, and by the launcher alone.
        self.begun, self.launched = {}, {}


def _times(name, ours, theirs, limit):
    """Returns the bar for the ratio to the times of the peer. `limit` has its unit beside it."""
    ratios = [one / other for one, other in zip(ours, theirs)]
    return Bar(name, statistics.median(ours) / statistics.median(theirs), ratios, "<=", *limit)


def bars(m):
    """Returns the bars for all measurements. `README.md` in this directory lists them."""
    found = []
    for family, title in TITLES.items():
        if family in m.shares:
            shares = m.shares[family]
            found.append(Bar(f"a rank that waits, {title}", statistics.median(shares), shares, "<=",
                             SHARE[family],
                             "% of a core"))
        if family in m.beside:
            found.append(_times(f"computing beside them, {title}", m.beside[family], m.alone[family],
                                (COMPUTES, "times alone")))
        for key in sorted(one for one in m.given if one[0] == family):
            limit = SMALL_GIFT_LIMIT if key[1] <= KIB else GIFT_LIMIT
            found.append(_times(f"to all of 2, {size_name(key[1])}, {title}", m.given[key], m.bcast[key],
                                (limit, "times MPI_Bcast")))
        for key in sorted(one for one in m.begun if one[0] == family):
            found.append(_times(f"start, ranks: {key[1]}, {title}", m.begun[key], m.launched[key],
                                (START, "times mpirun")))
    return found
