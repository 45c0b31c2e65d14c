"""The limits that measurements of many instances with remote conduits must keep. Nothing is run here."""

import statistics

from lib.report import Bar

MUSCLE2 = 4e9  # bytes in which MUSCLE 2 had the same number


def bars(found, least):
    """Returns the bars. `found` has the runs of each case by its name. `least` is the name of the case with
    only one pair."""
    made = []
    for name, runs in found.items():
        if name == least:
            continue
        values = [run["memory"] / MUSCLE2 for run in runs]
        made.append(Bar(f"memory of {name}", statistics.median(values), values, "<=", 1.0, "of MUSCLE 2's"))
    if least in found:
        base = min(run["connections"] for run in found[least])
        for name, runs in found.items():
            if name != least:
                more = [run["connections"] - base for run in runs]
                made.append(Bar(f"connections of {name}", max(more), more, "<=", 0, "more than of one pair"))
    return made
