"""What is promised about MPI, computed from the measurements; nothing is run here."""

import statistics

from lib.mpi import TITLES
from lib.report import Bar, size_name

SHARE = {"openmpi": 0.5, "mpich": 1.5}  # % of a core
COMPUTES = 1.05
GIVEN_NS, GIVEN_PART = 1000, 0.1
START_MS = 50


class Measurements:
    """By MPI, a value for each repetition."""

    def __init__(self):
        # Of ranks that wait, % of a core, the busiest of 1 to 3: in Ligament's calls, and in MPI_Bcast.
        self.shares, self.bcast_shares = {}, {}
        # How long a computation takes, s: beside ranks that wait, and alone.
        self.beside, self.alone = {}, {}
        # By MPI and bytes, how long until the last rank has what rank 0 has, ns: with Ligament, and by MPI_Bcast.
        self.given, self.bcast = {}, {}
        # By MPI and ranks, until all take part, s: by `ligament run`, and by the launcher alone.
        self.begun, self.launched = {}, {}


def bars(m):
    """The bars of what was measured, as `README.md` beside this file has them."""
    found = []
    for family, title in TITLES.items():
        if family in m.shares:
            shares = m.shares[family]
            found.append(Bar(f"a rank that waits, {title}", statistics.median(shares), shares, "<=", SHARE[family],
                             "% of a core"))
        if family in m.beside:
            ratios = [beside / alone for beside, alone in zip(m.beside[family], m.alone[family])]
            whole = statistics.median(m.beside[family]) / statistics.median(m.alone[family])
            found.append(Bar(f"computing beside them to alone, {title}", whole, ratios, "<=", COMPUTES, ""))
        for key in sorted(one for one in m.given if one[0] == family):
            bcast = statistics.median(m.bcast[key])
            more = [given - bcast for given in m.given[key]]
            name = f"to all of 2 beyond MPI_Bcast, {size_name(key[1])}, {title}"
            found.append(Bar(name, statistics.median(more), more, "<=", max(GIVEN_NS, GIVEN_PART * bcast), "ns"))
        for key in sorted(one for one in m.begun if one[0] == family):
            more = [1e3 * (begun - launched) for begun, launched in zip(m.begun[key], m.launched[key])]
            name = f"start beyond mpirun's own, ranks: {key[1]}, {title}"
            found.append(Bar(name, statistics.median(more), more, "<=", START_MS, "ms"))
    return found
