"""What is promised about the languages, computed from the measurements; nothing is run here."""

import statistics

from lib.report import Bar, size_name

KIB = 1 << 10
SIZES = (0, KIB, 64 * KIB, 1024 * KIB)
LIKE_C = ("cpp", "rust", "fortran")
# Times as long as C in the same run. An empty message took C 100 ns where these were chosen: 30 ns more were
# allowed to compiled languages, 150 to Java, and a microsecond to Python.
LIKE_C_SMALL, LIKE_C_LARGE = 1.3, 1.1
JAVA_SMALL, JAVA_MIDDLE, JAVA_LARGE = 2.5, 1.3, 1.05
PYTHON_EMPTY = 10


class Measurements:
    """By language and size, for each repetition: the median one-way time, how many times that of the run of C
    just before, and the time of the first message, ns."""

    def __init__(self):
        self.medians, self.times, self.firsts, self.starts = {}, {}, {}, {}

    def add(self, language, bytes_, round_trips, warm):
        """Takes all round trips of one run, ns; the first `warm` of them do not count."""
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
    """How many times as long as C a language may take."""
    if language in LIKE_C:
        return LIKE_C_SMALL if bytes_ <= KIB else LIKE_C_LARGE
    if language == "java":
        return JAVA_SMALL if bytes_ <= KIB else JAVA_MIDDLE if bytes_ <= 64 * KIB else JAVA_LARGE
    return PYTHON_EMPTY if language == "python" and bytes_ == 0 else None


def bars(m):
    """The bars of the languages and sizes that were measured, as `README.md` beside this file has them."""
    found = []
    for language, bytes_ in sorted(m.times):
        allowed = _allowed(language, bytes_)
        if allowed is not None:
            times = m.times[language, bytes_]
            name = f"{language}, {size_name(bytes_)}"
            found.append(Bar(name, statistics.median(times), times, "<=", allowed, "times C"))
    return found
