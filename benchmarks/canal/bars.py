"""The limits that the canal's measurements must keep. Nothing is run here."""

import statistics

from lib.report import Bar

# The time of MPI's best way, divided by ours: for the size N = 0.5, and for larger ones.
EFFICIENCY_SMALL, EFFICIENCY = 0.9, 0.95
SMALL_N = 0.5
# A step of two sites, divided by one on one machine, by the round trip of the link in ms.
SITES = {4: 1.15, 42: 1.30}
# The way of ours that is compared with MPI, and with two sites.
OURS = "ligament: exchange"


class Measurements:
    """The ms of a step, a value for each repetition: by the size N and program, and of two sites."""

    def __init__(self):
        self.steps = {}  # (N, program): [ms]
        self.sites = {}  # (N, round trip in ms): [(ms on one machine, ms as two sites)]

    def add(self, size, program, value):
        self.steps.setdefault((size, program), []).append(value)

    def add_sites(self, size, rtt, pair):
        self.sites.setdefault((size, rtt), []).append(pair)

    def best_peer(self, size):
        """Returns the way of MPI with the least median, and its times; None and no times if there is none."""
        peers = {program: times for (of, program), times in self.steps.items()
                 if of == size and program.startswith("MPI")}
        return min(peers.items(), key=lambda pair: statistics.median(pair[1]), default=(None, []))


def bars(m):
    """Returns the bars for all measurements: medians of ratios within a repetition."""
    found = []
    for size in sorted({of for of, _ in m.steps}, reverse=True):
        name, peer = m.best_peer(size)
        if name is None:
            continue
        ratios = [theirs / ours for theirs, ours in zip(peer, m.steps[size, OURS], strict=True)]
        limit = EFFICIENCY_SMALL if size <= SMALL_N else EFFICIENCY
        found.append(Bar(f"N = {size:g}, two sections", statistics.median(ratios), ratios, ">=", limit,
                         f"of {name.removeprefix('MPI: ')}"))
    for (size, rtt), pairs in sorted(m.sites.items()):
        ratios = [two / one for one, two in pairs]
        found.append(Bar(f"N = {size:g}, two sites at {rtt} ms", statistics.median(ratios), ratios, "<=",
                         SITES[rtt], "times one machine"))
    return found
