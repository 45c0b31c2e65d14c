"""The limits that measurements of the exchange of spikes must keep. Nothing is run here."""

import statistics

from lib.report import Bar

# Times the speed of MUSIC's best variant, by case and by ranks of each side.
LIMITS = {
    "one way, arrays": {1: 3.5, 2: 5, 4: 5, 8: 4},
    "both ways, arrays": {1: 2, 2: 3, 4: 3, 8: 3},
    "one way, single events": {1: 2, 2: 2, 4: 2, 8: 2},
    "a tenth, arrays": {1: 2, 2: 1.5, 4: 1.5, 8: 1.5},
}


class Measurements:
    """Times of a run, s: a value for each repetition, by case, ranks and program."""

    def __init__(self):
        self.times = {}

    def add(self, case, ranks, program, seconds):
        self.times.setdefault((case, ranks, program), []).append(seconds)

    def best(self, case, ranks, name):
        """Returns the times of the program's variant with the least median, or None if none came to its end."""
        ways = [times for (of, count, program), times in self.times.items()
                if of == case and count == ranks and program.startswith(name)]
        return min(ways, key=statistics.median, default=None)


def bars(m):
    """Returns the bars for all measurements. `README.md` in this directory lists them."""
    found = []
    for case, limits in LIMITS.items():
        for ranks, limit in limits.items():
            ours, theirs = m.best(case, ranks, "ours"), m.best(case, ranks, "MUSIC")
            if ours and theirs:
                ratios = [other / one for one, other in zip(ours, theirs)]
                value = statistics.median(theirs) / statistics.median(ours)
                name = f"{case}, {ranks}+{ranks}"
                found.append(Bar(name, value, ratios, ">=", limit, "times the best of MUSIC"))
    return found
