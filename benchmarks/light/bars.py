"""What is promised of light components."""

import statistics

from lib.report import Bar

# Times as long as threads by hand take for as many components and conduits, without a model file: about 3 s.
AS_LONG_AS_THREADS = 3.0
# Of the 4 GB in which MUSCLE 2 had as many.
MEMORY, MUSCLE2 = 0.25, 4e9
AS_FAST_AS_THREADS = 1.0


def bars(name, seconds, memory, rates):
    """`seconds` are pairs of those of the largest web in each repetition, ours and those of threads, `memory`
    its bytes; `rates` are pairs of messages per second for each repetition, ours and those of threads."""
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
