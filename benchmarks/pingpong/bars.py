"""The limits that the ping-pong's measurements must keep. Nothing is run here."""

import math
import statistics

from lib.report import Bar, size_name

KIB, MIB = 1 << 10, 1 << 20
MPI = ("openmpi", "mpich")
# Times the time of C, which was 0.1 µs; this allows 1 µs.
PYTHON_EMPTY = 10.0
# Times the time without counters and taps; this allows 5 ns of 100.
WATCHED = 1.05


def boundary(lines):
    """Returns the time between the two clusters of the bare line's times, or None if there is one cluster. Two
    clusters mean two cores whose distance changes. A cluster has at least three members and a twentieth of all
    times."""
    lines = sorted(lines)
    least = max(3, len(lines) // 20)
    gaps = [(lines[i] / lines[i - 1], i) for i in range(least, len(lines) - least + 1)]
    ratio, i = max(gaps, default=(1.0, 0))
    return math.sqrt(lines[i] * lines[i - 1]) if ratio > 1.5 else None


class Measurements:
    """The records of side A for each program, mode and size, with side B's processor time added, in order of
    time.

    Only records at one distance between the two cores are used: those at `place`, "far" or "near". `boundary`
    separates the two distances, and is None if there is only one.
    """

    def __init__(self):
        self.records = {}
        self.boundary = None
        self.place = "far"

    def add(self, program, record):
        self.records.setdefault((program, record["mode"], record["bytes"]), []).append(record)

    def lines(self):
        """Returns all times of the bare line, in ns."""
        found = [record for records in self.records.values() for record in records]
        return [record[key] for record in found for key in ("line_before_ns", "line_after_ns")]

    def settle(self):
        """Computes the boundary between the two distances from all records."""
        self.boundary = boundary(self.lines())

    def counts(self, record):
        """Returns True if the cores were at the chosen distance before and after this record."""
        if self.boundary is None:
            return True
        lines = record["line_before_ns"], record["line_after_ns"]
        return min(lines) > self.boundary if self.place == "far" else max(lines) < self.boundary

    def accepted(self, program, mode, bytes_):
        return [record for record in self.records.get((program, mode, bytes_), ()) if self.counts(record)]

    def has(self, program, mode, bytes_):
        return bool(self.accepted(program, mode, bytes_))

    def distance(self):
        """Returns the median of the bare line over the used records, in ns."""
        lines = [r["line_before_ns"] for key in self.records for r in self.accepted(*key)]
        return statistics.median(lines) if lines else math.nan

    def values(self, program, mode, bytes_, key="median_ns"):
        return [record[key] for record in self.accepted(program, mode, bytes_)]

    def median(self, program, mode, bytes_, key="median_ns"):
        values = self.values(program, mode, bytes_, key)
        return statistics.median(values) if values else None

    def sizes(self, mode):
        return sorted({bytes_ for _, m, bytes_ in self.records if m == mode})

    def best_mpi(self, mode, bytes_):
        """Returns the MPI configuration with the smallest median at this size, or None."""
        found = {
            program: self.median(program, mode, bytes_)
            for program, m, b in self.records
            if m == mode and b == bytes_ and program.split("/")[0] in MPI and self.has(program, mode, bytes_)
        }
        return min(found, key=found.get) if found else None

    def faster(self, name, program, other, mode, bytes_, factor):
        """Returns the bar that `program` is at least `factor` times as fast as `other`, or None if one is
        missing. Its value is the ratio of the medians, and its spread has the ratios of single repetitions."""
        ours, theirs = self.values(program, mode, bytes_), self.values(other, mode, bytes_)
        if not ours or not theirs:
            return None
        ratios = [b / a for a, b in zip(ours, theirs)]
        value = statistics.median(theirs) / statistics.median(ours)
        return Bar(f"{name}, {size_name(bytes_)}", value, ratios, ">=", factor, "times as fast")


def _against_mpi(m, program, mode, title, factor_of):
    for bytes_ in m.sizes(mode):
        mpi, factor = m.best_mpi(mode, bytes_), factor_of(bytes_)
        if mpi is None or factor is None:
            continue
        yield m.faster(f"{title} vs MPI", program, mpi, mode, bytes_, factor)


def _plain_view(bytes_):
    return 1.5 if KIB <= bytes_ <= 16 * KIB else 0.9


def _worked_view(_bytes):
    return 0.85


def _worked_loan(bytes_):
    if bytes_ == 64 * MIB:
        return 1.4
    return 1.1 if 64 * KIB <= bytes_ <= 32 * MIB else None


def _loan_of_bare(bytes_):
    return 0.85 if bytes_ >= 16 * KIB else None


def _into_of_bare(bytes_):
    return 0.75 if bytes_ else None


def _python_of_bare(bytes_):
    return 0.8 if bytes_ > MIB else None


def _python_of_muscle3(bytes_):
    if bytes_ <= 256 * KIB:
        return 50.0
    return 30.0 if bytes_ <= MIB else None


def _against(m, program, other, mode, title, factor_of):
    for bytes_ in m.sizes(mode):
        factor = factor_of(bytes_)
        if factor is not None:
            yield m.faster(title, program, other, mode, bytes_, factor)


def _longer(m, title, pair, bytes_, limit):
    """Returns the bar that the first program of a pair takes at most `limit` times as long as the second."""
    ours, theirs = (m.values(program, "plain", bytes_) for program in pair)
    if not ours or not theirs:
        return None
    value = statistics.median(ours) / statistics.median(theirs)
    return Bar(title, value, [a / b for a, b in zip(ours, theirs)], "<=", *limit)


def _rows_and_looks(m):
    """Yields the bars for the cost of counting messages and of taps."""
    for bytes_ in (0, KIB):
        pair = ("ligament/view", "unwatched/view")
        yield _longer(m, f"rows and looks, {size_name(bytes_)}", pair, bytes_, (WATCHED, "times without"))


def bars(m):
    """Returns all bars for the measured programs and sizes; `README.md` in this directory lists them."""
    found = list(_against_mpi(m, "ligament/view", "plain", "plain view", _plain_view))
    found += _against_mpi(m, "ligament/view", "worked", "worked view", _worked_view)
    found += _against_mpi(m, "ligament/loan", "worked", "worked loans", _worked_loan)
    found += _against(m, "ligament/loan", "bare/loan", "worked", "worked loans vs bare loop", _loan_of_bare)
    found += _against(m, "ligament/into", "bare/two", "plain", "receive_into vs two bare copies", _into_of_bare)
    python = "ligament/python"
    found.append(_longer(m, "Python, 0 B", (python, "ligament/view"), 0, (PYTHON_EMPTY, "times C")))
    found += _against(m, python, "muscle3", "plain", "Python vs MUSCLE 3", _python_of_muscle3)
    found += _against(m, python, "bare/python", "plain", "Python vs bare copy", _python_of_bare)
    found += _rows_and_looks(m)
    return [bar for bar in found if bar]
