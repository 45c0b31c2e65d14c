"""Many light components: how long they take to start, exchange and end, their memory, their messages per second
beside one thread for each, and what they cost while they wait."""

import argparse
import statistics
import time

import cases
from bars import bars
from lib import machine, report, runs
from lib.ligament import Ligament
from lib.machine import CannotMeasure

WEB_SIZE = (20_000, 200_000)  # light components, and conduits between them
CONDUITS = 10  # of each component
COMPARED = (10, 100, 1000)  # components of the webs that are compared with threads
MESSAGES, QUICK_MESSAGES = 2_000_000, 200_000
REST, QUICK_REST = 10.0, 3.0  # s for which the waiting run is observed


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run light", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition, fewer messages")
    parser.add_argument("--repetitions", type=int, help="of each case (default 5, quick 1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 5)
    options.messages = QUICK_MESSAGES if options.quick else MESSAGES
    options.rest = QUICK_REST if options.quick else REST
    return options


def measure(options, scratch):
    """Returns the seconds of the largest web, of Ligament and of threads, and its bytes; messages per second of
    each compared web, of both, for each repetition; and the processor time of a waiting run."""
    text, seconds, rates = runs.web(*WEB_SIZE, cases.OUT / "light"), [], {n: [] for n in COMPARED}
    for _ in range(options.repetitions):
        folder = scratch.new()
        ours = runs.seconds(runs.ligament(text, folder), folder)
        seconds.append((ours, cases.seconds_of_all_threads(*WEB_SIZE, folder)))
        for n, found in rates.items():
            conduits = n * CONDUITS
            steps = options.messages // conduits
            ours = cases.seconds_of_exchange(n, conduits, steps, scratch.new())
            found.append((steps * conduits / ours, steps * conduits / cases.seconds_of_threads(n, conduits,
                                                                                               steps)))
    memory = runs.memory_at_peak(text, scratch.new())
    return seconds, memory, rates, cases.idle(WEB_SIZE[0], options.rest, scratch.new())


def main(words):
    options = arguments_of(words)
    absent = Ligament().missing()
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent))
    cases.build()
    facts, version = machine.facts([0]), Ligament().version()
    report.head("light: many light components in one process", {"Ligament": version, **facts},
                options.repetitions,
                runs.FLAGS[:-1], [])
    begun, scratch = time.monotonic(), runs.Scratch(cases.OUT)
    try:
        seconds, memory, rates, idle = measure(options, scratch)
    finally:
        scratch.remove()
    name = "{:,} components, {:,} conduits".format(*WEB_SIZE)
    wholes = [[pair[which] for pair in seconds] for which in (0, 1)]
    print(
        f"{name}: {report.spread(wholes[0])} s, {memory / 1e6:.0f} MB at most; as threads "
        f"{report.spread(wholes[1])} s")
    medians = {n: [statistics.median(of) for of in zip(*found)] for n, found in rates.items()}
    report.table(f"messages a second, in millions; each component has {CONDUITS} conduits",
                 ["light components", "a thread for each", "times"],
                 [(f"{n} components", [ours / 1e6, theirs / 1e6,
                                       ours / theirs]) for n, (ours, theirs) in medians.items()])
    print(f"\n{WEB_SIZE[0]:,} components that wait: {1e3 * idle:.2f} ms of processors a second")
    found = bars(name, seconds, memory, rates[COMPARED[-1]])
    print(f"\nmeasured in {time.monotonic() - begun:.0f} s")
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    report.last_line({
        "machine": facts, "version": version, "repetitions": options.repetitions,
        "seconds": report.significant(statistics.median(wholes[0])),
        "threads_seconds": report.significant(statistics.median(wholes[1])),
        "memory_mb": report.significant(memory / 1e6),
        "messages_per_second": {n: {"light": report.significant(ours), "threads": report.significant(theirs)}
                                for n, (ours, theirs) in medians.items()},
        "idle_ms_per_s": report.significant(1e3 * idle),
    }, found)
    return 0
