"""What is promised about the languages, computed from the measurements; nothing is run here."""

import statistics

from lib.report import Bar, size_name

KIB = 1 << 10
SIZES = (0, KIB, 64 * KIB, 1024 * KIB)
LIKE_C = ("cpp", "rust", "fortran")
LIKE_C_NS, LIKE_C_PART = 30, 0.1
JAVA_SMALL_NS = 150
JAVA_LARGE_NS, JAVA_LARGE_PART = 500, 0.05
PYTHON_EMPTY_NS = 1000


class Measurements:
    """By language and size, for each repetition: the median one-way time, how much that is beyond the run of C just
    before, and the time of the first message, ns."""

    def __init__(self):
        self.medians, self.beyond, self.firsts, self.starts = {}, {}, {}, {}

    def add(self, language, bytes_, round_trips, warm):
        """Takes all round trips of one run, ns; the first `warm` of them do not count."""
        time = statistics.median(round_trips[warm:]) / 2
        self.medians.setdefault((language, bytes_), []).append(time)
        self.firsts.setdefault(language, []).append(round_trips[0] / 2)
        if language != "c" and self.has("c", bytes_):
            beyond = time - self.medians["c", bytes_][-1]
            self.beyond.setdefault((language, bytes_), []).append(beyond)

    def median(self, language, bytes_):
        return statistics.median(self.medians[language, bytes_])

    def has(self, language, bytes_):
        return (language, bytes_) in self.medians


def _allowed(language, bytes_, c):
    """How many ns more than C a language may take."""
    if language in LIKE_C:
        return max(LIKE_C_NS, LIKE_C_PART * c)
    if language == "java":
        return JAVA_SMALL_NS if bytes_ <= KIB else max(JAVA_LARGE_NS, JAVA_LARGE_PART * c)
    return None


def bars(m):
    """The bars of the languages and sizes that were measured, as `README.md` beside this file has them."""
    found = []
    for language, bytes_ in sorted(m.medians, key=lambda key: (key[0], key[1])):
        if language == "python" and bytes_ == 0:
            times = m.medians[language, bytes_]
            found.append(Bar("python, 0 B", statistics.median(times), times, "<=", PYTHON_EMPTY_NS, "ns"))
        if not m.has("c", bytes_):
            continue
        c = m.median("c", bytes_)
        allowed = _allowed(language, bytes_, c)
        if allowed is not None:
            more = m.beyond[language, bytes_]
            name = f"{language} beyond C, {size_name(bytes_)}"
            found.append(Bar(name, statistics.median(more), more, "<=", allowed, "ns"))
    return found
