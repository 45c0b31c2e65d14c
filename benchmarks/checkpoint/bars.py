"""The limits that measurements of checkpoints, restarts and recordings must keep. Nothing is run here."""

import statistics
from dataclasses import dataclass, field

from lib.report import Bar

HELD_UP = 1.35  # times a bare program that writes and syncs the same bytes at the same place
MEMORY = 64  # MiB beyond the state
RESTART = 1.4  # times the time from the start of a run until all instances step
CALL_IN_C, CALL_IN_PYTHON = 10, 100  # ns of `should_save_snapshot` if no checkpoint is asked for
RECORDED = 1.3  # times the run without a recording, plus a bare loop that writes the bytes


@dataclass
class Measurements:
    """Values of all repetitions. Times are in s, those of calls in ns."""

    held: list = field(default_factory=list)  # (Ligament's, the bare program's)
    grown: list = field(default_factory=list)  # MiB beyond the state, of each instance
    restarts: list = field(default_factory=list)  # until all step: (from the kill, from the start)
    calls: dict = field(default_factory=dict)  # by language
    recorded: list = field(default_factory=list)  # (recorded, without, the bare loop)


def bars(m):
    """Returns the bars of what was measured. `README.md` in this directory lists them."""
    found = []
    if m.held:
        ratios = [ours / bare for ours, bare in m.held]
        found.append(Bar("held up by a checkpoint", statistics.median(ratios), ratios, "<=", HELD_UP,
                         "times a bare write and sync"))
        found.append(Bar("memory beyond the state", max(m.grown), m.grown, "<=", MEMORY, "MiB"))
    if m.restarts:
        ratios = [again / first for again, first in m.restarts]
        found.append(Bar("from a kill until all step again", statistics.median(ratios), ratios, "<=", RESTART,
                         "times from the start"))
    for language, limit in (("C", CALL_IN_C), ("Python", CALL_IN_PYTHON)):
        if times := m.calls.get(language):
            name = f"should_save_snapshot, {language}"
            found.append(Bar(name, statistics.median(times), times, "<=", limit, "ns"))
    if m.recorded:
        ratios = [recorded / (without + bare) for recorded, without, bare in m.recorded]
        found.append(Bar("messages of 1 MiB, recorded", statistics.median(ratios), ratios, "<=", RECORDED,
                         "times without, plus a bare loop"))
    return found
