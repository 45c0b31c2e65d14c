"""The limits of `benchmarks/run faces`."""

import statistics

from lib import report

MIN_SPEEDUP = 50  # beside MUSCLE 3
MAX_SPEEDUP_SIZE = 256 << 10
MAX_OVERHEAD_US = 1.0  # beside Ligament's own calls
MAX_OVERHEAD_SIZE = 64 << 10  # above it, the spread of a copy's time is larger than a µs
MAX_EXCHANGE_RATIO = 1.05  # of MPWide's calls, beside Ligament's own
MAX_WINDOW_RATIO = 1.2  # of a window of implicit coupling, beside NumPy


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


def exchange_bars(times):
    """Returns the bars for the times of an exchange in each repetition: MPWide's calls, own calls; by bytes."""
    return [ratio_bar(f"MPWide.h beside own calls, {report.size_name(bytes_)}", rows, MAX_EXCHANGE_RATIO)
            for bytes_, rows in times.items()]


def window_bars(rows):
    """Returns the bar for the times of a window in each repetition: in a run, in NumPy."""
    return [ratio_bar("a window with Aitken beside NumPy", rows, MAX_WINDOW_RATIO)]


def ratio_bar(name, rows, limit):
    ratios = [one / other for one, other in rows]
    return report.Bar(name, statistics.median(ratios), ratios, "<=", limit, "×")
