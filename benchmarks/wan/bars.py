"""Bars for messages over a wide-area link, computed from measurements. Nothing is run here."""

import statistics
from dataclasses import dataclass

from lib.report import Bar, size_name

BARE, BARE_LOSSY = 0.9, 0.8  # times the speed of plain TCP streams, with the best number of streams
IPERF, IPERF_LOSSY = 0.95, 0.85  # times the rate that iperf3 reports for 256 MiB
SMALL = 0.2  # ms in addition to half of a ping; the bar is a part of the emulated link's own time
CP, CP_SCP, CP_TREE = 0.9, 5, 10  # times the speed of a path; times scp at 100 ms; times `scp -r`
SYNC, SYNC_RTTS = 0.5, 3  # s, plus this number of round trips
BESIDE = 1  # ms more for 64 B while large messages flow than plain TCP takes beside its own large messages
STEPS = 1.2  # % of the time of a run that exchanges every 0.6 s over 11 ms
# Times the values of the flapping link itself: 57 s for all messages, including the time in which it is down,
# and 2 s as the longest gap.
FLAPS, FLAPS_GAP = 1.75, 1.75
LINK_FLAPS, LINK_GAP = 57, 2  # s
PROCESSOR = 2  # times the processor time of plain TCP, because everything is encrypted
RUN_RTTS, RUN = 10, 0.5  # round trips, plus s, of a run that only begins and ends
RELAYS = {"relay": 1, "trunk": 2}  # number of relays by program
# for each relay: part of the speed without it, and ms added to half of a round trip
RELAYED, RELAYED_SMALL = 0.95, 0.1
# One direction after 3 s of silence: bytes, number of half pings, and ms in addition.
AFTER_SILENCE = ((20 << 10, 1, 4), (64 << 10, 1, 4), (256 << 10, 1, 9), (1 << 20, 2, 12), (4 << 20, 6, 35))


@dataclass(frozen=True, order=True)
class Cell:
    """A link: round trip (ms), loss (%), congestion control, rate (Mbit/s)."""

    rtt: int
    loss: float
    cc: str
    rate: int = 1000

    def __str__(self):
        return f"{self.rtt} ms, {self.cc}, {self.loss:g} %" + ("" if self.rate == 1000
                                                               else f", {self.rate} Mbit/s")


class Measurements:
    """Measured values of each repetition."""

    def __init__(self):
        self.speed = {}  # (cell, program, bytes, "first" or "later"): Mbit/s to the last byte received
        self.silence = {}  # (cell, program, bytes): ms one way after 3 s of silence
        self.small = {}  # (cell, program): ms, half of a round trip of 64 B
        self.ping = {}  # cell: ms, a round trip
        self.processor = {}  # (cell, program): processor seconds of both ends per GB
        self.beside = {}  # (cell, program): ms, half of a round trip of 64 B while large messages flow
        self.steps = {}  # program: %, what an exchange after each step adds
        self.flaps = {}  # program: s for all messages over a link that flaps
        self.gaps = {}  # program: s, the longest time without one of them
        self.runs = {}  # cell: s of a run that only begins and ends
        self.copies = {}  # (cell, program, bytes): Mbit/s of one file
        self.many = {}  # (cell, program): ms for each of many small files
        self.appears = {}  # cell: s until a file appears by `sync`

    def add(self, table, key, value):
        getattr(self, table).setdefault(key, []).append(value)

    def best(self, cell, prefix, size, which):
        """Returns the program of a kind (`bare/16`, `bare/64`) with the best median, and its values, or None if
        none was measured."""
        found = {key[1]: values for key, values in self.speed.items()
                 if key[0] == cell and key[1].startswith(prefix) and key[2:] == (size, which)}
        return max(found.items(), key=lambda item: statistics.median(item[1]), default=None)


def _at_least(name, ours, others, limit, unit):
    median = statistics.median(others)
    return Bar(name, statistics.median(ours) / median, [value / median for value in ours], ">=", limit, unit)


def _at_most(name, ours, peer, limit):
    """Returns the bar for the ratio to the peer's time. `limit` has its unit beside it."""
    times = [value / peer for value in ours]
    return Bar(name, statistics.median(times), times, "<=", *limit)


