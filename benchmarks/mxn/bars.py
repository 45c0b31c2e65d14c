"""The limits that measurements of the exchange of arrays must keep. Nothing is run here."""

import statistics

from lib.report import Bar

# Times the speed of the fastest MPI variant: with private arrays, and with a loan as the sender's array.
PRIVATE, LOAN = 1.1, 1.5
# Times the speed of the same copies by hand.
BARE = 0.75


class Measurements:
    """Times of an exchange in ns: a value for each repetition, by layout and program."""

    def __init__(self):
        self.times = {}

    def add(self, layout, what, value):
        self.times.setdefault((layout, what), []).append(value)

    def layouts(self):
        return list(dict.fromkeys(layout for layout, _ in self.times))

    def best_peer(self, layout):
        """Returns the MPI variant with the least median, and its times."""
        peers = {what: times for (of, what), times in self.times.items()
                 if of == layout and what.startswith("MPI")}
        return min(peers.items(), key=lambda pair: statistics.median(pair[1]), default=(None, None))


def _bar(name, theirs, ours, limit, unit):
    """Returns the bar for the ratio of the peer's times to those of Ligament."""
    ratios = [other / one for one, other in zip(ours, theirs)]
    return Bar(name, statistics.median(theirs) / statistics.median(ours), ratios, ">=", limit, unit)


def bars(m):
    """Returns the bars for all measurements. `README.md` in this directory lists them."""
    found = []
    for layout in m.layouts():
        _, peer = m.best_peer(layout)
        for what, bare, limit in (("private arrays", "bare copies", PRIVATE), ("a loan", "bare shared", LOAN)):
            ours = m.times[layout, what]
            if peer:
                found.append(_bar(f"{layout}, {what}", peer, ours, limit, "times the best MPI"))
            found.append(_bar(f"{layout}, {what}", m.times[layout, bare], ours, BARE, "of the bare loop"))
    return found
