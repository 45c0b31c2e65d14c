"""Messages over an emulated wide-area link: how fast large ones are, what a pause costs, and how long small
ones take, beside plain TCP streams and iperf3."""

import argparse
import statistics
import time
from pathlib import Path

import programs  # must be first, because it adds the modules of the tests to the path
import copies
import exchanges
from bars import AFTER_SILENCE, Cell, Measurements, bars
from failures import Failures
from lib import machine, picture, report
from lib.machine import CannotMeasure

RTTS, LOSSES, CONTROLS = (1, 15, 60, 100, 150), (0, 0.01, 0.1, 0.3), ("cubic", "bbr")
SIZES = (64 << 20, 256 << 20)
STREAMS = (1, 2, 4, 8, 16, 32, 64, 128)  # of the bare program
LATER = 3  # messages after the first one
PROGRAMS = ("bare", "ours", "iperf3", "relay", "trunk", "scp")
SMALL = 64
TIMEOUT_S = 1200  # s, for a single stream on a link that loses segments
PARTS = ("bulk", "silence", "small", "beside", "run", "steps", "flaps", "copies")


def listed(kind):
    return lambda text: tuple(kind(word) for word in text.split(","))


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run wan", description=__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="a few cells, 64 MiB, 3 repetitions; about twenty minutes")
    parser.add_argument("--rate", type=int, default=1000,
                        help="of the link, Mbit/s (default 1000); sizes shrink with it")
    parser.add_argument("--rtt", type=listed(int), help="ms, separated by commas")
    parser.add_argument("--loss", type=listed(float), help="%% of the segments, separated by commas")
    parser.add_argument("--cc", type=listed(str), help="congestion control of the system: cubic, bbr")
    parser.add_argument("--streams", type=listed(int), help="of the bare program, separated by commas")
    parser.add_argument("--ours", type=int, default=0,
                        help="streams of ours (default 0: as many as it finds right)")
    parser.add_argument("--sizes", type=listed(int), help="MiB, separated by commas")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 5, quick 3)")
    parser.add_argument("--only", type=listed(str),
                        help=f"{', '.join(PROGRAMS)}, separated by commas; all, quick the first three")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="SVG (default build/benchmarks/wan.svg)")
    parser.add_argument("--skip", type=listed(str), default=(), help=f"{', '.join(PARTS)}, separated by commas")
    options = parser.parse_args(words)
    unknown = sorted({*options.skip} - {*PARTS} | {*(options.only or ())} - {*PROGRAMS})
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}")
    options.repetitions = options.repetitions or (3 if options.quick else 5)
    options.streams = options.streams or ((16, 64) if options.quick else STREAMS)
    sizes = [size << 20 for size in options.sizes] if options.sizes else SIZES[:1] if options.quick else SIZES
    options.sizes = [max(size * options.rate // 1000, 1 << 20) for size in sizes]
    if options.quick and not (options.rtt or options.loss or options.cc):
        chosen = [(15, 0, "cubic"), (15, 0.1, "cubic"), (100, 0, "cubic"), (100, 0, "bbr"), (100, 0.1, "cubic"),
                  (100, 0.1, "bbr")]
    else:
        chosen = [(rtt, loss, cc) for rtt in options.rtt or RTTS for loss in options.loss or LOSSES
                  for cc in options.cc or CONTROLS]
    options.cells = [Cell(*cell, options.rate) for cell in chosen]
    chosen = options.only or PROGRAMS[:3] if options.quick else options.only or PROGRAMS
    options.programs = [name for name in PROGRAMS if name in chosen]
    options.picture = options.picture or machine.BUILD / "wan.svg"
    return options


class Session:
    """A measurement: the options of the user, and the results so far."""

    def __init__(self, options):
        self.options, self.measured, self.failures, self.seed = options, Measurements(), Failures(), 0

    def kinds(self, judged=False):
        """Returns each program and number of streams. In a quick run, only the number that is `judged`."""
        chosen = self.options.programs
        if judged and self.options.quick:
            chosen = [name for name in chosen if name in ("ours", "relay", "trunk")]
        return [("bare", n) for n in self.options.streams if "bare" in chosen] + \
            [(name, self.options.ours) for name in ("ours", "relay", "trunk") if name in chosen]

    def bulk(self, cell, link, size):
        allowed = 30 + (LATER + 1) * size * 8 / (cell.rate * 1e6) * 60
        for name, streams in self.kinds():
            with self.failures.of(name, f"{cell}, {report.size_name(size)}"):
                played = programs.play(link, name, [(1, size, 0), (LATER, size, 0)], streams, allowed)
                title = f"{name}/{streams}" if name == "bare" else name
                speeds = [size * 8e3 / (received - sent) for sent, _, received in played.messages]
                self.measured.add("speed", (cell, title, size, "first"), speeds[0])
                self.measured.add("speed", (cell, title, size, "later"), statistics.median(speeds[1:]))
                self.measured.add("processor", (cell, title), played.processor / ((LATER + 1) * size / 1e9))
        if "iperf3" in self.options.programs and programs.has_iperf3():
            for streams in (1, 8, 32):
                with self.failures.of("iperf3", f"{cell}, {report.size_name(size)}"):
                    speed = programs.iperf3(link, streams, size, TIMEOUT_S)
                    self.measured.add("speed", (cell, f"iperf3/{streams}", size, "first"), speed)
        if "scp" in self.options.programs and not copies.missing():
            with self.failures.of("scp", f"{cell}, {report.size_name(size)}"):
                self.measured.add("speed", (cell, "scp", size, "first"),
                                  copies.one_file(link, "scp", size, TIMEOUT_S))

    def copies(self, cell, link):
        if self.options.quick and cell in self.measured.appears:
            return  # scp takes half a second for each file at 100 ms
        size = (256 << 20 if self.options.quick else 1 << 30) * cell.rate // 1000
        files = 100 if self.options.quick else 1000
        for program in ("cp", "scp"):
            with self.failures.of(program, f"{cell}, copies"):
                self.measured.add("copies", (cell, program, size), copies.one_file(link, program, size, 600))
                self.measured.add("many", (cell, program),
                                  copies.many_files(link, program, files, 1200) / files * 1000)
        self.measured.add("appears", cell, copies.appears(link))

    def silence(self, cell, link):
        """Measures each size once after 3 s of silence, after a large message, as between the steps of a
        simulation."""
        plan = [(2, self.options.sizes[0] // 4, 0), *((1, size, 3000) for size, _, _ in AFTER_SILENCE)]
        for name, streams in self.kinds(judged=True):
            with self.failures.of(name, f"{cell}, silence"):
                played = programs.play(link, name, plan, streams, 120)
                title = f"{name}/{streams}" if name == "bare" else name
                for (size, _, _), (sent, _, received) in zip(AFTER_SILENCE, played.messages[2:], strict=True):
                    self.measured.add("silence", (cell, title, size), (received - sent) / 1e6)

    def small(self, cell, link):
        self.measured.add("ping", cell, programs.ping(link))
        for name, streams in self.kinds(judged=True):
            with self.failures.of(name, f"{cell}, {SMALL} B"):
                played = programs.play(link, name, [(20 if self.options.quick else 40, SMALL, 1)], streams, 60)
                title = f"{name}/{streams}" if name == "bare" else name
                self.measured.add("small", (cell, title), statistics.median(played.halves()))

    def beside(self, cell, link):
        """Measures 64 B while large messages flow, on other connections and on another conduit of the same run.
        """
        streams = self.options.streams[:1] if self.options.quick else (16, 64)
        kinds = [("bare", n) for n in streams if "bare" in self.options.programs]
        kinds += [("ours", self.options.ours), ("run", 0)] if "ours" in self.options.programs else []
        for name, n in kinds:
            title = f"{name}/{n}" if name == "bare" else name
            with self.failures.of(name, f"{cell}, {SMALL} B while large ones flow"):
                self.measured.add("beside", (cell, title), exchanges.beside(link, cell, name, n, 300))

    def of_one_link(self):
        """Measures the parts with links of their own. A quick run does so once."""
        for part in ("steps", "flaps"):
            if part in self.options.skip or self.options.quick and getattr(self.measured, part):
                continue
            for name, streams in (("bare", 1), ("ours", self.options.ours)):
                if name not in self.options.programs or (part, name) == ("flaps", "bare"):
                    continue  # a plain stream waits until the end of its backoff
                with self.failures.of(name, part):
                    if part == "steps":
                        with programs.link(Cell(exchanges.STEP_RTT, 0, "cubic"), self.seed) as link:
                            self.measured.add("steps", name, exchanges.steps(link, name, streams))
                    else:
                        took, gap = exchanges.flaps(name, streams, self.seed)
                        self.measured.add("flaps", name, took)
                        self.measured.add("gaps", name, gap)

    def one_pass(self):
        """Measures every cell once, each on a fresh link. The programs take turns."""
        for cell in self.options.cells:
            self.seed += 1
            with programs.link(cell, self.seed) as link:
                if "small" not in self.options.skip:
                    self.small(cell, link)
                if "bulk" not in self.options.skip:
                    for size in self.options.sizes:
                        self.bulk(cell, link, size)
                if "silence" not in self.options.skip and not cell.loss:
                    self.silence(cell, link)
                if "run" not in self.options.skip and not cell.loss and "ours" in self.options.programs:
                    self.measured.add("runs", cell, exchanges.whole_run(link))
                if "beside" not in self.options.skip and not cell.loss:
                    self.beside(cell, link)
                if "copies" not in self.options.skip and not cell.loss and not copies.missing():
                    self.copies(cell, link)
            self.tell(cell)
        self.of_one_link()

    def tell(self, cell):
        """Prints the latest results of a cell, so that an interrupted measurement has shown its results."""
        found = [f"{name} {values[-1]:.0f}{'' if which == 'first' else ' later'}"
                 for (at, name, _, which), values in self.measured.speed.items() if at == cell]
        silence = [f"{name} {report.size_name(size)} {values[-1]:.0f} ms"
                   for (at, name, size), values in self.measured.silence.items() if at == cell]
        small = [f"{name} 64 B {values[-1]:.2f} ms" for (at, name), values in self.measured.small.items()
                 if at == cell]
        print(f"  {cell}: Mbit/s: {', '.join(found)}; {', '.join(silence + small)}", flush=True)


# ---- output --------------------------------------------------------------------------------------------------
def print_tables(session):
    m = session.measured
    for size in session.options.sizes:
        names = list(dict.fromkeys(key[1] for key in m.speed if key[2] == size))
        rows = [(f"{cell}, {which}", [report.spread(m.speed.get((cell, name, size, which))) for name in names])
                for cell in session.options.cells for which in ("first", "later")]
        report.table(f"Mbit/s to the last byte received, {report.size_name(size)}", names, rows)
    titles = [report.size_name(size) for size, _, _ in AFTER_SILENCE]
    rows = [(f"{cell}, {name}", [report.spread(m.silence.get((cell, name, size)))
                                 for size, _, _ in AFTER_SILENCE])
            for cell, name in dict.fromkeys(key[:2] for key in m.silence)]
    report.table("ms one way after 3 s of silence", titles, rows)
    rows = [(f"{cell}, {name}", [report.spread(values), report.spread(m.ping.get(cell)),
                                 report.spread(m.processor.get((cell, name)))])
            for (cell, name), values in m.small.items()]
    report.table(
        "64 B: ms, half of a round trip; beside ping, ms; processor s of both ends per GB of large messages",
                 ["64 B", "ping", "processor"], rows)
    rows = [(f"{cell}, {name}", [report.spread(values),
                                 report.spread(m.runs.get(cell)) if name == "run" else None])
            for (cell, name), values in m.beside.items()]
    report.table(
        "64 B while large messages flow: ms, half of a round trip; s of a run that only begins and ends",
                 ["64 B", "run"], rows)
    rows = [(name, [report.spread(table.get(name)) for table in (m.steps, m.flaps, m.gaps)])
            for name in dict.fromkeys([*m.steps, *m.flaps])]
    report.table(
        "an exchange each 0.6 s at 11 ms: % of the time; 500 times 256 KiB to and fro over a link that flaps: "
        "s; "
                 "longest gap, s", ["steps", "flaps", "gap"], rows)
    rows = [(f"{cell}, {name}", [report.spread(values), report.spread(m.many.get((cell, name))),
                                 report.spread(m.appears.get(cell)) if name == "cp" else None])
            for (cell, name, _), values in m.copies.items()]
    report.table(
        "copies: Mbit/s of one file; ms for each of many files of 16 KiB; s until a file of 1 MiB appears by "
        "sync",
                 ["one file", "many", "sync"], rows)


def draw(session):
    """Draws the throughput over the round trip: a panel for each loss and congestion control, with a line for
    the best program of each kind."""
    m, options = session.measured, session.options
    rtts = sorted({cell.rtt for cell in options.cells})
    size, panels = options.sizes[-1], {}
    for cell in options.cells:
        lines = panels.setdefault(f"{cell.cc}, {cell.loss:g} % lost, {report.size_name(size)}", {})
        for kind in PROGRAMS:
            for which in ("first", "later"):
                if best := m.best(cell, kind, size, which):
                    name = kind if kind in ("iperf3", "scp") else f"{kind}, {which}"
                    lines.setdefault(name, []).append((rtts.index(cell.rtt), statistics.median(best[1])))
    picture.draw(options.picture, panels, [f"{rtt} ms" for rtt in rtts], "Mbit/s to the last byte received")
    print(f"\npicture: {options.picture}")


def figures(session, facts):
    """Returns [median, least, largest] by cell, program and size."""
    def cells(table):
        return {
            " | ".join(map(str, key if isinstance(key, tuple) else (key,))):
            [report.significant(value) for value in (statistics.median(values), min(values), max(values))]
            for key, values in table.items()
        }

    m = session.measured
    return {"machine": facts, "repetitions": session.options.repetitions, "failures": session.failures.lines,
            "mbit_per_s": cells(m.speed),
            "ms_after_silence": cells(m.silence), "ms_half_round_trip": cells(m.small),
            "ms_ping": cells(m.ping),
            "processor_s_per_gigabyte": cells(m.processor), "copies_mbit_per_s": cells(m.copies),
            "ms_beside_large": cells(m.beside), "percent_of_steps": cells(m.steps), "flaps_s": cells(m.flaps),
            "flaps_gap_s": cells(m.gaps), "run_s": cells(m.runs), "copies_ms_per_file": cells(m.many),
            "sync_s": cells(m.appears)}


def main(words):
    options = arguments_of(words)
    absent = programs.missing()
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent))
    programs.build()
    session, facts = Session(options), machine.facts([0])
    print(f"wan: messages over an emulated wide-area link, {options.rate} Mbit/s, a queue of one round trip\n")
    for name, value in {**facts, "repetitions": f"{options.repetitions}, in turn"}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    if "iperf3" in options.programs and not programs.has_iperf3():
        print("  iperf3               not here (apt-get install iperf3)")
    begun = time.monotonic()
    for number in range(options.repetitions):
        session.one_pass()
        print(f"pass {number + 1} of {options.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    print_tables(session)
    draw(session)
    if session.failures.lines:
        print(f"\npeers that failed: {len(session.failures.lines)}; what they did not measure is left out")
        for line in session.failures.lines:
            print(f"  {line}")
    found = bars(session.measured)
    print(
        f"\nbars: {sum(bar.holds for bar in found)} of {len(found)} hold (value, limit, spread of the "
        f"repetitions)")
    for bar in found:
        print(bar.line())
    report.last_line(figures(session, facts), found)
    return 0