def bars(m):
    """Returns all bars for the measured programs and cells. `README.md` in this directory lists them."""
    found = []
    for (cell, program, size, which), ours in sorted(m.speed.items()):
        if program != "ours":
            continue
        name = f"{cell}: {size_name(size)}, {which}"
        if best := m.best(cell, "bare/", size, which):
            limit = BARE_LOSSY if cell.loss else BARE
            found.append(_at_least(name, ours, best[1], limit, f"of {best[0]}"))
        if size == 256 << 20 and (best := m.best(cell, "iperf3/", size, "first")):
            limit = IPERF_LOSSY if cell.loss else IPERF
            found.append(_at_least(name, ours, best[1], limit, f"of {best[0]}"))
    for (cell, program, size, which), relayed in sorted(m.speed.items()):
        without = m.speed.get((cell, "ours", size, which))
        if program in RELAYS and without:
            name = f"{cell}: {size_name(size)}, {which}, {program}"
            found.append(_at_least(name, relayed, without, RELAYED ** RELAYS[program], "of ours without"))
    for (cell, program), relayed in sorted(m.small.items()):
        without = m.small.get((cell, "ours"))
        if program in RELAYS and without:
            limit = 1 + RELAYED_SMALL * RELAYS[program] / (cell.rtt / 2)
            found.append(_at_most(f"{cell}: 64 B, {program}", relayed, statistics.median(without),
                                  (limit, "times ours")))
    for (cell, program), ours in sorted(m.small.items()):
        if program == "ours" and cell in m.ping:
            half = statistics.median(m.ping[cell]) / 2
            limit = 1 + SMALL / (cell.rtt / 2)
            found.append(_at_most(f"{cell}: 64 B", ours, half, (limit, "times half of a ping")))
    for (cell, program, size), ours in sorted(m.silence.items()):
        limits = [(halves, more) for bytes_, halves, more in AFTER_SILENCE if bytes_ == size]
        if program == "ours" and limits and cell in m.ping:
            halves, more = limits[0]
            half, limit = statistics.median(m.ping[cell]) / 2, halves + more / (cell.rtt / 2)
            name = f"{cell}: {size_name(size)} after 3 s of silence"
            found.append(_at_most(name, ours, half, (limit, "times half of a ping")))
    return found + _exchanges(m) + _copies(m)


def _exchanges(m):
    found = []
    for (cell, program), ours in sorted(m.beside.items()):
        others = [statistics.median(values) for key, values in m.beside.items() if key[0] == cell
                  and key[1].startswith("bare/")]
        if others and not program.startswith("bare/"):
            limit = 1 + BESIDE / (cell.rtt / 2)
            name = f"{cell}: 64 B while large ones flow, {program}"
            found.append(_at_most(name, ours, min(others), (limit, "times bare's")))
    for (cell, program), ours in sorted(m.processor.items()):
        best = next((m.best(cell, "bare/", size, "later") for size in (256 << 20, 64 << 20)
                     if m.best(cell, "bare/", size, "later")), None)
        if program == "ours" and best and not cell.loss and m.processor.get((cell, best[0])):
            bare = statistics.median(m.processor[cell, best[0]])
            times = [value / bare for value in ours]
            name = f"{cell}: processor time per GB"
            found.append(Bar(name, statistics.median(times), times, "<=", PROCESSOR, f"times {best[0]}"))
    for cell, values in sorted(m.runs.items()):
        limit = RUN + RUN_RTTS * cell.rtt / 1e3
        found.append(Bar(f"{cell}: a run begins and ends", statistics.median(values), values, "<=", limit, "s"))
    for table, name, peer, limit in ((m.steps, "an exchange each 0.6 s at 11 ms", 1, (STEPS, "% of the time")),
                                     (m.flaps, "500 times 256 KiB to and fro, flaps", LINK_FLAPS,
                                      (FLAPS, "times the link's")),
                                     (m.gaps, "the longest gap of these", LINK_GAP,
                                      (FLAPS_GAP, "times the link's"))):
        if values := table.get("ours"):
            found.append(_at_most(name, values, peer, limit))
    return found


def _copies(m):
    found = []
    for (cell, program, size), ours in sorted(m.copies.items()):
        if program != "cp":
            continue
        sizes = [key[2] for key in m.speed if key[:2] == (cell, "ours")]
        if sizes:
            path = m.speed[cell, "ours", max(sizes), "first"]
            found.append(_at_least(f"{cell}: cp of {size_name(size)}", ours, path, CP, "of the path"))
        scp = m.copies.get((cell, "scp", size))
        if scp and cell.rtt >= 100:
            found.append(_at_least(f"{cell}: cp of {size_name(size)}", ours, scp, CP_SCP, "times scp"))
    for cell, values in sorted(m.appears.items()):
        limit = SYNC + SYNC_RTTS * cell.rtt / 1e3
        found.append(Bar(f"{cell}: sync of 1 MiB", statistics.median(values), values, "<=", limit, "s"))
    for (cell, program), ours in sorted(m.many.items()):
        scp = m.many.get((cell, "scp"))
        if program == "cp" and scp:
            times = [statistics.median(scp) / value for value in ours]
            found.append(Bar(f"{cell}: cp of many files", statistics.median(times), times, ">=", CP_TREE,
                             "times scp -r"))
    return found
