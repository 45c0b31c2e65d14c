"""Domains at two sites, whose nodes reach only the relay of their own site. All their messages go over the
streams of one trunk between the relays, whatever the number of domains is."""

import os
import signal
import sys
import time

import pytest
from namespaces import connections
from test_relays import MIB, deaf, post  # noqa: F401

# A component that exchanges messages with all components of the other site. After 20 rounds it pauses until the
# file `enough` exists; then it makes 20 more. A message is a text that follows from sender, receiver and round.
TALKER = """
import os, sys, time
from ligament import Instance, Message, Operator
name, others, folder, leads = sys.argv[1], sys.argv[2].split(","), sys.argv[3], sys.argv[4] == "leads"
outs, ins = [f"to_{other}" for other in others], [f"from_{other}" for other in others]
sends, receives = (Operator.O_I, Operator.S) if leads else (Operator.O_F, Operator.F_INIT)
instance = Instance({sends: outs, receives: ins})

def text(teller, hearer, number):
    return f"{teller} to {hearer}, {number}. " * 4000

def tell(number):
    for other, port in zip(others, outs):
        instance.send(port, Message(float(number), None, text(name, other, number)))

def hear(number):
    for other, port in zip(others, ins):
        assert instance.receive(port).data == text(other, name, number)

number = 0
while instance.reuse_instance():
    for number in range(40) if leads else [number]:
        if leads and number == 20:
            open(f"{folder}/begun-{name}", "w").close()
            while not os.path.exists(f"{folder}/enough"):
                time.sleep(0.01)
        (tell if leads else hear)(number)
        (hear if leads else tell)(number)
    number += 1
"""


class Sites:
    """Two sites with a relay each. Their nodes can connect only to it, and no machine can connect to them."""

    def __init__(self, net, post):  # noqa: F811
        self.net = net
        for name in ("near", "far"):
            net[name].wall()
        deaf(net["gate2"], net["near"])
        deaf(net["gate1"], net["far"])
        self.last = post(net["gate1"])
        self.first = post(net["gate2"], onward=[self.last])

    def wide(self):
        """Returns the connections between the two sites."""
        far = {self.net[name].v4 for name in ("gate2", "far")}
        near = [end for name in ("gate1", "near") for end in connections(self.net[name])]
        return [end for end in near if end[1].rpartition(":")[0] in far]

    def settled(self):
        """Returns their number after it has been the same for some seconds, because the process that opens more
        may be delayed."""
        seen, since, until = -1, time.monotonic(), time.monotonic() + 120
        while time.monotonic() - since < 4:
            assert time.monotonic() < until, self.wide()
            if (now := len(self.wide())) != seen:
                seen, since = now, time.monotonic()
            time.sleep(0.05)
        return seen


@pytest.fixture
def sites(network, post):  # noqa: F811
    return Sites(network("near", "gate1", "gate2", "far"), post)


class Talk:
    """A run with this number of domains at each site. Each domain exchanges messages with all domains of the
    other site."""

    def __init__(self, spread, sites, folder, many):
        folder.mkdir()
        self.folder = folder
        (folder / "talker.py").write_text(TALKER)
        self.near, far = [f"a{i}" for i in range(many)], [f"b{i}" for i in range(many)]
        lines = ["ymmsl_version: v0.1", "model:", "  name: talk", "  components:"]
        for names, others, sends, receives in ((self.near, far, "o_i", "s"), (far, self.near, "o_f", "f_init")):
            for name in names:
                ports = f"{sends}: [{', '.join(f'to_{one}' for one in others)}], "
                ports += f"{receives}: [{', '.join(f'from_{one}' for one in others)}]"
                lines.append(f"    {name}: {{implementation: {name}, ports: {{{ports}}}}}")
        lines.append("  conduits:")
        for one in self.near:
            for other in far:
                lines += [f"    {one}.to_{other}: {other}.from_{one}",
                          f"    {other}.to_{one}: {one}.from_{other}"]
        lines.append("implementations:")
        for names, others, role in ((self.near, far, "leads"), (far, self.near, "follows")):
            for name in names:
                words = f"[{folder / 'talker.py'}, {name}, '{','.join(others)}', '{folder}', {role}]"
                lines.append(f"  {name}: {{executable: {sys.executable}, args: {words}}}")
        hosts = [sites.net["near"]] * many + [sites.net["far"]] * many
        self.run = spread(
            hosts, "\n".join(lines) + "\n", on=dict(enumerate([name] for name in self.near + far)),
            options=["--relay", sites.last.file],
            agent_options={number: ["--relay", sites.first.file] for number in range(many, 2 * many)})

    def await_begun(self, limit=120):
        """Waits until all have exchanged messages with all."""
        until = time.monotonic() + limit
        while not all((self.folder / f"begun-{name}").exists() for name in self.near):
            ended = [process.poll() for process in self.run.processes if process.poll() is not None]
            assert not ended and time.monotonic() < until, f"it did not begin {ended}\n{self.run.said()}"
            time.sleep(0.05)

    def end_well(self):
        (self.folder / "enough").touch()
        self.run.succeed(240)


def test_several_domains_to_several_have_as_many_streams_on_the_wide_link_as_one_to_one(spread, sites,
                                                                                        tmp_path):
    counts = []
    for many in (1, int(os.environ.get("LIGAMENT_DOMAINS", "4"))):
        talk = Talk(spread, sites, tmp_path / f"talk{many}", many)
        talk.await_begun()
        counts.append(sites.settled())
        talk.end_well()
    assert counts[0] >= 2
    assert counts[1] == counts[0]
    assert max(sites.first.memory(), sites.last.memory()) < 64 << 10


def test_either_relay_may_be_killed_in_between_and_nothing_is_lost(spread, sites, tmp_path):
    talk = Talk(spread, sites, tmp_path / "talk", 2)
    talk.await_begun()
    (talk.folder / "enough").touch()
    for relay in (sites.last, sites.first, sites.last, sites.first):
        relay.again()
        until = time.monotonic() + 60
        while len(sites.wide()) < 2:  # it is used again before the next one is killed
            assert time.monotonic() < until, talk.run.said()
            if all(process.poll() is not None for process in talk.run.processes):
                break
            time.sleep(0.01)
        time.sleep(0.3)  # some messages pass
    talk.end_well()


def test_a_domain_that_stands_still_holds_up_no_other(sites, flow):
    options = {"options": ["--relay", sites.last.file], "agent_options": ["--relay", sites.first.file]}
    hosts = [sites.net["near"], sites.net["far"]]
    still, other = (flow(hosts, "bulk", 8 * MIB, **options) for _ in range(2))
    still.await_begun()
    agent = still.run.processes[1]
    agent.send_signal(signal.SIGSTOP)
    try:
        other.await_begun()
        assert other.end_well() > 20
    finally:
        agent.send_signal(signal.SIGCONT)
    assert still.end_well() > 20
    assert max(sites.first.memory(), sites.last.memory()) < 64 << 10
