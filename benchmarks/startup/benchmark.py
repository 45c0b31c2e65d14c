"""The time to start and to end a run: with processes, and with light components in one process."""

import argparse
import statistics
import time

import cases
from bars import light_bars, process_bars
from fit import least_squares
from lib import machine, report, runs
from lib.ligament import Ligament
from lib.machine import CannotMeasure

PROCESSES = (1, 2, 5, 10, 20, 50, 100, 200, 300)
QUICK_PROCESSES = (1, 10, 50, 150)
SOFT_LIMIT = 1024  # of open files, the default of many systems
# Light components and their conduits.
WEBS = ((1, 0), (10, 0), (10, 100), (100, 0), (100, 1000), (100, 5000), (300, 3000), (1000, 0), (1000, 1000),
        (1000, 10_000), (1000, 25_000), (1000, 50_000))
QUICK_WEBS = ((1, 0), (100, 1000), (1000, 0), (1000, 10_000), (1000, 50_000))


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run startup", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, three repetitions")
    parser.add_argument("--repetitions", type=int, help="of each case (default 5, quick 3)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.processes = QUICK_PROCESSES if options.quick else PROCESSES
    options.webs = QUICK_WEBS if options.quick else WEBS
    return options


class Processes:
    """Chains of processes: seconds of every repetition by length, and bytes of memory."""

    def __init__(self, options):
        self.options = options
        self.seconds, self.limited, self.alone = {}, {}, {}
        self.memory, self.memory_alone = {}, {}

    def measure(self, scratch):
        executable = cases.OUT / "process"
        for repetition in range(self.options.repetitions):
            for n in self.options.processes:
                model = cases.chain(n, executable)
                for found, limit in ((self.seconds, None), (self.limited, SOFT_LIMIT)):
                    if limit and n != self.options.processes[-1]:
                        continue
                    folder = scratch.new()
                    found.setdefault(n, []).append(runs.seconds(runs.ligament(model, folder), folder, limit))
                self.alone.setdefault(n, []).append(cases.alone(n))
        for n in self.options.processes:
            self.memory[n] = cases.memory(cases.chain(n, executable), n, scratch.new())
            self.memory_alone[n] = cases.memory_alone(n, scratch.new())

    def slope(self, values):
        """Returns a and b of the fit a + bn."""
        ns = list(values)
        medians = [statistics.median(v) if isinstance(v, list) else v for v in values.values()]
        return least_squares([[1.0] * len(ns), ns], medians)

    def beyond_own(self):
        """Returns the memory in bytes that the library and the run add to a process."""
        return self.slope(self.memory)[1] - self.slope(self.memory_alone)[1]

    def tables(self):
        a, b = self.slope(self.seconds)
        rows = []
        for n, values in self.seconds.items():
            median = statistics.median(values)
            rows.append((str(n), [
                1e3 * median, 1e3 * min(values), 1e3 * max(values), 1e3 * (a + b * n),
                100 * (median / (a + b * n) - 1),
                1e3 * statistics.median(self.alone[n]), self.memory[n] / 1e6, self.memory_alone[n] / 1e6,
            ]))
        report.table(
            "chains of processes: wall time and proportional memory of the whole run; `alone` is the same "
            "program without "
            "library and run",
            ["median, ms", "least", "largest", "fit, ms", "residual, %", "alone, ms", "memory, MB",
             "alone, MB"], rows)
        print(
            f"\nwall = {1e3 * a:.1f} ms + {1e3 * b:.3f} ms a process (alone "
            f"{1e3 * self.slope(self.alone)[1]:.3f} ms); "
              f"memory {self.beyond_own() / 1e6:.2f} MB a process beyond its own")
        for n, values in self.limited.items():
            print(f"{n} processes with ulimit -Sn {SOFT_LIMIT}: {1e3 * statistics.median(values):.0f} ms")

    def figures(self):
        a, b = self.slope(self.seconds)
        residuals = {n: statistics.median(v) / (a + b * n) - 1 for n, v in self.seconds.items()}
        return {
            "wall_ms": {n: report.significant(1e3 * statistics.median(v)) for n, v in self.seconds.items()},
            "alone_ms": {n: report.significant(1e3 * statistics.median(v)) for n, v in self.alone.items()},
            "limited_ms": {n: report.significant(1e3 * statistics.median(v)) for n, v in self.limited.items()},
            "fit_ms": {"a": report.significant(1e3 * a), "b": report.significant(1e3 * b)},
            "residuals": {n: report.significant(value) for n, value in residuals.items()},
            "memory_mb": {n: report.significant(value / 1e6) for n, value in self.memory.items()},
            "memory_alone_mb": {n: report.significant(value / 1e6) for n, value in self.memory_alone.items()},
        }

    def slopes(self, values):
        """Returns the slope of each repetition."""
        return [self.slope({n: v[i] for n, v in values.items()})[1] for i in range(self.options.repetitions)]

    def bars(self):
        most = max(self.limited)
        limited = [seconds / most for seconds in self.limited[most]]
        return process_bars(self.slopes(self.seconds), limited, self.slopes(self.alone), self.beyond_own())


class Light:
    """Webs of light components in one process: seconds of every repetition and bytes of memory, by the numbers
    of components and conduits."""

    def __init__(self, options):
        self.options = options
        self.seconds, self.limited, self.memory, self.threads = {}, {}, {}, []
        self.largest = options.webs[-1]

    def measure(self, scratch):
        models = {web: runs.web(*web, cases.OUT / "light") for web in self.options.webs}
        for repetition in range(self.options.repetitions):
            for web, model in models.items():
                folder = scratch.new()
                self.seconds.setdefault(web, []).append(runs.seconds(runs.ligament(model, folder), folder))
            folder = scratch.new()
            command = runs.ligament(models[self.largest], folder)
            self.limited.setdefault(self.largest, []).append(runs.seconds(command, folder, SOFT_LIMIT))
            self.threads.append(cases.threads(*self.largest, folder))
        for web, model in models.items():
            self.memory[web] = runs.memory_at_peak(model, scratch.new())

    def fit(self, values):
        """Returns a, b and c of the fit a + bn + cm."""
        ones, ns, ms = [1.0] * len(values), [n for n, _ in values], [m for _, m in values]
        return least_squares([ones, ns, ms], list(values.values()))

    def medians(self):
        return {web: statistics.median(values) for web, values in self.seconds.items()}

    def residuals(self):
        a, b, c = self.fit(self.medians())
        return {(n, m): median / (a + b * n + c * m) - 1 for (n, m), median in self.medians().items()}

    def tables(self):
        (a, b, c), residuals = self.fit(self.medians()), self.residuals()
        rows = [
            (f"{n}, {m}", [1e3 * median, 1e3 * min(self.seconds[n, m]), 1e3 * max(self.seconds[n, m]),
                           1e3 * (a + b * n + c * m), 100 * residuals[n, m], self.memory[n, m] / 1e6])
            for (n, m), median in self.medians().items()
        ]
        report.table(
            "light components, conduits: wall time, and proportional memory of the whole run at its peak",
                     ["median, ms", "least", "largest", "fit, ms", "residual, %", "memory, MB"], rows)
        print(f"\nwall = {1e3 * a:.1f} ms + {1e6 * b:.1f} µs a component + {1e6 * c:.2f} µs a conduit")
        print(
            f"the largest with ulimit -Sn {SOFT_LIMIT}: "
            f"{1e3 * statistics.median(self.limited[self.largest]):.0f} ms; as threads "
              f"by hand, without a model file: {1e3 * statistics.median(self.threads):.0f} ms")

    def figures(self):
        a, b, c = self.fit(self.medians())

        def table(values, factor):
            return {f"{n}, {m}": report.significant(factor * value) for (n, m), value in values.items()}

        return {
            "wall_ms": table(self.medians(), 1e3),
            "fit": {"a_ms": report.significant(1e3 * a), "b_us": report.significant(1e6 * b),
                    "c_us": report.significant(1e6 * c)},
            "residuals": table(self.residuals(), 1),
            "memory_mb": table(self.memory, 1e-6),
            "limited_ms": report.significant(1e3 * statistics.median(self.limited[self.largest])),
            "threads_ms": report.significant(1e3 * statistics.median(self.threads)),
        }

    def bars(self):
        name = "{} light components, {} conduits".format(*self.largest)
        return light_bars(name, [self.seconds[self.largest], self.limited[self.largest]], self.threads,
                          self.memory[self.largest])


def print_head(options, facts, version):
    print("startup: from the start of a run to its end\n")
    for name, value in {"Ligament": version, **facts}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    print(f"  {'repetitions':<20} {options.repetitions}", flush=True)


def main(words):
    options = arguments_of(words)
    absent = Ligament().missing()
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent))
    cases.build()
    facts, version = machine.facts([0]), Ligament().version()
    print_head(options, facts, version)
    begun, scratch, parts = time.monotonic(), runs.Scratch(cases.OUT), [Processes(options), Light(options)]
    try:
        for part in parts:
            part.measure(scratch)
    finally:
        scratch.remove()
    for part in parts:
        part.tables()
    print(f"\nmeasured in {time.monotonic() - begun:.0f} s")
    found = [bar for part in parts for bar in part.bars()]
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    figures = {"machine": facts, "version": version, "repetitions": options.repetitions}
    figures.update(processes=parts[0].figures(), light=parts[1].figures())
    report.last_line(figures, found)
    return 0
