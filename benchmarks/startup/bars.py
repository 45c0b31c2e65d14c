"""Bars for the start and the end of runs, computed from measurements. Nothing is run here."""

import statistics

from lib.report import Bar

# Times the cost of the same program alone, started and awaited without a run: about 0.5 ms on two cores. The
# limit is 3 ms.
A_PROCESS = 6.0
# Part of the memory that MUSCLE 2 needs for a native process. The limit is 1 MB.
MEMORY_A_PROCESS, MUSCLE2_PROCESS = 0.6, 1.7e6
# Times the time of hand-written threads, one for each component, with a queue for each conduit and without a
# model file. The limit is about 0.5 s.
TIME_LIMIT = 6.0
# Part of the memory that MUSCLE 2 needs for the same number. The limit is 100 MB.
MEMORY_LIMIT, MUSCLE2_MEMORY_BYTES = 0.25, 413e6


def _times(name, ours, theirs, limit):
    """Returns the bar for the ratio to the peer's time. `limit` has its unit beside it."""
    ratios = [one / other for one, other in zip(ours, theirs)]
    return Bar(name, statistics.median(ours) / statistics.median(theirs), ratios, "<=", *limit)


def process_bars(ours, limited, alone, beyond):
    """Returns the bars for processes: seconds of one more process in each repetition, in a run, in a run with
    few open files, and alone; and the bytes that a run adds to a process."""
    limit, memory = (A_PROCESS, "times alone"), beyond / MUSCLE2_PROCESS
    return [
        _times("one more process", ours, alone, limit),
        _times("one more process, few open files", limited, alone, limit),
        Bar("memory of one more process, beyond its own", memory, [memory], "<=", MEMORY_A_PROCESS,
            "of MUSCLE 2's"),
    ]


def light_bars(name, runs, threads, memory):
    """Returns the bars for light components: seconds of the largest web in each repetition, in a run, in a run
    with few open files, and by threads; and the bytes of the run."""
    ways, limit, memory = ("", ", few open files"), (TIME_LIMIT, "times threads"), memory / MUSCLE2_MEMORY_BYTES
    found = [_times(f"{name}{way}", ours, threads, limit) for way, ours in zip(ways, runs)]
    return [*found, Bar(f"{name}, memory", memory, [memory], "<=", MEMORY_LIMIT, "of MUSCLE 2's")]
