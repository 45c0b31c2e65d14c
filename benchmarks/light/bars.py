"""The limits that measurements of light components must keep. Nothing is run here."""

import statistics

from lib.report import Bar

# Times the time of hand-written threads for the same number of components and conduits, without a model file.
# The limit is about 3 s.
AS_LONG_AS_THREADS = 3.0
# Limit as a part of the 4 GB in which MUSCLE 2 had the same number of components.
MEMORY, MUSCLE2 = 0.25, 4e9
AS_FAST_AS_THREADS = 1.0


def bars(name, seconds, memory, rates):
    """Returns the bars. `seconds` has pairs of times of the largest web for each repetition, of Ligament and of
    threads. `memory` has its bytes. `rates` has pairs of messages per second for each repetition, of Ligament
    and of threads."""
    longer = [ours / theirs for ours, theirs in seconds]
    ratios = [ours / theirs for ours, theirs in rates]
    memory /= MUSCLE2
    return [
        Bar(f"{name}: start, exchange, end", statistics.median(longer), longer, "<=", AS_LONG_AS_THREADS,
            "times threads"),
        Bar(f"{name}: memory", memory, [memory], "<=", MEMORY, "of MUSCLE 2's"),
        Bar("messages a second, of those of threads", statistics.median(ratios), ratios, ">=",
            AS_FAST_AS_THREADS, "times"),
    ]
