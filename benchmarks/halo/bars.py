"""The limits that measurements of the exchange of ghosts must keep. Nothing is run here."""

import statistics

from lib.report import Bar

# Times the speed of the fastest MPI variant: at 64³ points, and for larger blocks.
SMALL, LARGE = 0.9, 1.0
SMALL_EDGE = 64
# Times the speed of the bare loop over shared memory.
BARE = 0.85
OURS, LOOP = "Ligament", "bare loop"


class Measurements:
    """Times of an exchange in ns: a value for each repetition, by case and program. A case is (points along an
    edge, fields, width of the ghosts)."""

    def __init__(self):
        self.times = {}

    def add(self, case, program, value):
        self.times.setdefault((case, program), []).append(value)

    def cases(self):
        return list(dict.fromkeys(case for case, _ in self.times))

    def best_peer(self, case):
        """Returns the MPI variant with the least median, and its times."""
        peers = {program: times for (of, program), times in self.times.items()
                 if of == case and program not in (OURS, LOOP)}
        return min(peers.items(), key=lambda pair: statistics.median(pair[1]), default=(None, None))


def case_name(case):
    edge, fields, ghosts = case
    return f"{edge}³, {fields} field{'s' if fields > 1 else ''} of width {ghosts}"


def _bar(name, theirs, ours, limit, unit):
    """Returns the bar for the ratios of the peer's times to those of Ligament, pair by pair."""
    ratios = [other / one for one, other in zip(ours, theirs)]
    return Bar(name, statistics.median(ratios), ratios, ">=", limit, unit)


def bars(m):
    """Returns the bars for all measurements. `README.md` in this directory lists them."""
    found = []
    for case in m.cases():
        ours, (_, peer) = m.times[case, OURS], m.best_peer(case)
        if peer:
            limit = SMALL if case[0] <= SMALL_EDGE else LARGE
            found.append(_bar(case_name(case), peer, ours, limit, "times the best MPI"))
        found.append(_bar(case_name(case), m.times[case, LOOP], ours, BARE, "of the bare loop"))
    return found
