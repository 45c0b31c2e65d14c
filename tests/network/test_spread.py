"""Runs over several domains, each in a network namespace of its own: results, large messages, cuts, wide-area
links."""

import time

import pytest
from slow_cases import slow
from test_strangers import speaking
from example_models import CanalNetwork, ReactionDiffusion

CUT = 10  # s; long enough for TCP to have backed off, and for a heartbeat to be missed
MIB = 1 << 20
RIVER = ["river", "upper", "north", "south", "lower", "polder", "collector"]
LAND = ["weather", "hills", "polder_land", "town"]


@pytest.mark.parametrize("encrypt", [True, *slow(False)], ids=["encrypted", "not encrypted"])
def test_reaction_diffusion_gives_the_same_over_three_domains(network, spread, tmp_path, encrypt):
    example, net = ReactionDiffusion(tmp_path), network("head", "one", "two")
    run = spread([net["head"], net["one"], net["two"]], example.model, on={1: ["macro"], 2: ["micro"]},
                 encrypt=encrypt)
    run.succeed()
    example.check(run.directory)


def test_the_canal_network_gives_the_same_over_three_domains(network, spread, tmp_path):
    example, net = CanalNetwork(tmp_path), network("head", "one", "two")
    run = spread([net["head"], net["one"], net["two"]], example.model, on={0: RIVER, 1: LAND},
                 options=[*example.options])
    run.succeed(300)
    example.check(run.directory)


SENDER = """
import numpy as np
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    for step in range(10):
        numbers = np.random.default_rng(step).integers(0, 1 << 62, 1 << 17)
        instance.send("out", Message(float(step), data=numbers))
"""

RECEIVER = """
import numpy as np
instance = Instance({Operator.S: ["in[]" if SLOTS else "in"]})
while instance.reuse_instance():
    for step in range(10):
        for slot in range(SLOTS) if SLOTS else [None]:
            expected = np.random.default_rng(step).integers(0, 1 << 62, 1 << 17)
            assert np.array_equal(instance.receive("in", slot).data, expected)
"""

STAR = """ymmsl_version: v0.2
models:
  m:
    components:
      sender: {{ports: {{o_i: out}}, implementation: sender}}
{components}
    conduits: {{sender.out: {receivers}}}
programs: {{sender: {sender}, receiver: {receiver}}}
{more}"""

ALL_RANKS = """ligament:
  ranks: {sender: 2, one: 4}
  exchange: {sender.out -> one.in: {messages: all}}
"""


@pytest.mark.parametrize("ranks", [True, False], ids=["all ranks to all ranks", "one port to three components"])
def test_a_message_for_several_receivers_of_a_domain_goes_over_the_link_once(
        network, spread, python_program, ranks):
    net = network("a", "b")
    names, slots, more = (["one"], 2, ALL_RANKS) if ranks else (["one", "two", "three"], 0, "")
    component = "      {}: {{ports: {{s: in}}, implementation: receiver}}"
    receivers = [f"{name}.in" for name in names]
    model = STAR.format(
        sender=python_program("sender", SENDER), more=more,
        receiver=python_program("receiver", f"SLOTS = {slots}\n{RECEIVER}"),
        components="\n".join(map(component.format, names)),
        receivers=f"[{', '.join(receivers)}]" if len(receivers) > 1 else receivers[0])
    before = net.carried("a")[0]
    run = spread([net["a"], net["b"]], model, on={1: names})
    run.succeed()
    once = (2 if ranks else 1) * 10 * MIB
    assert once < net.carried("a")[0] - before < 1.3 * once


@pytest.mark.parametrize("version", ["v4", "v6"])
def test_domains_find_each_other_over_ipv4_and_over_ipv6(network, flow, version):
    net = network("a", "b")
    hosts = [net["a"], net["b"]]
    flow(hosts, "exchange", 1024, listen=[getattr(host, version) for host in hosts]).end_well()


def test_a_message_of_one_gibibyte_arrives_whole(network, flow):
    net = network("a", "b")
    started = flow([net["a"], net["b"]], "bulk", 1024 * MIB)
    started.enough()
    assert started.end_well() >= 1


def both_survive(cut, restore, flow, hosts, size):
    """Two runs over the same hosts: one floods and one exchanges. A cut loses no message of either."""
    both = [flow(hosts, "bulk", size), flow(hosts, "exchange", 1024)]
    for started in both:
        started.await_begun()
    cut()
    time.sleep(CUT)
    restore()
    for started in both:
        assert started.end_well() > 20


def test_a_cut_of_ten_seconds_loses_and_repeats_nothing(network, flow):
    net = network("a", "b", rate="1gbit")
    both_survive(lambda: net.cut("b"), lambda: net.restore("b"), flow, [net["a"], net["b"]], 32 * MIB)


@pytest.mark.parametrize("kind, size, most", [
    pytest.param("bulk", 8 * MIB, None, id="bulk, all of them"),
    pytest.param("exchange", 1024, 1, id="exchange, one of them"),
    pytest.param("bulk", 8 * MIB, 1, id="bulk, one of them", marks=pytest.mark.slow),
    pytest.param("exchange", 1024, None, id="exchange, all of them", marks=pytest.mark.slow)])
def test_connections_that_break_lose_and_repeat_nothing(network, flow, kind, size, most):
    net = network("a", "b", rate="1gbit")
    started = flow([net["a"], net["b"]], kind, size)
    started.await_begun()
    for _ in range(5):
        until = time.monotonic() + 60
        while net["b"].break_connections(most) == 0:  # it comes back before it is broken again
            assert time.monotonic() < until, started.run.said()
            time.sleep(0.01)
    assert started.end_well() > 20


def test_a_cut_of_a_lossy_wide_area_link_loses_and_repeats_nothing(wide_area, flow):
    link = wide_area(rtt=40, loss=0.1)
    both_survive(link.cut, link.restore, flow, [link.a, link.b], 8 * MIB)


def test_one_of_two_interfaces_may_go_and_come_back(network, flow):
    net = network("a", "b", links=2)
    started = flow([net["a"], net["b"]], "exchange", 1024)
    started.await_begun()
    net.cut("b", link=1)
    net.restore("b", link=1)
    assert started.end_well() > 20


def test_a_wall_around_a_domain_does_not_matter_where_it_dials_the_head_itself(network, flow):
    net = network("head", "walled")
    net["walled"].wall()
    assert flow([net["head"], net["walled"]], "exchange", 1024).end_well() > 0


@pytest.mark.parametrize("walled", [1, *slow(2)])
def test_a_wall_around_either_of_two_domains_does_not_matter(network, spread, tmp_path, walled):
    net = network("head", "one", "two")
    net[["head", "one", "two"][walled]].wall()
    run = spread([net["head"], net["one"], net["two"]], speaking(tmp_path, "a word"),
                 on={1: ["teller"], 2: ["listener"]})
    run.succeed()


def test_an_agent_that_comes_late_is_waited_for(network, flow, monkeypatch):
    import domains

    net, agents = network("a", "b"), []
    start_agent = domains.SpreadRun.start_agent
    monkeypatch.setattr(domains.SpreadRun, "start_agent", lambda run, number: agents.append((run, number)))
    started = flow([net["a"], net["b"]], "exchange", 1024)
    time.sleep(2)  # the time by which it was late
    assert started.run.processes[0].poll() is None, started.run.said()
    for run, number in agents:
        start_agent(run, number)
    assert started.end_well() > 0
