"""Models that can go on, or not, because of the order of their operators; and a judge that plays this order by
itself. A model is a dictionary of components with their ports, a list of conduits, and the number of steps of
each component's passes (2 by default)."""

import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

WALKER = Path(__file__).parent.parent / "filters" / "walker.py"
MACRO, MICRO = "{o_i: call, s: done, o_f: end}", "{f_init: start, o_f: end}"


@dataclass
class Model:
    components: dict
    conduits: list
    told: list = field(default_factory=list)
    steps: dict = field(default_factory=dict)
    multiplicity: dict = field(default_factory=dict)
    scales: dict = field(default_factory=dict)
    more: str = ""  # further models
    severity: str = "error"  # of what is told
    filters: dict = field(default_factory=dict)  # under `ligament:`

    def text(self, folder):
        lines = ["ymmsl_version: v0.2", "models:", "  m:", "    description: waits", "    components:"]
        for name, ports in self.components.items():
            implementation, ports = ports if isinstance(ports, tuple) else ("walker", ports)
            many = f", multiplicity: {self.multiplicity[name]}" if name in self.multiplicity else ""
            lines.append(
                f"      {name}: {{description: one, implementation: {implementation}, ports: {ports}{many}}}")
        lines.append("    conduits:")
        by_sender = {}
        for conduit in self.conduits:
            sender, receiver = conduit.split(" -> ")
            by_sender.setdefault(sender, []).append(receiver)
        for sender, receivers in by_sender.items():
            lines += [f"      {sender}:", *(f"      - {receiver}" for receiver in receivers)]
        lines += [self.more] if self.more else []
        lines.append(
            f"programs: {{walker: {{executable: {sys.executable}, args: [{WALKER}, {folder}, --light]}}}}")
        lines += ["settings:", "  steps: [2]", *(f"  {name}.steps: {steps}"
                                                 for name, steps in self.steps.items())]
        lines += ["ligament:", "  light: [walker]"]
        lines += ["  scales:", *(f"    {name}: {of}"
                                 for name, of in self.scales.items())] if self.scales else []
        lines += ["  filters:", *(f"    {conduit}: {of}"
                                  for conduit, of in self.filters.items())] if self.filters else []
        return "\n".join(lines) + "\n"


NESTED = """  inner:
    description: two that follow on each other
    ports: {f_init: start, o_f: end}
    components:
      first: {description: one, implementation: walker, ports: {f_init: start, o_f: end}}
      second: {description: one, implementation: walker, ports: {f_init: start, o_f: end}}
    conduits:
      start: first.start
      first.end: second.start
      second.end: end"""

