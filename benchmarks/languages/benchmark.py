"""The same ping-pong in every language, each with itself, through the face that its users see."""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import programs
from bars import KIB, SIZES, Measurements, bars
from lib import machine, report
from lib.machine import CannotMeasure

# One-way times of MUSCLE 2 in µs: C++ through its JVM, and Java within one JVM. They were measured beside Open
# MPI, which took 0.24, 0.80, 12 and 105 µs.
MUSCLE2 = {"C++": (12.5, 17.0, 50.0, 970.0), "Java, one JVM": (2.6, 2.2, 12.0, 186.0)}
ROUNDS = {0: 20_000, KIB: 20_000, 64 * KIB: 6000, 1024 * KIB: 1000}
# A JVM takes hundreds of milliseconds to compile hot code, on the core of the code itself. All languages get
# the same number of warm-up rounds.
WARM = {0: 800_000, KIB: 800_000, 64 * KIB: 150_000, 1024 * KIB: 15_000}


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run languages", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repetitions; about a minute")
    parser.add_argument("--only", help=f"languages, separated by commas: {','.join(programs.LANGUAGES)}")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 7, quick 2)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (2 if options.quick else 7)
    options.languages = options.only.split(",") if options.only else list(programs.LANGUAGES)
    for language in options.languages:
        if language not in programs.LANGUAGES:
            parser.error(f"--only: no language {language!r}; there are {', '.join(programs.LANGUAGES)}")
    return options


class Session:
    """A measurement: the options of the user, and the results so far."""

    def __init__(self, options):
        self.options, self.measured = options, Measurements()
        self.cores = programs.cores_here()
        if len(self.cores) < 2:
            raise CannotMeasure("two cores are needed")

    def play(self, language, bytes_, rounds):
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=programs.OUT))
        try:
            return programs.play(language, bytes_, rounds, self.cores, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def one_pass(self, number):
        """Runs every language once, in the opposite order to the previous pass. Each run comes right after a
        run of C, because the distance between two cores of a virtual machine changes within minutes."""
        order = self.options.languages[:: 1 if number % 2 == 0 else -1]
        others = [language for language in order if language != "c"]
        if "c" in order:
            order = [name for other in others for name in ("c", other)] or ["c"]
        for bytes_ in SIZES:
            for language in order:
                times = self.play(language, bytes_, WARM[bytes_] + ROUNDS[bytes_])
                self.measured.add(language, bytes_, times, WARM[bytes_])
        for language in self.options.languages:
            began = time.monotonic()
            self.play(language, 0, 1)
            self.measured.starts.setdefault(language, []).append(time.monotonic() - began)


def print_tables(session):
    measured, languages = session.measured, session.options.languages
    columns = [report.size_name(bytes_) for bytes_ in SIZES]
    rows = []
    for language in languages:
        cells = [report.spread([ns / 1e3 for ns in measured.medians[language, bytes_]]) for bytes_ in SIZES]
        rows.append((programs.LANGUAGES[language], cells))
    report.table("one-way time, median (least and largest of the repetitions), µs", columns, rows)
    rows = [(f"MUSCLE 2, {name}", [f"{time:g}" for time in times]) for name, times in MUSCLE2.items()]
    report.table("for comparison, measured elsewhere, µs", columns, rows)
    rows = [
        (programs.LANGUAGES[language],
         [statistics.median(measured.firsts[language]) / 1e3,
          statistics.median(measured.starts[language]) * 1e3])
        for language in languages
    ]
    report.table("start", ["the first message, µs", "a whole run of one round trip, ms"], rows)


def figures(session, facts, versions):
    measured = session.measured
    one_way = {}
    for (language, bytes_), values in measured.medians.items():
        cell = [report.significant(v / 1e3) for v in (statistics.median(values), min(values), max(values))]
        one_way.setdefault(language, {})[report.size_name(bytes_)] = cell
    return {
        "machine": facts,
        "versions": versions,
        "repetitions": session.options.repetitions,
        "one_way_us": one_way,
        "first_us": {name: report.significant(statistics.median(v) / 1e3)
                     for name, v in measured.firsts.items()},
        "run_ms": {name: report.significant(statistics.median(v) * 1e3) for name, v in measured.starts.items()},
    }


def main(words):
    options = arguments_of(words)
    if absent := programs.missing(options.languages):
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves languages out)")
    session = Session(options)
    facts, versions = machine.facts(session.cores), programs.versions(options.languages)
    programs.build(options.languages)
    report.head("languages: one-way time between two pinned processes of one language", {**versions, **facts},
                f"{options.repetitions}, interleaved", programs.FLAGS, [])
    begun = time.monotonic()
    for number in range(options.repetitions):
        session.one_pass(number)
        print(f"pass {number + 1} of {options.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    print_tables(session)
    found = bars(session.measured)
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    report.last_line(figures(session, facts, versions), found)
    return 0
