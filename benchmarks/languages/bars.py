"""The limits that measurements of the languages must keep. Nothing is run here."""

import statistics

from lib.report import Bar, size_name

KIB = 1 << 10
SIZES = (0, KIB, 64 * KIB, 1024 * KIB)
LIKE_C = ("cpp", "rust", "fortran")
# Times the time of C in the same run. When these bars were chosen, an empty message took 100 ns in C. The
# allowed excess was 30 ns for compiled languages, 150 ns for Java and 1 µs for Python.
LIKE_C_SMALL, LIKE_C_LARGE = 1.3, 1.1
JAVA_SMALL, JAVA_MIDDLE, JAVA_LARGE = 2.5, 1.3, 1.05
PYTHON_EMPTY = 10


class Measurements:
    """By language and size, for each repetition: the median one-way time in ns, its ratio to the run of C just
    before, and the time of the first message in ns."""

    def __init__(self):
        self.medians, self.times, self.firsts, self.starts = {}, {}, {}, {}

    def add(self, language, bytes_, round_trips, warm):
        """Adds all round trips of one run, in ns. The first `warm` of them are not counted."""
        time = statistics.median(round_trips[warm:]) / 2
        self.medians.setdefault((language, bytes_), []).append(time)
        self.firsts.setdefault(language, []).append(round_trips[0] / 2)
        if language != "c" and self.has("c", bytes_):
            times = time / self.medians["c", bytes_][-1]
            self.times.setdefault((language, bytes_), []).append(times)

    def median(self, language, bytes_):
        return statistics.median(self.medians[language, bytes_])

    def has(self, language, bytes_):
        return (language, bytes_) in self.medians


def _allowed(language, bytes_):
    """Returns the maximum ratio of a language's time to the time of C."""
    if language in LIKE_C:
        return LIKE_C_SMALL if bytes_ <= KIB else LIKE_C_LARGE
    if language == "java":
        return JAVA_SMALL if bytes_ <= KIB else JAVA_MIDDLE if bytes_ <= 64 * KIB else JAVA_LARGE
    return PYTHON_EMPTY if language == "python" and bytes_ == 0 else None


def bars(m):
    """Returns the bars for the measured languages and sizes. `README.md` in this directory lists them."""
    found = []
    for language, bytes_ in sorted(m.times):
        allowed = _allowed(language, bytes_)
        if allowed is not None:
            times = m.times[language, bytes_]
            name = f"{language}, {size_name(bytes_)}"
            found.append(Bar(name, statistics.median(times), times, "<=", allowed, "times C"))
    return found