STUCK = {
    "each waits for what the other ends with": Model(
        {"a": "{s: in, o_f: end}", "b": "{s: in, o_f: end}"}, ["a.end -> b.in", "b.end -> a.in"],
        ['"a" waits at "a.in" (S) in its first step for "b.end" (O_F)', '"b" waits at "b.in"',
         'let "a.end" be an O_I port'],
    ),
    "one waits for its own end": Model(
        {"a": "{s: in, o_f: end}"}, ["a.end -> a.in"], ['this can never go on: "a" waits at "a.in" (S)'],
    ),
    "a ring of three": Model(
        {name: "{o_i: out, s: in, o_f: end}" for name in "abc"},
        ["a.end -> b.in", "b.end -> c.in", "c.end -> a.in"],
        ['"a" waits at "a.in"', '"b" waits at "b.in"', '"c" waits at "c.in"'],
    ),
    "what starts the other comes at the end": Model(
        {"macro": MACRO, "micro": MICRO}, ["macro.end -> micro.start", "micro.end -> macro.done"],
        ['"macro" waits at "macro.done" (S) in its first step for "micro.end" (O_F)',
         '"micro" waits at "micro.start" (F_INIT) before it begins for "macro.end" (O_F)',
         'let "macro.end" be an O_I port'],
    ),
    "a vector port": Model(
        {"hub": MACRO, "leaf": MICRO}, ["hub.end -> leaf.start", "leaf.end -> hub.done"],
        ['"hub" waits at "hub.done"', '"leaf" waits at "leaf.start"'], multiplicity={"leaf": 3},
    ),
    "one slot of several": Model(
        {"hub": MACRO, "one": MICRO, "two": MICRO},
        ["hub.call -> one.start", "one.end -> hub.done[0]", "hub.end -> two.start", "two.end -> hub.done[1]"],
        ['"hub" waits at "hub.done" (S) in its first step for "two.end" (O_F)', '"two" waits at "two.start"'],
    ),
    "who is called waits for its caller's end": Model(
        {"macro": MACRO, "micro": "{f_init: start, s: late, o_f: end}"},
        ["macro.call -> micro.start", "micro.end -> macro.done", "macro.end -> micro.late"],
        ['if "micro" makes a step in its first pass', '"micro" waits at "micro.late"',
         '"macro" waits at "macro.done"'],
        severity="warning",
    ),
    "two that are called, each after the other": Model(
        {"macro": MACRO, "one": "{f_init: start, s: in, o_f: end}", "two": MICRO},
        ["macro.call -> one.start", "one.end -> two.start", "two.end -> one.in", "two.end -> macro.done"],
        ['if "one" makes a step in its first pass', '"one" waits at "one.in"', '"two" waits at "two.start"'],
        severity="warning",
    ),
    "only the last message starts what is waited for": Model(
        {"macro": MACRO, "micro": MICRO}, ["macro.call -> last micro.start", "micro.end -> repeat macro.done"],
        ['the last message of "macro.call" (O_I), which is known when "macro" has ended a pass',
         'take "last" out'],
    ),
    "the last message of a pass that needs it": Model(
        {"driver": MACRO, "macro": "{f_init: start, o_i: call, s: done, o_f: end}", "after": MICRO},
        ["driver.call -> macro.start", "macro.end -> driver.done", "macro.call -> last after.start",
         "after.end -> repeat macro.done"],
        ['if "macro" makes a step in its first pass', '"after" waits at "after.start"'], severity="warning",
    ),
    "padded and repeated": Model(
        {"a": "{s: in, o_f: end}", "b": "{s: in, o_f: end}"}, ["a.end -> pad b.in", "b.end -> repeat a.in"],
        ['"a" waits at "a.in"', '"b" waits at "b.in"'],
    ),
    "a nested model between them": Model(
        {"clock": MACRO, "town": ("inner", "{f_init: start, o_f: end}")},
        ["clock.end -> town.start", "town.end -> clock.done"],
        ['"clock" waits at "clock.done" (S) in its first step for "town.second.end" (O_F)',
         '"town.first" waits'], more=NESTED,
    ),
    "more steps than messages, by the scales": Model(
        {"macro": "{o_i: call forcing, s: done}", "micro": "{f_init: start, s: forcing, o_f: end}"},
        ["macro.call -> micro.start", "macro.forcing -> micro.forcing", "micro.end -> macro.done"],
        ["if all take as many steps as their scales say", '"micro" waits at "micro.forcing" (S) in step 2',
         '"macro" waits'],
        steps={"macro": [3]}, severity="warning",
        scales={"macro": "{time_step: 1 s, total_time: 3 s}", "micro": "{time_step: 500 ms, total_time: 1 s}"},
    ),
    "a chunk of what is answered one by one": Model(
        {"a": MACRO, "b": MICRO}, ["a.call -> b.start", "b.end -> a.done"],
        ['of which the filter "chunk: 10" holds back',
         'take the filter "chunk: 10" out of the conduit to "b.start"'],
        filters={"a.call -> b.start": "[{chunk: 10}]"},
    ),
    "a chunk of the answers": Model(
        {"a": MACRO, "b": MICRO}, ["a.call -> b.start", "b.end -> a.done"],
        ['"b.end" (O_F), of which the filter "chunk: 2" holds back'], filters={"a.done": "[{chunk: 2}]"},
    ),
    "nothing passes a filter": Model(
        {"a": "{o_i: out, s: in}", "b": "{o_i: out, s: in}"}, ["a.out -> b.in", "b.out -> a.in"],
        ['"a.out" (O_I), of which the filter "discard" holds back',
         '"b.out" (O_I), of which the filter "discard"'],
        filters={"a.out": "[discard]", "b.out": "[discard]"},
    ),
    "every second message is answered": Model(
        {"a": MACRO, "b": MICRO}, ["a.call -> b.start", "b.end -> a.done"],
        ['if "a" receives in each step', '"a" waits at "a.done" (S) in its second step',
         'the filter "every: 2"'],
        severity="warning", filters={"a.call -> b.start": "[{every: 2}]"},
    ),
    "every second message, by the scales": Model(
        {"a": "{o_i: out, s: in}", "b": "{o_i: out, s: in}"}, ["a.out -> b.in", "b.out -> a.in"],
        ['"every: 2"'], severity="warning", filters={"a.out": "[{every: 2}]", "b.out": "[{every: 2}]"},
        steps={"a": [3], "b": [3]},
        scales={"a": "{time_step: 1 s, total_time: 3 s}", "b": "{time_step: 1 s, total_time: 3 s}"},
    ),
    "nothing before a time passes": Model(
        {"a": MACRO, "b": MICRO}, ["a.call -> b.start", "b.end -> a.done"],
        ['as long as its filter holds messages back', 'the filter "block_until: 1000" holds back'],
        severity="warning", filters={"a.call -> b.start": "[{block_until: 1000}]"},
    ),
}

