"""Kills, stops and cuts of a run over several domains while large messages are under way: a few of each, with
seeds of the day. `tests/domains/fuzz` makes as many as wanted."""

import importlib.machinery
import importlib.util
import os
import random
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import large  # noqa: E402

SEED = int(os.environ.get("LARGE_SEED", random.randrange(1 << 31)))


def _load():
    """The program `fuzz` beside this file has no ending, so it is loaded by its path."""
    loader = importlib.machinery.SourceFileLoader("large_fuzz", str(HERE / "fuzz"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("large_fuzz", loader))
    loader.exec_module(module)
    return module


fuzz = _load()

QUICK = ("micro", "agent", "cut")  # a code, an agent and a link, in every `make test`


@pytest.fixture(scope="session")
def program(tmp_path_factory, ligament):
    return fuzz.build(tmp_path_factory.mktemp("large"), fuzz.ROOT / "target/release")


@pytest.mark.parametrize("way", [
    way if way in QUICK else pytest.param(way, marks=pytest.mark.slow) for way in large.KILLS + large.STOPS])
def test_whatever_ends_or_cuts_a_run_amid_a_large_message_ends_or_cuts_nothing_else(way, program, ligament):
    if way == "cut" and not large.can_cut():
        pytest.skip("connections cannot be cut here: that needs root and `ss -K`")
    ways = large.KILLS if way in large.KILLS else large.STOPS
    first = SEED - SEED % len(ways) + ways.index(way)
    plans = [large.plan(first + i * len(ways), ways) for i in range(4)]
    for result in fuzz.all_of(plans, program, ligament, 2, keep=True):
        again = (f"tests/domains/fuzz {'--stops ' if ways is large.STOPS else ''}--runs 1 --seed "
                 f"{result['seed']}")
        problems = "\n".join(result["problems"])
        assert not problems, f"{result['plan']}: {problems}\nrepeat it with: {again}"


def test_a_seed_decides_everything():
    for ways in (large.KILLS, large.STOPS):
        plans = [large.plan(seed, ways) for seed in range(40)]
        assert plans == [large.plan(seed, ways) for seed in range(40)]
        assert {plan.way for plan in plans} == set(ways) and {plan.moment
                                                              for plan in plans} == set(large.MOMENTS)
        assert len({(plan.size, plan.places, plan.delay) for plan in plans}) > 20
