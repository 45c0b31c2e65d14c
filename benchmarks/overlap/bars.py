"""What is promised about computing while messages leave, computed from the measurements; nothing is run
here."""

import statistics

from lib.report import Bar

LONGER = 1.03  # a step that sends, in steps that do not


class Measurements:
    """By program, for each repetition: the median step that sends, in median steps that do not."""

    def __init__(self):
        self.ratios = {}
        self.steps = {}  # program: [(s without sending, s with)]

    def add(self, program, records):
        """Takes the sender's records of one repetition: {"sends": bool, "seconds": s}."""
        without, with_ = (statistics.median(r["seconds"] for r in records if r["sends"] is sends)
                          for sends in (False, True))
        self.steps.setdefault(program, []).append((without, with_))
        self.ratios.setdefault(program, []).append(with_ / without)


def bars(m):
    """The bars of the programs of Ligament that were measured, as `README.md` beside this file has them."""
    return [
        Bar(f"a step with 64 MiB, {program}", statistics.median(ratios), ratios, "<=", LONGER,
            "times a step without")
        for program, ratios in m.ratios.items()
        if program.startswith("ligament/")
    ]
