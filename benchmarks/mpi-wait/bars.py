"""What is promised about MPI, computed from the measurements; nothing is run here."""

import statistics

from lib.mpi import TITLES
from lib.report import Bar, size_name

SHARE = {"openmpi": 0.5, "mpich": 1.5}  # % of a core
COMPUTES = 1.05
# Times as long as MPI_Bcast of as many bytes: a microsecond more was allowed to small messages, where that
# takes one.
KIB = 1 << 10
GIVEN_SMALL, GIVEN = 2.0, 1.1
# Times as long as mpirun alone, which takes about 0.2 s: 50 ms more.
START = 1.25


class Measurements:
    """By MPI, a value for each repetition."""

    def __init__(self):
        # Of ranks that wait, % of a core, the busiest of 1 to 3: in Ligament's calls, and in MPI_Bcast.
        self.shares, self.bcast_shares = {}, {}
        # How long a computation takes, s: beside ranks that wait, and alone.
        self.beside, self.alone = {}, {}
        # By MPI and bytes, how long until the last rank has what rank 0 has, ns: with Ligament, and by
        # MPI_Bcast.
        self.given, self.bcast = {}, {}
        # By MPI and ranks, until all take part, s: by `ligament run`, and by the launcher alone.
        self.begun, self.launched = {}, {}


def _times(name, ours, theirs, limit):
    """How many times as long as theirs; `limit` has its unit beside it."""
    ratios = [one / other for one, other in zip(ours, theirs)]
    return Bar(name, statistics.median(ours) / statistics.median(theirs), ratios, "<=", *limit)


def bars(m):
    """The bars of what was measured, as `README.md` beside this file has them."""
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
            limit = GIVEN_SMALL if key[1] <= KIB else GIVEN
            found.append(_times(f"to all of 2, {size_name(key[1])}, {title}", m.given[key], m.bcast[key],
                                (limit, "times MPI_Bcast")))
        for key in sorted(one for one in m.begun if one[0] == family):
            found.append(_times(f"start, ranks: {key[1]}, {title}", m.begun[key], m.launched[key],
                                (START, "times mpirun")))
    return found
