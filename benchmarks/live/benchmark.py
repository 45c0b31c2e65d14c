"""The cost of viewing and steering a run: runs with and without viewers, in turns."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import time
from contextlib import ExitStack, contextmanager

import runs
from lib import machine, report
from lib.ligament import Ligament
from lib.machine import CannotMeasure, die_with_parent
from lib.report import Bar
from surface import surface

SMALL_RUN, LARGE_RUN, CONDUITS = 20, 1000, 10_000
PICTURE_RUN, PICTURE_CONDUITS = 1000, 2000
VIEWERS = 10  # one of them is stalled
BARS = {  # the bar of each row
    SMALL_RUN: 2.0, LARGE_RUN: 10.0,  # % of a core, run and page together
    "viewers": 1.5,  # times the cost of one viewer
    # % by which the sender becomes slower; 0.5 % is the least that can be resolved
    "tapped": 2.0, "stalled": 0.5,
    # times a call in the same language that does nothing; this allows 10 ns in C and 100 ns in Python
    "steer in C": 6.0, "steer in Python": 3.0,
    "change": 3.0,  # times a dry run of the command, which takes about 10 ms; this allows 20 ms more
    "useful": 1.0, "laid out": 100.0,
    "redrawn": 10.0,  # s, ms, ms; absolute, because a person waits for them on every machine
}
PARTS = ("watching", "taps", "steer", "change", "page", "surface")


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run live", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="2 repetitions instead of 5, and shorter; about 3 minutes")
    parser.add_argument("--repetitions", type=int, help="of each row (default 5, quick 2)")
    parser.add_argument("--only", help=f"of {', '.join(PARTS)}, separated by commas")
    parser.add_argument("--cores", default="0,1", help="for who looks on, and for the sender (default 0,1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (2 if options.quick else 5)
    options.only = options.only.split(",") if options.only else list(PARTS)
    if not set(options.only) <= set(PARTS):
        parser.error(f"--only: of {', '.join(PARTS)}")
    try:
        options.cores = [int(core) for core in options.cores.split(",")]
    except ValueError as problem:
        parser.error(str(problem))
    if len(options.cores) != 2 or not set(options.cores) <= os.sched_getaffinity(0):
        parser.error(f"--cores needs two of {sorted(os.sched_getaffinity(0))}")
    options.seconds = 5 if options.quick else 20
    return options


class Results:
    """Collects rows for the tables, figures and bars."""

    def __init__(self):
        self.rows, self.figures, self.bars = [], {}, []

    def row(self, title, key, values, unit):
        """Adds a row with the values of the repetitions to a table."""
        self.rows.append((title, [statistics.median(values), min(values), max(values), unit]))
        self.figures[key] = report.significant(statistics.median(values))

    def bar(self, title, values, limit, unit):
        self.bars.append(Bar(title, statistics.median(values), values, "<=", limit, unit))


# ---- who watches ---------------------------------------------------------------------------------------------
def share(run, viewers, stalled, seconds, pictures):
    """Returns the % of a core that the run's own processes and the page take together with this number of
    viewers."""
    with ExitStack() as stack:
        page = viewer = None
        if viewers or stalled:
            page = stack.enter_context(runs.Page(run))
            viewer = stack.enter_context(runs.Viewers(page, viewers, stalled))
            time.sleep(1.5)  # the first picture has the whole state
        spent = lambda: run.processor() + (page.processor() if page else 0.0)  # noqa: E731
        before, seen, began = spent(), viewer.pictures if viewer else 0, time.monotonic()
        time.sleep(seconds)
        taken, passed = spent() - before, time.monotonic() - began
        if viewer:
            if viewer.wrong:
                raise CannotMeasure(f"a viewer was told: {viewer.wrong[0]}")
            pictures.append((viewer.pictures - seen) / passed / viewers)
        return 100 * taken / passed


def watching(options, results):
    for count, model, name in ((SMALL_RUN, runs.ring(SMALL_RUN), f"{SMALL_RUN} instances"),
                               (LARGE_RUN, runs.web(LARGE_RUN, CONDUITS, "idle"),
                                f"{LARGE_RUN} idle light ones, {CONDUITS} conduits")):
        found, pictures = {"nobody": [], "one": [], "many": []}, []
        with runs.Run(model) as run:
            time.sleep(2)
            for repetition in range(options.repetitions):
                cases = [("nobody", 0, 0), ("one", 1, 0), ("many", VIEWERS - 1, 1)]
                for case, viewers, stalled in cases if repetition % 2 else reversed(cases):
                    found[case].append(share(run, viewers, stalled, options.seconds, pictures))
        for case, title in (("nobody", "nobody looks"), ("one", "one viewer"),
                            ("many", f"{VIEWERS} viewers, one stalled")):
            results.row(f"{name}: {title}", f"share_{count}_{case}", found[case], "% of a core")
        results.figures[f"pictures_{count}"] = report.significant(statistics.median(pictures))
        results.bar(f"{name}, one viewer", found["one"], BARS[count], "% of a core")
        # The cost of no viewers is nearly 0, so a ratio to it has no meaning. One tick of the clock is the
        # least that can be resolved.
        least = 100 / runs.TICK / options.seconds
        ratios = [many / max(one, least) for one, many in zip(found["one"], found["many"])]
        results.bar(f"{name}, {VIEWERS} viewers against one", ratios, BARS["viewers"], "times")


# ---- taps ----------------------------------------------------------------------------------------------------
@contextmanager
def tapped(run, core, stalled):
    """Taps the sender's port 20 times a second, or begins to tap it and stalls. A value arrives some ms after
    its request."""
    command = [Ligament().command, "tap", run.directory, "code.out", "--every", "0.045"]

    def prepare():
        die_with_parent()
        os.sched_setaffinity(0, {core})

    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, preexec_fn=prepare)
    try:
        if not process.stdout.readline():
            raise CannotMeasure("\"ligament tap\" shows nothing")
        if stalled:
            process.send_signal(signal.SIGSTOP)
        else:
            os.set_blocking(process.stdout.fileno(), False)
        yield lambda: len((process.stdout.read() or b"").splitlines()) if not stalled else 0
    finally:
        process.kill()
        process.communicate()


def taps(options, results):
    looks, core = options.cores
    times, rates = {"nobody": [], "tapped": [], "stalled": []}, []
    with runs.Run(runs.sender(core)) as run:
        os.sched_setaffinity(run.process.pid, {looks})
        run.until(lambda: len(run.said("code")) > 3, "the sender sends")
        for repetition in range(3 * options.repetitions):
            cases = list(times)
            for case in cases[repetition % 3:] + cases[: repetition % 3]:
                with ExitStack() as stack:
                    shown = stack.enter_context(tapped(run, looks,
                                                       case == "stalled")) if case != "nobody" else None
                    shown and shown()
                    began = time.monotonic()
                    # The pipe buffers some values, which are read at the end.
                    time.sleep(options.seconds / 5)
                    ended = time.monotonic()
                    if case == "tapped":
                        rates.append(shown() / (ended - began))
                blocks = [(end - begin) for begin, end in run.said("code") if begin >= began * 1e9
                          and end <= ended * 1e9]
                if not blocks:
                    raise CannotMeasure("the sender wrote down no block of steps")
                times[case].append(statistics.median(blocks) / 1e5)  # µs of a step; a block has 100 steps
    for case, title in (("nobody", "nobody looks"), ("tapped", "tapped"),
                        ("stalled", "a viewer that stands still")):
        results.row(f"a step of 1 ms that sends 1 MiB: {title}", f"step_{case}_us", times[case], "µs")
    results.figures["tapped_per_second"] = report.significant(statistics.median(rates))
    for case in ("tapped", "stalled"):
        slower = [100 * (a / b - 1) for a, b in zip(times[case], times["nobody"])]
        results.bar(f"a sender, {'a viewer that stands still' if case == 'stalled' else case}", slower,
                    BARS[case],
                    "% slower")


# ---- steering ------------------------------------------------------------------------------------------------
def steer(options, results):
    ways = (("steer in C", [runs.OUT / "part", "cost"]),
            ("steer in Python", [runs.PYTHON, runs.HERE / "cost.py"]))
    for name, words in ways:
        found, bare = [], []
        for _ in range(options.repetitions):
            with runs.Once(runs.alone(*words)) as run:
                calls = run.said("code")
                found.append(statistics.median(ns for ns, _ in calls))
                bare.append(statistics.median(ns for _, ns in calls))
        key = name.replace(" ", "_").lower()
        results.row(f"{name}, with nothing to do", f"{key}_ns", found, "ns")
        results.row("a call of this language that does nothing", f"{key}_bare_ns", bare, "ns")
        results.bar(name, [ours / theirs for ours, theirs in zip(found, bare)], BARS[name], "times a call")


def change(options, results):
    """Measures the time from the steering command until the change is in force in all instances, beside the
    same command with `--dry-run`."""
    found, asked = [], []
    with runs.Run(runs.ring(SMALL_RUN)) as run:
        time.sleep(1)
        for value in range(1, 10 * options.repetitions + 1):
            began = time.monotonic_ns()
            run.command("steer", f"k={value}", "--dry-run")
            asked.append((time.monotonic_ns() - began) / 1e6)
            began = time.monotonic_ns()
            run.command("steer", f"k={value}")
            run.until(lambda value=value: all(run.said(f"p{i}")[-1:] and run.said(f"p{i}")[-1][0] == value
                                              for i in range(SMALL_RUN)), "all have made the change")
            found.append((max(run.said(f"p{i}")[-1][1] for i in range(SMALL_RUN)) - began) / 1e6)
    results.row("the command that only asks whether", "steer_dry_ms", asked, "ms")
    results.row(f"a change in force in {SMALL_RUN} instances, with the command", "change_ms", found, "ms")
    results.bar(f"a change in force in {SMALL_RUN} instances", [a / b for a, b in zip(found, asked)],
                BARS["change"], "times asking")


# ---- the page ------------------------------------------------------------------------------------------------
def page(options, results):
    laid, useful, script = [], [], []
    with runs.Run(runs.web(PICTURE_RUN, PICTURE_CONDUITS, "busy")) as run:
        time.sleep(2)
        for _ in range(options.repetitions):
            with runs.Page(run) as served:
                laid.append(runs.laid_out(served))
            with runs.Page(run) as served:
                told = runs.browse(served.link, PICTURE_RUN, options.seconds)
                useful.append(told["useful"])
                if not told["redraws"]:
                    raise CannotMeasure("the page was never redrawn")
                script.append(told["script"])
    results.row(f"{PICTURE_RUN} instances laid out, as the page asks for it", "laid_out_ms", laid, "ms")
    results.row("the page is useful after", "useful_s", useful, "s")
    results.row("script of a redraw", "redrawn_ms", script, "ms")
    results.bar(f"{PICTURE_RUN} instances laid out", laid, BARS["laid out"], "ms")
    results.bar("the page is useful", useful, BARS["useful"], "s")
    results.bar(f"{PICTURE_RUN} instances redrawn, script", script, BARS["redrawn"], "ms")


def main(words):
    options = arguments_of(words)
    runs.build()
    facts = machine.facts(options.cores)
    version = Ligament().version() or "unknown"
    print(f"{options.repetitions} repetitions, {options.seconds} s each")
    for name, value in facts.items():
        print(f"  {name}: {value}")
    print(f"  ligament: {version}", flush=True)
    results = Results()
    results.figures.update({"machine": facts, "version": version, "repetitions": options.repetitions})
    measure = {"watching": watching, "taps": taps, "steer": steer, "change": change, "page": page,
               "surface": surface}
    for part in PARTS:
        if part in options.only:
            begun = len(results.rows)
            measure[part](options, results)
            report.table(part, ["median", "least", "most", ""], results.rows[begun:])
    for name, value in results.figures.items():
        if name.startswith(("pictures", "tapped_per")):
            print(f"  {name.replace('_', ' ')}: {json.dumps(value)}")
    print("\nbars (value, limit, spread)")
    for bar in results.bars:
        print(bar.line())
    report.last_line(results.figures, results.bars)
    return 0
