"""The promises of a start and an end, computed from the measurements; nothing is run here."""

import statistics

from lib.report import Bar

# Times what the same program costs that is started and waited for by itself, about 0.5 ms on two cores: 3 ms.
A_PROCESS = 6.0
# Of what a native process costs MUSCLE 2, bytes: 1 MB.
MEMORY_A_PROCESS, MUSCLE2_PROCESS = 0.6, 1.7e6
# Times as long as a thread for each component and a queue for each conduit take by hand, without a model file:
# about 0.5 s.
LARGEST = 6.0
# Of what MUSCLE 2 takes for as many, bytes: 100 MB.
MEMORY_OF_LARGEST, MUSCLE2_LARGEST = 0.25, 413e6


def _times(name, ours, theirs, limit):
    """How many times theirs; `limit` has its unit beside it."""
    ratios = [one / other for one, other in zip(ours, theirs)]
    return Bar(name, statistics.median(ours) / statistics.median(theirs), ratios, "<=", *limit)


def process_bars(ours, limited, alone, beyond):
    """Seconds of one more process in each repetition: in a run, in one with few open files, alone; and the
    bytes that a run adds to it."""
    limit, memory = (A_PROCESS, "times alone"), beyond / MUSCLE2_PROCESS
    return [
        _times("one more process", ours, alone, limit),
        _times("one more process, few open files", limited, alone, limit),
        Bar("memory of one more process, beyond its own", memory, [memory], "<=", MEMORY_A_PROCESS,
            "of MUSCLE 2's"),
    ]


def light_bars(name, runs, threads, memory):
    """Seconds of the largest web in each repetition: in a run, in one with few open files, and by threads; and
    the bytes of the run."""
    ways, limit, memory = ("", ", few open files"), (LARGEST, "times threads"), memory / MUSCLE2_LARGEST
    found = [_times(f"{name}{way}", ours, threads, limit) for way, ours in zip(ways, runs)]
    return [*found, Bar(f"{name}, memory", memory, [memory], "<=", MEMORY_OF_LARGEST, "of MUSCLE 2's")]