FREE = {
    "a chunk that nobody answers": Model(
        {"a": "{o_i: out}", "b": MICRO}, ["a.out -> b.start"], filters={"a.out": "[{chunk: 10}]"}),
    "chunks of one message": Model(
        {"a": MACRO, "b": MICRO}, ["a.call -> b.start", "b.end -> a.done"], filters={"a.call": "[{chunk: 1}]"}),
    "chunks and their messages again": Model(
        {"a": MACRO, "b": MICRO}, ["a.call -> b.start", "b.end -> a.done"],
        filters={"a.call": "[{chunk: 1}, dechunk]"}),
    "call and release": Model({"macro": MACRO, "micro": MICRO},
                              ["macro.call -> micro.start", "micro.end -> macro.done"]),
    "two that interact": Model({n: "{o_i: out, s: in}" for n in "ab"}, ["a.out -> b.in", "b.out -> a.in"]),
    "one after the other": Model({"a": MACRO, "b": MICRO}, ["a.end -> b.start"]),
    "a ring that sends first": Model(
        {n: "{o_i: out, s: in}" for n in "abc"}, ["a.out -> b.in", "b.out -> c.in", "c.out -> a.in"]),
    "one with itself": Model({"a": "{o_i: out, s: in}"}, ["a.out -> a.in"]),
    "a vector port": Model({"hub": MACRO, "leaf": MICRO}, ["hub.call -> leaf.start", "leaf.end -> hub.done"],
                           multiplicity={"leaf": 3}),
    "slots": Model({"hub": MACRO, "one": MICRO, "two": MICRO},
                   ["hub.call -> one.start", "one.end -> hub.done[0]", "one.end -> two.start",
                    "two.end -> hub.done[1]"]),
    "three levels": Model(
        {"macro": MACRO, "meso": "{f_init: start, o_i: call, s: done, o_f: end}", "micro": MICRO},
        ["macro.call -> meso.start", "meso.call -> micro.start", "micro.end -> meso.done",
         "meso.end -> macro.done"]),
    "only the last goes on": Model({"macro": MACRO, "after": MICRO}, ["macro.call -> last after.start"]),
    "repeated in each step": Model(
        {"macro": "{o_i: call forcing, s: done}", "micro": "{f_init: start, s: forcing, o_f: end}"},
        ["macro.call -> micro.start", "macro.forcing -> repeat micro.forcing", "micro.end -> macro.done"]),
    "padded at each start": Model(
        {"first": "{o_f: state}", "macro": MACRO, "micro": "{f_init: start state, o_f: end}"},
        ["first.state -> pad micro.state", "macro.call -> micro.start", "micro.end -> macro.done"]),
    "who only listens to an end": Model(
        {"macro": MACRO, "micro": MICRO, "listener": "{s: in}"},
        ["macro.call -> micro.start", "micro.end -> macro.done", "macro.end -> listener.in"],
        steps={"listener": [1]}),
    "as many steps as messages, by the scales": Model(
        {"macro": "{o_i: call forcing, s: done}", "micro": "{f_init: start, s: forcing, o_f: end}"},
        ["macro.call -> micro.start", "macro.forcing -> micro.forcing", "micro.end -> macro.done"],
        steps={"macro": [3], "micro": [1]},
        scales={"macro": "{time_step: 1 s, total_time: 3 s}", "micro": "{time_step: 1 s, total_time: 1 s}"}),
}

