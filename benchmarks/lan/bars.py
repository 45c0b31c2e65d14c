"""The limits that measurements of messages between machines must keep. Nothing is run here."""

import statistics

from lib.report import Bar, size_name

LATENCY = 1.3  # times raw TCP with the wake-ups of the same hops
PLAIN, TLS = 0.9, 0.6  # of the speed of the TCP program, which does not encrypt
# on a link that is the bottleneck; a difference of 2 % is the least that the measurement resolves
SHAPED = 0.98
WAYS = (("ligament/plain", "without TLS"), ("ligament/tls", "with TLS"))


class Measurements:
    """Measured values of each repetition."""

    def __init__(self):
        self.latency = {}  # program: µs one way
        self.switches = {}  # program: of all processes, per message
        self.small_processor = {}  # program: µs of processor time of all processes, per message
        self.speed = {}  # (program, link, bytes of a message): GB/s
        self.processor = {}  # (program, link, bytes): processor seconds of all processes per GB
        self.cipher = {}  # (cipher, direction): GB/s of one core

    def median(self, table, key):
        values = getattr(self, table).get(key)
        return statistics.median(values) if values else None

    def bare_latency(self):
        """Returns the time of raw TCP plus two wake-ups, of each repetition, in µs. A message over two agents
        wakes its sender's agent and its receiver, in addition to the processes that a TCP connection wakes."""
        return [tcp + wakes for tcp, wakes in zip(self.latency.get("bare/tcp", []),
                                                  self.latency.get("bare/wake", []))]

    def cipher_share(self, link, bytes_):
        """Returns the part of the processor time of a GB with TLS that the cipher alone takes at both ends, or
        None."""
        seconds = self.median("processor", ("ligament/tls", link, bytes_))
        speeds = [self.median("cipher", ("aes-256-gcm", way)) for way in ("encrypt", "decrypt")]
        return sum(1 / speed for speed in speeds) / seconds if seconds and all(speeds) else None


def _ratio(name, ours, theirs, op, limit, unit):
    """Returns the bar for a ratio of medians, or None if one side was not measured."""
    if not ours or not theirs:
        return None
    ratios = [a / b for a, b in zip(ours, theirs)]
    return Bar(name, statistics.median(ours) / statistics.median(theirs), ratios, op, limit, unit)


def bars(m):
    """Returns all bars for the measured programs and sizes. `README.md` in this directory lists them."""
    found = []
    for program, way in WAYS:
        unit = "times raw TCP and its wake-ups"
        found.append(_ratio(f"small message, {way}", m.latency.get(program), m.bare_latency(), "<=", LATENCY,
                            unit))
    for program, way in WAYS:
        for (name, link, bytes_), ours in sorted(m.speed.items()):
            if name != program or bytes_ < 1 << 20:
                continue
            limit = SHAPED if link != "open" else PLAIN if program == "ligament/plain" else TLS
            title = f"{size_name(bytes_)}, {way}" + ("" if link == "open" else f", {link}")
            found.append(_ratio(title, ours, m.speed.get(("bare/tcp", link, bytes_)), ">=", limit,
                                "of a TCP program"))
    return [bar for bar in found if bar]
