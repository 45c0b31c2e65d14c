"""Random models of yMMSL 0.2: the check finds contradicting timelines exactly where PyPI's ymmsl finds them,
and a model that passes the check runs to its end."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

WALKER = Path(__file__).parent / "walker.py"
MODELS = int(os.environ.get("LIGAMENT_MODELS", "40"))  # `make test-all` has more
SEED = int(os.environ.get("LIGAMENT_SEED", "16"))


def conduits_of(dice):
    """A random model: the number of components, and the conduits: sender, filters, receiver. Components call
    each other, follow each other, or stand alone. Further messages go to later components, mostly through
    filters that fit. So no component waits for itself."""
    count = dice.randint(2, 6)
    around = [[] for _ in range(count)]  # the callers of each component, the outermost first
    conduits, replied = [], set()
    for i in range(1, count):
        other = dice.randrange(i)
        kind = dice.choice(["call", "call", "follow", "alone"])
        if kind == "call":
            around[i] = [*around[other], other]
            conduits.append((f"c{other}.call", [], f"c{i}.start"))
            if other not in replied:
                replied.add(other)
                conduits.append((f"c{i}.end", [], f"c{other}.done"))
        elif kind == "follow":
            around[i] = around[other]
            conduits.append((f"c{other}.end", [], f"c{i}.start"))
    taken = set()
    for _ in range(dice.randint(0, 4)):
        a, b = sorted(dice.sample(range(count), 2))
        one, two = [*around[a], a], [*around[b], b]
        common = next((i for i, (x, y) in enumerate(zip(one, two)) if x != y), min(len(one), len(two)))
        if common < min(len(one), len(two)) and one[common] > two[common] or len(two) <= common:
            continue
        from_port, to_port = dice.choice(["call", "data", "end"]), dice.choice(["extra", "forcing"])
        # The last message of a component comes after all messages of those that it calls.
        if (b, to_port) in taken or from_port == "end" and common == len(one):
            continue
        taken.add((b, to_port))
        sent = around[a] if from_port == "end" else one
        received = around[b] if to_port == "extra" else two
        same = min(common, len(sent), len(received))
        if dice.random() < 0.7:
            last, repeats = len(sent) - same, len(received) - same
        else:
            last, repeats = dice.randint(0, 2), dice.randint(0, 2)
        pads = dice.randint(0, repeats)
        filters = ["last"] * last + ["repeat"] * (repeats - pads) + ["pad"] * pads
        conduits.append((f"c{a}.{from_port}", filters, f"c{b}.{to_port}"))
    return count, conduits


def text_of(count, conduits, folder):
    ports = "{f_init: start extra, o_i: call data, s: done forcing, o_f: end}"
    lines = ["ymmsl_version: v0.2", "models:", "  m:", "    description: random", "    components:"]
    lines += [f"      c{i}: {{description: one, implementation: walker, ports: {ports}}}" for i in range(count)]
    lines += ["    conduits:"] if conduits else []
    by_sender = {}
    for sender, filters, receiver in conduits:
        by_sender.setdefault(sender, []).append(" ".join([*filters, receiver]))
    for sender, receivers in by_sender.items():
        lines += [f"      {sender}:", *(f"      - {receiver}" for receiver in receivers)]
    lines += ["programs:", f"  walker: {{executable: {sys.executable}, args: [{WALKER}, {folder}, --light]}}"]
    lines += ["settings: {steps: [2]}", ""]
    return "\n".join(lines)


def contradicts(text):
    """Returns true if the reference finds timelines that do not fit."""
    ymmsl = pytest.importorskip("ymmsl", reason="pip install ymmsl==0.18.0")
    from ymmsl.v0_2 import Configuration, check_timelines
    from ymmsl.v0_2.timeline_resolver import ResolveTimelineException

    try:
        check_timelines(ymmsl.load_as(Configuration, text).root_model())
    except ResolveTimelineException as error:
        return str(error)
    return None


def test_check_agrees_with_the_reference_and_what_it_passes_runs(ligament, tmp_path):
    dice = random.Random(SEED)
    fits = differs = 0
    for number in range(MODELS):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = text_of(*conduits_of(dice), folder)
        what = f"model {number} of seed {SEED}\n{text}\n"
        file = folder / "m.ymmsl"
        file.write_text(text)
        checked = subprocess.run([ligament, "check", "--json", file], capture_output=True, text=True)
        codes = {problem["code"] for problem in json.loads(checked.stdout)["problems"]}
        theirs = contradicts(text)
        # Ligament reports no timelines on which no message depends.
        wanted = theirs is not None and any(f" {name} " in text for name in ("last", "repeat", "pad"))
        assert ("timeline-mismatch" in codes) == wanted, what + f"{theirs}\n{checked.stdout}"
        if theirs:
            differs += 1
            continue
        fits += 1
        file.write_text(text + "ligament: {light: [walker]}\n")
        ran = subprocess.run(
            [ligament, "run", file, "--run-dir", folder / "run"], capture_output=True, text=True, timeout=60
        )
        assert ran.returncode == 0, what + ran.stdout + ran.stderr
    assert fits > MODELS / 4 and differs > MODELS / 10, f"{fits} fit, {differs} do not"
