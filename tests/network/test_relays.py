"""Runs whose domains cannot reach each other and meet at a relay: sites that only dial out, relays in a row,
relays that are killed; and the load of the relay and its network."""

import subprocess
import time

import pytest
from slow_cases import slow
from test_strangers import MARKER, Capture, secrets_of, speaking

MIB = 1 << 20


class Post:
    """A relay on a host, with its file."""

    def __init__(self, command, host, file, *words, listen=None):
        self.words = [command, "relay", file, "--listen", listen or host.v4, *words]
        self.host, self.file, self.log = host, file, file.with_suffix(".txt")
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = self.host.start(*self.words, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while b"listens at" not in self.log.read_bytes():
            assert self.process.poll() is None and time.monotonic() < until, self.log.read_text()
            time.sleep(0.01)

    def again(self):
        """Killed, and started again."""
        self.process.kill()
        self.process.wait()
        self.log.write_bytes(b"")
        self.start()

    def memory(self):
        """The largest memory that it had, KiB."""
        lines = open(f"/proc/{self.process.pid}/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


@pytest.fixture
def post(ligament, tmp_path):
    """Starts a relay on a host; `onward` are the next relays."""

    def start(host, onward=()):
        words = [word for one in onward for word in ("--onward", one.file)]
        return Post(ligament, host, tmp_path / f"{host.name}.relay", *words)

    return start


def deaf(host, other):
    """Drops all packets from one host to another from now on."""
    for rule in ("add table inet deaf", "add chain inet deaf inwards { type filter hook input priority 0 ; }",
                 f"add rule inet deaf inwards ip saddr {other.v4} drop"):
        host.run("nft", rule)


@pytest.mark.parametrize("kind, size", [("bulk", 8 * MIB), *slow(("exchange", 1024))])
def test_two_sites_that_only_dial_out_meet_at_a_relay(network, flow, post, kind, size):
    net = network("head", "gate", "other")
    net["head"].wall()
    net["other"].wall()
    relay = post(net["gate"])
    started = flow([net["head"], net["other"]], kind, size, options=["--relay", relay.file])
    started.await_begun()
    assert started.end_well() > 20
    assert relay.memory() < 64 << 10


def test_agents_that_do_not_reach_each_other_meet_at_the_relay_of_the_head(network, spread, post, tmp_path):
    net = network("head", "gate", "one", "two")
    for name in ("head", "one", "two"):
        net[name].wall()
    relay = post(net["gate"])
    model = speaking(tmp_path, MARKER.decode())
    run = spread([net["head"], net["one"], net["two"]], model, on={1: ["teller"], 2: ["listener"]},
                 options=["--relay", relay.file])
    run.succeed()


def test_two_relays_in_a_row(network, flow, post):
    net = network("head", "gate1", "gate2", "other", rate="1gbit")
    for name in ("head", "other"):
        net[name].wall()
    deaf(net["gate2"], net["head"])
    deaf(net["gate1"], net["other"])
    last = post(net["gate1"])
    first = post(net["gate2"], onward=[last])
    started = flow([net["head"], net["other"]], "bulk", 8 * MIB, options=["--relay", last.file],
                   agent_options=["--relay", first.file])
    started.await_begun()
    assert started.end_well() > 20


@pytest.mark.parametrize("kind, size", [
    ("exchange", 1024), pytest.param("bulk", 8 * MIB, marks=pytest.mark.slow)])
def test_a_relay_killed_five_times_loses_and_repeats_nothing(network, flow, post, kind, size):
    net = network("head", "gate", "other", rate="1gbit")
    net["head"].wall()
    net["other"].wall()
    relay = post(net["gate"])
    started = flow([net["head"], net["other"]], kind, size, options=["--relay", relay.file])
    started.await_begun()
    for _ in range(5):
        relay.again()
        until = time.monotonic() + 60
        while net["gate"].counted("Tcp", "CurrEstab") < 4:  # it is used again before it is killed again
            assert time.monotonic() < until, started.run.said()
            time.sleep(0.01)
        time.sleep(0.3)  # some messages pass
    assert started.end_well() > 20


def test_a_killed_agent_is_told_of_over_the_relay(network, flow, post):
    net = network("head", "gate", "other")
    net["head"].wall()
    net["other"].wall()
    relay = post(net["gate"])
    started = flow([net["head"], net["other"]], "exchange", 1024,
                   options=["--relay", relay.file, "--patience", "1h"])
    started.await_begun()
    agent = started.run.processes[1]
    agent.kill()
    started.run.processes[0].wait(60)  # well below the patience with domains that are only cut off
    assert "the agent of domain 1" in started.run.said() and "killed" in started.run.said(), started.run.said()


def test_a_site_file_names_relays_and_one_relay_serves_several_runs(network, flow, post, tmp_path):
    net = network("head", "gate", "other")
    net["head"].wall()
    net["other"].wall()
    relay = post(net["gate"])
    (tmp_path / "walled.yaml").write_text(f"launcher: none\nrelays: {relay.file.name}\n")
    hosts = [net["head"], net["other"]]
    both = [flow(hosts, "exchange", 1024, options=["--site", tmp_path / "walled.yaml"]) for _ in range(2)]
    for started in both:
        started.await_begun()
    for started in both:
        assert started.end_well() > 20


def test_who_listens_at_a_relay_sees_no_word_of_it(network, spread, post, tmp_path):
    net = network("head", "gate", "other")
    net["head"].wall()
    net["other"].wall()
    relay = post(net["gate"])
    capture = Capture(net, "gate", tmp_path / "packets.pcap")
    model = speaking(tmp_path, MARKER.decode())
    run = spread([net["head"], net["other"]], model, on={1: ["listener"]}, options=["--relay", relay.file])
    secrets = secrets_of(run.join_file) + secrets_of(relay.file)
    run.succeed()
    seen = capture.bytes()
    assert len(seen) > 20 * len(MARKER)
    assert MARKER not in seen
    assert not [secret for secret in secrets if secret in seen]


def test_bad_use_is_said(ligament, tmp_path):
    def refused(*words, status=2):
        done = subprocess.run([ligament, *map(str, words)], capture_output=True, text=True, timeout=120,
                              check=False)
        assert done.returncode == status, done
        return done.stderr

    file = tmp_path / "a.relay"
    file.write_text("{}")
    assert "mode 0644" in refused("relay", file)
    file.chmod(0o600)
    assert "no file of a relay" in refused("relay", file)
    model = tmp_path / "model.ymmsl"
    model.write_text(speaking(tmp_path, "x"))
    assert "no file of a relay" in refused("run", model, "--domains", 1, "--relay", file)
    assert "--no-encryption" in refused("run", model, "--domains", 1, "--relay", file, "--no-encryption")
