"""Models of components with clocks, and the deliveries that follow from the written rule."""

import random
from dataclasses import dataclass, field

MS = 1_000_000


@dataclass
class Conduit:
    sender: int
    receiver: int
    latency: int
    buffer: int | None = None
    routing: str | None = None


@dataclass
class Graph:
    """Components by number: their ticks (ns), numbers of steps and of ranks; and the conduits between them."""

    ticks: list[int]
    steps: list[int]
    conduits: list[Conduit]
    ranks: list[int] = field(default_factory=list)
    passes: int = 1
    # Each rank of a receiver wants one of this number of ids; 0 means that it wants all.
    one_of: int = 0

    def ranks_of(self, component):
        return self.ranks[component] if self.ranks else 1

    def buffer(self, conduit):
        return conduit.buffer or max(1, conduit.latency // self.ticks[conduit.sender])

    def has_time(self):
        """Returns true if the latencies of each loop are together at least as long as its exchanges."""
        distance = [0] * len(self.ticks)
        for _ in range(len(self.ticks) + 1):
            changed = False
            for c in self.conduits:
                way = distance[c.sender] + c.latency - self.buffer(c) * self.ticks[c.sender]
                if way < distance[c.receiver]:
                    distance[c.receiver], changed = way, True
            if not changed:
                return True
        return False

    def events(self, component, rank, port, one_pass):
        """The events that a rank of a component sends on its port with this number: times (ns, s) and ids."""
        tick = self.ticks[component]
        step = tick / 1e9
        for k in range(self.steps[component]):
            for j in range((k * 7 + component + rank + port + one_pass) % 4):
                at = k * tick / 1e9 + j * (step / 4)
                yield k * tick, at, (k * 31 + j * 7 + component * 13 + rank * 5 + one_pass) % 1000

    def wants(self, rank, conduit, one_pass, id):
        """Returns true if a rank of a receiver wants an id. Each pass has another set of ids."""
        return self.one_of == 0 or (id * 7 + rank * 3 + conduit + one_pass) % self.one_of == 0

    def deliveries(self, receiver, of_rank):
        """The deliveries that a rank of a component must see: (pass, port, tick, time, id), sorted."""
        seen = []
        for number, c in enumerate(self.conduits):
            if c.receiver != receiver:
                continue
            interval, tick = self.buffer(c) * self.ticks[c.sender], self.ticks[receiver]
            port = sum(earlier.sender == c.sender for earlier in self.conduits[:number])
            for one_pass in range(self.passes):
                for rank in range(self.ranks_of(c.sender)):
                    for begin, at, id in self.events(c.sender, rank, port, one_pass):
                        exchange = begin // interval
                        delivered = (exchange * interval + c.latency) // tick
                        assert delivered * tick <= begin + c.latency, "later than it was promised"
                        wanted = self.wants(of_rank, number, one_pass, id)
                        if wanted and delivered <= self.steps[receiver]:
                            seen.append((one_pass, f"p{number}", delivered, at.hex(), id))
        return sorted(seen)

    @staticmethod
    def seen(text):
        """The deliveries that a rank has printed, in the form of `deliveries`."""
        lines = (line.split() for line in text.splitlines())
        return sorted((int(one_pass), port, int(tick), float.fromhex(at).hex(), int(id))
                      for one_pass, port, tick, at, id in lines)

    def model(self, program):
        """Returns the model file. Component i has an output for each conduit, because conduits of one port
        share their exchange."""
        components, programs, settings, resources = [], [], [], []
        for i, tick in enumerate(self.ticks):
            sends = [f"p{n}" for n, c in enumerate(self.conduits) if c.sender == i]
            receives = [f"p{n}" for n, c in enumerate(self.conduits) if c.receiver == i]
            # A component that sends to itself has two ports of different names.
            sends = [f"o{p}" for p in sends]
            begin = ", f_init: begin" if self.passes > 1 else ""
            declared = f"o_i: [{', '.join(sends)}], s: [{', '.join(receives)}]{begin}"
            components.append(f"      c{i}: {{ports: {{{declared}}}, implementation: c{i}}}")
            ports = [f"o_i:{p}" for p in sends] + [f"s:{p}" for p in receives]
            ports += ["f_init:begin"] if self.passes > 1 else []
            arguments = ", ".join(repr(port) for port in [str(i), *ports])
            programs.append(f"  c{i}: {{executable: {program}, args: [{arguments}]}}")
            settings += [f"  c{i}.steps: {self.steps[i]}", f"  c{i}.step: {tick / 1e9!r}"]
            settings += [f"  c{i}.one_of: {self.one_of}"]
        lines = ["ymmsl_version: v0.2", "models:", "  m:", "    components:", *components]
        conduits = [f"      c{c.sender}.op{n}: c{c.receiver}.p{n}" for n, c in enumerate(self.conduits)]
        exchanges = []
        for n, c in enumerate(self.conduits):
            buffer = f", buffer: {c.buffer}" if c.buffer else ""
            routing = f", routing: {c.routing}" if c.routing else ""
            events = f"{{events: 1000, latency: {c.latency} ns{buffer}{routing}}}"
            exchanges.append(f"    c{c.sender}.op{n} -> c{c.receiver}.p{n}: {events}")
        if self.passes > 1:
            outputs = ", ".join(f"b{i}" for i in range(len(self.ticks)))
            lines.append(f"      macro: {{ports: {{o_i: [{outputs}]}}, implementation: macro}}")
            conduits += [f"      macro.b{i}: c{i}.begin" for i in range(len(self.ticks))]
            exchanges += [f"    macro.b{i} -> c{i}.begin: {{messages: all}}" for i in range(len(self.ticks))
                          if self.ranks_of(i) > 1]
            arguments = ", ".join(repr(f"b{i}") for i in range(len(self.ticks)))
            arguments = f"macro, '{self.passes}', {arguments}"
            programs.append(f"  macro: {{executable: {program}, args: [{arguments}]}}")
        lines += ["    conduits:", *conduits, "programs:", *programs, "settings:", *settings]
        lines += ["ligament:", "  ticks:"]
        lines += [f"    c{i}: {tick} ns" for i, tick in enumerate(self.ticks)]
        ranks = {i: n for i, n in enumerate(self.ranks) if n > 1}
        if ranks:
            lines.append(f"  ranks: {{{', '.join(f'c{i}: {n}' for i, n in ranks.items())}}}")
        return "\n".join([*lines, "  exchange:", *exchanges]) + "\n"


def drawn(seed):
    """A random graph with two to five components, in which loops and unequal ticks are frequent."""
    draw = random.Random(seed)
    count = draw.randint(2, 5)
    ticks = [draw.choice([1, 1, 2, 3, 5]) * MS // draw.choice([1, 1, 2]) for _ in range(count)]
    steps = [draw.randint(3, 20) for _ in range(count)]
    conduits = []
    for _ in range(draw.randint(count - 1, 2 * count)):
        sender, receiver = draw.randrange(count), draw.randrange(count)
        latency = draw.choice([0, 1, 2, 3, 5, 8, 10]) * MS // draw.choice([1, 1, 2])
        conduits.append(Conduit(sender, receiver, latency, draw.choice([None, None, None, 1, 2])))
    ranks = [draw.choice([1, 1, 1, 2]) for _ in range(count)]
    graph = Graph(ticks, steps, conduits, ranks, passes=draw.choice([1, 2, 2]))
    graph.one_of = draw.choice([0, 0, 2, 5])
    for conduit in conduits:
        conduit.routing = draw.choice([None, "shared", "pairwise", "pairwise"])
    return graph


def drawn_pair(seed):
    """One to eight ranks send to one to eight ranks, which want other ids in each pass, with both routings."""
    draw = random.Random(seed)
    ranks = [draw.randint(1, 8), draw.randint(1, 8)]
    both = [Conduit(0, 1, 2 * MS, None, routing) for routing in ("shared", "pairwise")]
    ticks, one_of = [MS, draw.choice([MS, 2 * MS])], draw.choice([1, 2, 3, 10])
    return Graph(ticks, [6, 5], both, ranks, passes=3, one_of=one_of)
