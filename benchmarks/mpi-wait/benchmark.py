"""The cost of Ligament for MPI programs: ranks that wait, messages to all ranks, and the start."""

import argparse
import os
import statistics
import time

import programs
from bars import Measurements, bars
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import CannotMeasure

RANKS = 4
WAITS, QUICK_WAITS = 6, 4
# s; a shorter wait is not counted, because its message came while the ranks were still starting
MIN_WAIT_S = 0.9
# Number of messages in a burst by size in bytes. A whole burst fits into the memory for messages.
BURSTS = {8: 400, 1 << 10: 400, 64 << 10: 100, 1 << 20: 12}
REPEATED, QUICK_REPEATED = 10, 2
STARTS = (1, 2, 4)


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run mpi-wait", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="two repetitions with less in each; about two minutes")
    parser.add_argument("--only", help=f"MPIs, separated by commas: {','.join(mpi.TITLES)}")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 7, quick 2)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (2 if options.quick else 7)
    options.waits = QUICK_WAITS if options.quick else WAITS
    options.bursts = QUICK_REPEATED if options.quick else REPEATED
    options.families = options.only.split(",") if options.only else list(mpi.TITLES)
    for family in options.families:
        if family not in mpi.TITLES:
            parser.error(f"--only: no MPI {family!r}; there are {', '.join(mpi.TITLES)}")
    return options


def share(waits):
    """Returns the share of a core of each wait, in %, from the output of `waiting`."""
    long = [share for share, length in waits if length > MIN_WAIT_S]
    if not long:
        raise CannotMeasure("the ranks took seconds to begin, so that no wait was as long as it should be")
    return 100 * statistics.median(long)


class Session:
    """A measurement: the options of the user, and the results so far."""

    def __init__(self, options):
        self.options, self.measured = options, Measurements()

    def one_pass(self, number):
        for family in self.options.families[:: 1 if number % 2 == 0 else -1]:
            self.wait(family)
            self.compute(family)
            self.give(family)
            self.start(family)

    def wait(self, family):
        m, count = self.measured, self.options.waits
        found, _, _ = programs.coupled(family, RANKS, "waiting", [], source=["sleep", count])
        m.shares.setdefault(family, []).append(share(found))
        found, _ = programs.launched(family, RANKS, "waiting", ["bcast", count])
        m.bcast_shares.setdefault(family, []).append(share(found))

    def compute(self, family):
        m, count = self.measured, self.options.waits
        _, beside, _ = programs.coupled(family, RANKS, "waiting", [], source=["compute", count])
        alone = programs.computed_alone(count)
        m.beside.setdefault(family, []).append(statistics.median(line[0] for line in beside[1:]))
        m.alone.setdefault(family, []).append(statistics.median(alone[1:]))

    def give(self, family):
        for bytes_, count in BURSTS.items():
            bursts = self.options.bursts
            found, _, _ = programs.coupled(family, 2, "giving", [count, bytes_, bursts],
                                           source=["burst", count, bytes_, bursts], more=True)
            self.measured.given.setdefault((family, bytes_),
                                           []).append(statistics.median(line[0] for line in found))
            self.measured.bcast.setdefault((family, bytes_),
                                           []).append(statistics.median(line[1] for line in found))

    def start(self, family):
        for ranks in STARTS:
            begun, launched = [], []
            for _ in range(self.options.waits):
                [[moment]], _, began = programs.coupled(family, ranks, "starting", [])
                begun.append((moment - began) / 1e9)
                [[moment]], began = programs.launched(family, ranks, "starting", ["alone"])
                launched.append((moment - began) / 1e9)
            self.measured.begun.setdefault((family, ranks), []).append(statistics.median(begun))
            self.measured.launched.setdefault((family, ranks), []).append(statistics.median(launched))


def print_tables(session):
    m, families = session.measured, session.options.families
    rows = [(mpi.TITLES[family], [report.spread(m.shares[family]), report.spread(m.bcast_shares[family])])
            for family in families]
    report.table(f"{RANKS} ranks on two cores, rank 0 waits for 1 s: the busiest other rank, % of a core",
                 ["Ligament", "MPI_Bcast"], rows)
    rows = [(mpi.TITLES[family], [report.spread(m.beside[family]),
                                  report.spread(m.alone[family])]) for family in families]
    report.table("a computation on both cores, s", ["beside these ranks", "alone"], rows)
    rows = [(f"{mpi.TITLES[family]}, {report.size_name(bytes_)}",
             [report.spread([ns / 1e3 for ns in m.given[family, bytes_]]),
              report.spread([ns / 1e3 for ns in m.bcast[family, bytes_]])])
            for family, bytes_ in m.given]
    report.table("until both of two ranks have it, from the moment rank 0 has it, µs",
                 ["Ligament", "MPI_Bcast"], rows)
    rows = [(f"{mpi.TITLES[family]}, {ranks}", [report.spread([1e3 * s for s in m.begun[family, ranks]]),
                                                report.spread([1e3 * s for s in m.launched[family, ranks]])])
            for family, ranks in m.begun]
    report.table("until all ranks take part, ms", ["ligament run", "mpirun"], rows)


def figures(session, facts, versions):
    m = session.measured

    def of(values, scale):
        return {
            name if isinstance(name, str) else " ".join(map(str, name)):
                [report.significant(scale * v) for v in (statistics.median(found), min(found), max(found))]
            for name, found in values.items()
        }

    return {
        "machine": facts,
        "versions": versions,
        "repetitions": session.options.repetitions,
        "waiting_percent": of(m.shares, 1),
        "waiting_bcast_percent": of(m.bcast_shares, 1),
        "computing_beside_s": of(m.beside, 1),
        "computing_alone_s": of(m.alone, 1),
        "given_us": of(m.given, 1e-3),
        "bcast_us": of(m.bcast, 1e-3),
        "begun_ms": of(m.begun, 1e3),
        "launched_ms": of(m.launched, 1e3),
    }


def main(words):
    options = arguments_of(words)
    if absent := [*Ligament().missing(), *mpi.missing(options.families)]:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves MPIs out)")
    cores = programs.cores_here()
    if len(cores) < 2:
        raise CannotMeasure("two cores are needed")
    # All programs run on two cores, so that results are comparable between machines.
    os.sched_setaffinity(0, cores)
    session = Session(options)
    facts, versions = machine.facts(cores), {"ligament": Ligament().version(), **mpi.versions(options.families)}
    programs.build(options.families)
    report.head("mpi-wait: what MPI programs pay for being instances", {**versions, **facts},
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
