"""Pictures of a profile, with matplotlib."""

from collections import defaultdict

import numpy as np
from libmuscle import ProfileDatabase
from matplotlib import pyplot

_COLOURS = {"SEND": "tab:green", "RECEIVE_TRANSFER": "tab:blue", "RECEIVE_WAIT": "lightgrey"}


def plot_instances(database: ProfileDatabase) -> None:
    """Draws for each instance the time (s) that it computed, moved messages and waited."""
    names, *times = database.instance_stats()
    _, axes = pyplot.subplots(layout="constrained")
    bottom = np.zeros(len(names))
    for label, part in zip(("Compute", "Transfer", "Wait"), times, strict=True):
        axes.bar(names, part, 0.5, bottom=bottom, label=label)
        bottom += part
    axes.set(title="Time of each instance", xlabel="Instance", ylabel="Time (s)")
    axes.legend()


def plot_resources(database: ProfileDatabase) -> None:
    """Draws for each core the time (s) of the instances on it.

    Raises:
        RuntimeError: The profile does not say on which cores the instances ran.
    """
    cores = database.resource_stats()
    if not cores:
        raise RuntimeError("a run of Ligament does not record cores in its profile; see `ligament view`")
    _, axes = pyplot.subplots(layout="constrained")
    for place, (core, parts) in enumerate(sorted(cores.items())):
        bottom = 0.0
        for name, length in sorted(parts.items()):
            axes.bar(place, length, bottom=bottom, label=name)
            bottom += length
    axes.set_xticks(range(len(cores)), sorted(cores))
    axes.set(title="Time of each core", xlabel="Core", ylabel="Time (s)")


def plot_timeline(database: ProfileDatabase) -> None:
    """Draws what each instance did when: it computes where nothing else is drawn."""
    rows = database.events(tuple(_COLOURS))
    bars = defaultdict(list)
    begin = min((row[2] for row in rows), default=0)
    for name, kind, start, stop in rows:
        bars[name, kind].append(((start - begin) * 1e-9, (stop - start) * 1e-9))
    names = sorted({name for name, _ in bars})
    _, axes = pyplot.subplots(layout="constrained")
    for kind, colour in _COLOURS.items():
        for place, name in enumerate(names):
            label = kind if place == 0 else None
            axes.broken_barh(bars[name, kind], (place - 0.4, 0.8), color=colour, label=label)
    axes.set_yticks(range(len(names)), names)
    axes.set(title="Timeline", xlabel="Wallclock time (s)")
    axes.legend()


def show_plots() -> None:
    """Shows what was drawn, until the windows are closed."""
    pyplot.show()
