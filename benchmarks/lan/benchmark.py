"""Two machines joined by a link (network namespaces and a veth): latency of small messages, speed of large
ones, and what both cost, beside bare TCP, Open MPI and MUSCLE 3."""

import argparse
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import programs
from bars import Measurements, bars
from lib import machine, report
from lib.machine import CannotMeasure
from lib.network import Network
from programs import LATENCY, STREAM

SMALL = 64
SIZES = (1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30)
SHAPED_SIZES = (1 << 20, 64 << 20)
LINKS = {"open": None, "1 Gbit/s": "1gbit"}


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run lan", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition, to 64 MiB; about two minutes")
    parser.add_argument("--only", help="programs or families, separated by commas: ligament/tls,bare")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 5, quick 1)")
    parser.add_argument("--links", help="separated by commas: open, shaped (default both)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 5)
    options.sizes = [size for size in SIZES if size <= 64 << 20] if options.quick else list(SIZES)
    named = {"open": "open", "shaped": "1 Gbit/s"}
    try:
        options.links = [named[word] for word in (options.links or "open,shaped").split(",")]
    except KeyError as problem:
        parser.error(f"--links: no link {problem}; there are {', '.join(named)}")
    chosen = (options.only or "").split(",") if options.only else []
    for word in chosen:
        if not any(word in (program.name, program.family) for program in programs.PROGRAMS):
            parser.error(
                f"--only: no program {word!r}; there are {', '.join(p.name for p in programs.PROGRAMS)}")
    options.programs = [p for p in programs.PROGRAMS if not chosen or p.name in chosen or p.family in chosen]
    return options


class Session:
    """A measurement: the options of the user, and the results so far."""

    def __init__(self, options):
        self.options, self.measured = options, Measurements()

    def _play(self, program, network, stages):
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=programs.OUT))
        try:
            return programs.play(program, network, stages, scratch)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def small(self, program, network):
        count = int(min(max((0.3 if self.options.quick else 1.0) / program.round_trip, 200), 8000))
        (first, second), = self._play(program, network, [(LATENCY, SMALL, count, count // 10)])
        m, messages = self.measured, 2 * count
        sides = [first] if program.name == "bare/wake" else [first,
                                                             second]  # both sides are on one machine there
        m.latency.setdefault(program.name, []).append(first["median_ns"] / 1e3)
        m.switches.setdefault(program.name, []).append(sum(side["switches"] for side in sides) / messages)
        m.small_processor.setdefault(program.name, []).append(sum(side["processor_s"]
                                                                  for side in sides) * 1e6 / messages)

    def large(self, program, network, link):
        total = (256 << 20) if self.options.quick or link != "open" else 2 << 30
        sizes = [s for s in (SHAPED_SIZES if link != "open" else self.options.sizes) if s <= program.largest]
        stages = [(STREAM, size, max(total // size, 3), max(min(total // size // 8, 64), 1)) for size in sizes]
        for (kind, size, count, _), (first, second) in zip(stages, self._play(program, network, stages)):
            gigabytes, key = count * size / 1e9, (program.name, link, size)
            self.measured.speed.setdefault(key, []).append(gigabytes / first["seconds"])
            effort = (first["processor_s"] + second["processor_s"]) / gigabytes
            self.measured.processor.setdefault(key, []).append(effort)

    def one_pass(self, number):
        """Runs every program once, in the opposite order to the previous pass."""
        chosen = self.options.programs if number % 2 == 0 else self.options.programs[::-1]
        for link in self.options.links:
            with Network("a", "b", direct=True, rate=LINKS[link]) as network:
                for program in chosen:
                    if link == "open":
                        self.small(program, network)
                    if not program.small_only:
                        self.large(program, network, link)
        self.cipher()

    def cipher(self):
        """Measures the speed at which one core encrypts and decrypts pieces of the size of a TLS record, by
        `openssl speed`."""
        for name in ("aes-128-gcm", "aes-256-gcm"):
            for way in ("encrypt", "decrypt"):
                words = ["openssl", "speed", "-elapsed", "-mr", "-seconds", "1", "-bytes", "16384", "-evp",
                         name]
                output = machine.run([*words, *(["-decrypt"] if way == "decrypt" else [])], seconds=30)
                self.measured.cipher.setdefault((name, way), []).append(cipher_speed(output))


def cipher_speed(output):
    """Returns the GB/s in the output of `openssl speed -mr` for one size."""
    found = re.search(r"^\+F:\d+:[^:]+:([\d.]+)", output, re.M)
    if not found:
        raise CannotMeasure(f"openssl speed printed something else than expected:\n{output[-1000:]}")
    return float(found.group(1)) / 1e9


# ---- output --------------------------------------------------------------------------------------------------
def print_tables(session):
    m, names = session.measured, [program.name for program in session.options.programs]
    tables = (m.latency, m.switches, m.small_processor)
    rows = [(name, [report.spread(table.get(name)) for table in tables]) for name in names if name in m.latency]
    if m.bare_latency():
        rows.append(("tcp and wake-ups", [report.spread(m.bare_latency()), None, None]))
    heads = ["µs one way", "switches a message", "processor µs a message"]
    report.table(f"a message of {SMALL} B, to and fro: median; of all processes at both ends", heads, rows)
    for link in session.options.links:
        sizes = sorted({size for _, where, size in m.speed if where == link})
        for title, values in (("GB/s", m.speed), ("processor seconds of both ends per GB", m.processor)):
            rows = [(name, [report.spread(values.get((name, link, size))) for size in sizes]) for name in names]
            report.table(f"messages back to back, link {link}: {title}", map(report.size_name, sizes), rows)
    rows = [(f"{name}, {way}", [report.spread(values)]) for (name, way), values in m.cipher.items()]
    report.table("the bare cipher on one core, GB/s, 16 KiB at a time (openssl speed)", ["GB/s"], rows)
    for link in session.options.links:
        for size in session.options.sizes:
            share = m.cipher_share(link, size)
            if share:
                print(
                    f"  the cipher takes {100 * share:.0f} % of the processor time of "
                    f"{report.size_name(size)} with TLS, link {link}")


def figures(session, facts, versions):
    """Returns [median, least, largest] by program, or by program, link and size."""
    def cells(table):
        return {
            key if isinstance(key, str) else ", ".join(report.size_name(k) if isinstance(k, int) else k
                                                       for k in key):
            [report.significant(value) for value in (statistics.median(values), min(values), max(values))]
            for key, values in table.items()
        }

    m = session.measured
    shares = {f"{link}, {report.size_name(size)}": m.cipher_share(link, size) for _, link, size in m.speed}
    return {
        "machine": facts,
        "versions": versions,
        "repetitions": session.options.repetitions,
        "latency_us": cells(m.latency),
        "switches_per_message": cells(m.switches),
        "processor_us_per_message": cells(m.small_processor),
        "gigabytes_per_s": cells(m.speed),
        "processor_s_per_gigabyte": cells(m.processor),
        "cipher_gigabytes_per_s": cells(m.cipher),
        "cipher_share": {key: report.significant(share) for key, share in shares.items() if share},
    }


def main(words):
    options = arguments_of(words)
    absent = programs.missing(options.programs)
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves programs out)")
    programs.build(options.programs)
    session = Session(options)
    facts, versions = machine.facts([0]), programs.versions(options.programs)
    title = "lan: messages between two machines (network namespaces joined by veth)"
    report.head(title, {**versions, **facts}, f"{options.repetitions}, in turn", programs.FLAGS,
                options.programs)
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
