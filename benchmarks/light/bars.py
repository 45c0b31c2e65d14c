"""What is promised of light components."""

import statistics

from lib.report import Bar

SECONDS, MEGABYTES = 3.0, 1000.0  # of the largest web, from start to end
AS_FAST_AS_THREADS = 1.0


def bars(name, seconds, memory, rates):
    """`seconds` are those of the largest web in each repetition, `memory` its bytes; `rates` are pairs of messages per second
    for each repetition, ours and those of threads."""
    ratios = [ours / theirs for ours, theirs in rates]
    return [
        Bar(f"{name}: start, exchange, end", statistics.median(seconds), seconds, "<=", SECONDS, "s"),
        Bar(f"{name}: memory", memory / 1e6, [memory / 1e6], "<=", MEGABYTES, "MB"),
        Bar("messages a second, of those of threads", statistics.median(ratios), ratios, ">=", AS_FAST_AS_THREADS, "times"),
    ]
