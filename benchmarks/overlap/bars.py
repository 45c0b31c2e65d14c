"""The limits that measurements of computing while messages leave must keep. Nothing is run here."""

import statistics

from lib.report import Bar

LONGER = 1.03  # time of a step that sends, divided by that of a step that does not


class Measurements:
    """By program, for each repetition: the median of steps that send, divided by the median of other steps."""

    def __init__(self):
        self.ratios = {}
        self.steps = {}  # program: [(s without sending, s with)]

    def add(self, program, records):
        """Adds the sender's records of one repetition: {"sends": bool, "seconds": s}."""
        without, with_ = (statistics.median(r["seconds"] for r in records if r["sends"] is sends)
                          for sends in (False, True))
        self.steps.setdefault(program, []).append((without, with_))
        self.ratios.setdefault(program, []).append(with_ / without)


def bars(m):
    """Returns the bars of Ligament's programs. `README.md` in this directory lists them."""
    return [
        Bar(f"a step with 64 MiB, {program}", statistics.median(ratios), ratios, "<=", LONGER,
            "times a step without")
        for program, ratios in m.ratios.items()
        if program.startswith("ligament/")
    ]
