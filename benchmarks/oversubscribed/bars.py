"""The limits that measurements on crowded cores must keep. Nothing is run here."""

import statistics

from lib.report import Bar, size_name

CROWDED = (4, 8, 32)  # sizes of rings with more processes than cores
LARGE = 64 << 10
HAND_OVER = 1.3  # times a bare futex
BLOCKED = 0.1  # % of a core


class Measurements:
    """Measured values of each repetition."""

    def __init__(self):
        self.hops = {}  # (program, processes, bytes): µs a hop
        self.hand_overs = {}  # (program, cores): µs
        self.blocked = {}  # (program, processes): % of a core that the busiest one used

    def hop(self, program, processes, bytes_):
        values = self.hops.get((program, processes, bytes_))
        return statistics.median(values) if values else None

    def best(self, family, processes, bytes_):
        """Returns the configuration of this family with the shortest hop, or None."""
        found = {
            program: self.hop(program, n, b)
            for program, n, b in self.hops
            if (n, b) == (processes, bytes_) and program.split("/")[0] == family
        }
        return min(found, key=found.get) if found else None


def _faster(m, family, title, processes, bytes_, factor):
    """Returns the bar that a hop of Ligament takes at most 1/factor of this family's best, or None if one is
    missing."""
    other = m.best(family, processes, bytes_)
    ours = m.hops.get(("ligament", processes, bytes_))
    if not other or not ours:
        return None
    theirs = m.hops[(other, processes, bytes_)]
    value = statistics.median(theirs) / statistics.median(ours)
    ratios = [b / a for a, b in zip(ours, theirs)]
    return Bar(f"{size_name(bytes_)} among {processes} vs {title}", value, ratios, ">=", factor,
               "times as fast")


def _least(processes, bytes_):
    """Returns the required ratio of Open MPI's hop to Ligament's hop."""
    if bytes_:
        return 1.2
    return 1.0 if processes == 32 else 0.85


def bars(m):
    """Returns all bars for the measured programs and rings. `README.md` in this directory lists them."""
    found = []
    for bytes_ in (0, LARGE):
        for processes in CROWDED:
            found.append(_faster(m, "openmpi", "Open MPI", processes, bytes_, _least(processes, bytes_)))
    for bytes_ in (0, LARGE):
        found += [_faster(m, "mpich", "MPICH", processes, bytes_, 50.0) for processes in CROWDED]
    for (program, cores), ours in m.hand_overs.items():
        bare = m.hand_overs.get(("bare/futex", cores))
        if program == "ligament" and bare:
            value = statistics.median(ours) / statistics.median(bare)
            title = f"hand-over to a parked one, {cores} core{'s' if cores > 1 else ''}"
            found.append(Bar(title, value, [a / b for a, b in zip(ours, bare)], "<=", HAND_OVER,
                             "times a bare futex"))
    for (program, processes), used in m.blocked.items():
        if program == "ligament":
            title = f"processor time while blocked, {processes} instances"
            found.append(Bar(title, max(used), used, "<=", BLOCKED, "% of a core"))
    return [bar for bar in found if bar]
