"""The limits of `benchmarks/run faces`."""

import statistics

from lib import report

MIN_SPEEDUP = 50  # beside MUSCLE 3
MAX_SPEEDUP_SIZE = 256 << 10
MAX_OVERHEAD_US = 1.0  # beside Ligament's own calls
MAX_OVERHEAD_SIZE = 64 << 10  # above it, the spread of a copy's time is larger than a µs


def bars(times):
    """Returns the bars for the one-way times (ns) of each repetition: MUSCLE 3, the face, own calls; by bytes.
    """
    found = []
    for bytes_, rows in times.items():
        name = report.size_name(bytes_)
        if bytes_ <= MAX_SPEEDUP_SIZE:
            ratios = [peer / face for peer, face, _ in rows]
            found.append(report.Bar(f"face beside MUSCLE 3, {name}", statistics.median(ratios), ratios, ">=",
                                    MIN_SPEEDUP, "×"))
        if bytes_ <= MAX_OVERHEAD_SIZE:
            more = [(face - own) / 1e3 for _, face, own in rows]
            found.append(report.Bar(f"face beside own calls, {name}", statistics.median(more), more, "<=",
                                    MAX_OVERHEAD_US, "µs more"))
    return found