ANY = [(sends, receives) for sends in ("call", "end") for receives in ("start", "done")]
PORTS = {"start": "F_INIT", "call": "O_I", "done": "S", "end": "O_F"}


def random_model(dice, with_scales):
    """Two to five components with a port for each operator, and conduits between any of them."""
    names = "abcde"[: dice.randint(2, 5)]
    taken, conduits = set(), []
    for _ in range(dice.randint(1, 2 * len(names) - 2)):
        # Most conduits are calls and answers between two different components; the others are drawn freely.
        one, other = dice.sample(names, 2)
        ways = [("call", "start"), ("end", "done")] if dice.random() < 0.6 else [dice.choice(ANY)]
        for sends, receives in ways:
            sender, receiver = (one, other) if receives == "start" else (other, one)
            if f"{receiver}.{receives}" not in taken:
                taken.add(f"{receiver}.{receives}")
                conduits.append(f"{sender}.{sends} -> {receiver}.{receives}")
    steps = {name: [dice.randint(1, 3)] for name in names}
    scales = {}
    if with_scales:
        scales = {name: f"{{time_step: 1 s, total_time: {many[0]} s}}" for name, many in steps.items()}
    else:
        # Later passes may have other numbers of steps, or none.
        steps = {name: [*many, dice.randint(0, 2)] for name, many in steps.items()}
    ports = "{f_init: start, o_i: call, s: done, o_f: end}"
    return Model({name: ports for name in names}, conduits, steps=steps, scales=scales)


def judge(model):
    """Plays the order of the operators, with room for all messages. Returns `ends`, `waits` (for ever), or
    `fails` if a component waits for a message of one that has ended."""
    ways = [tuple(end.split(".") for end in conduit.split(" -> ")) for conduit in model.conduits]
    there = [0] * len(ways)
    into = {(name, port): [i for i, (_, to) in enumerate(ways) if to == [name, port]]
            for name in model.components for port in PORTS}
    over, fails, moves = set(), set(), []

    def send(name, port):
        for i, (sender, _) in enumerate(ways):
            there[i] += sender == [name, port]
        moves.append(port)

    def receives(name, port):
        """Waits until there is a message on each conduit. Returns false if there will be none."""
        for i in into[name, port]:
            while there[i] == 0:
                if ways[i][0][0] in over | fails:
                    return False
                yield
            there[i] -= 1
            moves.append(i)
        return True

    def life(name):
        passes = 0
        while (yield from receives(name, "start")):
            steps = model.steps[name]
            for _ in range(steps[min(passes, len(steps) - 1)]):
                send(name, "call")
                if not (yield from receives(name, "done")):
                    fails.add(name)
                    return
            send(name, "end")
            passes += 1
            if not into[name, "start"]:
                break
        over.add(name)

    lives = {name: life(name) for name in model.components}
    before = None
    while before != (before := (len(moves), len(lives))):
        for name in list(lives):
            if next(lives[name], "over") == "over":
                del lives[name]
    return "fails" if fails else "waits" if lives else "ends"


def goes_on_with(model, tries=2000):
    """Other numbers of steps with which a model that waits for ever would end, or fail; None if none of the
    tried numbers does. Only a component that is called may make no step in its first pass."""
    dice = random.Random(1)
    called = {conduit.split(" -> ")[1].split(".")[0] for conduit in model.conduits
              if conduit.endswith(".start")}
    failing = None
    for _ in range(tries):
        steps = {name: [dice.randint(0 if name in called else 1, 3), *(dice.randint(0, 3) for _ in range(3))]
                 for name in model.components}
        truth = judge(Model(model.components, model.conduits, steps=steps))
        if truth == "ends":
            return steps
        failing = steps if truth == "fails" else failing
    return failing
