"""A stranger without the run's key learns nothing from a run, neither by listening nor by sending."""

import base64
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

MARKER = b"the concentration of ligands in the third compartment"

LAST_PACKET = b"nothing more passes this link"
SAY_LAST = f"""import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
one.sendto({LAST_PACKET!r}, (sys.argv[1], 9))
"""


class Capture:
    """All packets on the link of a host, recorded at the switch by tcpdump."""

    def __init__(self, net, name, file):
        self.file, self.host = file, net[name]
        self.process = net.switch.start(
            "tcpdump", "-i", f"{name}.0", "-n", "-U", "--immediate-mode", "-s", "0", "-Z", "root", "-w", file,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        line = self.process.stderr.readline()
        assert b"listening on" in line, line

    def bytes(self):
        """Ends the recording, and returns the bytes of the file. tcpdump drops the packets that it has not
        handled when it is ended. So the test sends a last packet over the link, and waits for it."""
        # tcpdump handles packets in order, so when it has the last one, it has all.
        until = time.monotonic() + 120
        while LAST_PACKET not in self.file.read_bytes():
            assert time.monotonic() < until and self.process.poll() is None, "tcpdump sees no last packet"
            self.host.run(sys.executable, "-c", SAY_LAST, self.host.v4.rpartition(".")[0] + ".255")
            time.sleep(0.1)
        self.process.terminate()
        self.process.wait()
        self.process.stderr.close()
        return self.file.read_bytes()


def speaking(folder, text):
    """A model whose first component sends the second one a text 20 times."""
    teller, listener = folder / "teller.py", folder / "listener.py"
    teller.write_text("from ligament import *\ninstance = Instance({Operator.O_I: ['out']})\n"
                      "while instance.reuse_instance():\n    for i in range(20):\n"
                      f"        instance.send('out', Message(float(i), None, {text!r}))\n")
    listener.write_text("from ligament import *\ninstance = Instance({Operator.S: ['in']})\n"
                        "while instance.reuse_instance():\n    for i in range(20):\n"
                        f"        assert instance.receive('in').data == {text!r}\n")
    return ("ymmsl_version: v0.1\nmodel:\n  name: telling\n  components:\n"
            "    teller: {implementation: teller, ports: {o_i: out}}\n"
            "    listener: {implementation: listener, ports: {s: in}}\n  conduits: {teller.out: listener.in}\n"
            "implementations:\n"
            f"  teller: {{executable: {sys.executable}, args: [{teller}]}}\n"
            f"  listener: {{executable: {sys.executable}, args: [{listener}]}}\n")


def secrets_of(invitation):
    """Returns all secrets of an invitation as bytes: in the form of text, and in the binary form."""
    found = []

    def walk(value):
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(one)
        if isinstance(value, str) and len(value) >= 32:
            found.append(value.encode())
            for read in (bytes.fromhex, base64.b64decode):
                try:
                    found.append(read(value))
                except ValueError:
                    pass

    walk(json.loads(invitation.read_text()))
    assert found, f"{invitation} has no secret in it"
    return [secret for secret in found if len(secret) >= 16]


@pytest.mark.parametrize("encrypt", [True, False], ids=["encrypted", "not encrypted"])
def test_a_listener_on_the_link_reads_no_message_and_no_key(network, spread, tmp_path, encrypt):
    net = network("a", "b")
    capture = Capture(net, "a", tmp_path / "link.pcap")
    run = spread([net["a"], net["b"]], speaking(tmp_path, MARKER.decode()), on={1: ["listener"]},
                 encrypt=encrypt,
                 listen=[net["a"].v4, net["b"].v4])
    secrets = secrets_of(run.join_file)
    run.succeed()
    seen = capture.bytes()
    assert len(seen) > 10_000, "nothing was captured"
    assert not [secret for secret in secrets if secret in seen], "a key of the run went over the link"
    if not encrypt:
        assert MARKER in seen, "this test would not notice plain text"
        return
    assert MARKER not in seen
    for word in (b"teller", b"listener"):
        assert word not in seen
    found = subprocess.run(
        ["tshark", "-r", capture.file, "-Y", f'frame contains "{MARKER.decode()}"', "-T", "fields", "-e",
         "frame.number"],
        capture_output=True, text=True, check=True,
    )
    assert found.stdout.strip() == ""


# ---- sending to a run without its key ------------------------------------------------------------------------
def ports_of(host):
    """Returns the addresses at which processes listen in a namespace, except those of its loopback."""
    lines = [line.split()[3] for line in host.run("ss", "-Hltn").splitlines() if line.strip()]
    pairs = [(line.rpartition(":")[0].strip("[]"), int(line.rpartition(":")[2])) for line in lines]
    return [(host.v4 if address in ("*", "0.0.0.0") else host.v6 if address == "::" else address, port)
            for address, port in pairs if not address.startswith("127.") and address != "::1"]


STRANGER = Path(__file__).resolve().parent / "stranger.py"
KINDS = ["flood", "silent", "slow", "oversized", "closing", "garbage", "http", "tls"]
QUICK_KINDS = ("flood", "oversized", "garbage", "tls")  # each in every `make test`


def strange(stranger, kind, places, seconds=8):
    """Starts strangers of this kind, one at each port, all at once. Returns the bytes of each answer: 0 if the
    connection was only closed, -1 if no answer came."""
    words = [sys.executable, STRANGER, kind]
    all_ = [stranger.start(*words, *place, seconds, stdout=subprocess.PIPE, text=True) for place in places]
    heard = [one.communicate(timeout=300)[0] for one in all_]
    assert not any(one.returncode for one in all_), f"{kind}: {heard}"
    return [json.loads(one) for one in heard]


def listening(run, hosts, limit=60):
    """Returns the ports at which the domains of a run listen, as soon as the head listens."""
    until = time.monotonic() + limit
    while not (found := [(host, *place) for host in hosts for place in ports_of(host)]):
        assert time.monotonic() < until and run.processes[0].poll() is None, run.said()
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("kind", [
    kind if kind in QUICK_KINDS else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS])
def test_a_stranger_hears_nothing_and_the_run_goes_on(network, flow, kind):
    net = network("a", "b", "stranger")
    started = flow([net["a"], net["b"]], "exchange", 1024)
    started.await_begun()
    places = [place for _, *place in listening(started.run, [net["a"], net["b"]])]
    for place, answers in zip(places, strange(net["stranger"], kind, places)):
        assert not [answer for answer in answers if answer > 0], f"{kind} was answered by {place}"
    assert started.end_well() > 20


def test_strangers_do_not_keep_a_domain_from_joining(network, flow, monkeypatch):
    import domains

    net, agents = network("a", "b", "stranger"), []
    start_agent = domains.SpreadRun.start_agent
    monkeypatch.setattr(domains.SpreadRun, "start_agent", lambda run, number: agents.append((run, number)))
    started = flow([net["a"], net["b"]], "exchange", 1024)
    ((_, address, port), *_) = listening(started.run, [net["a"]])
    for kind in KINDS:
        net["stranger"].start(sys.executable, STRANGER, kind, address, port, 8, stdout=subprocess.DEVNULL)
    for run, number in agents:
        start_agent(run, number)
    assert started.end_well() > 0


def test_a_flood_does_not_keep_a_domain_from_coming_back(network, flow):
    net = network("a", "b", "stranger")
    started = flow([net["a"], net["b"]], "exchange", 1024)
    started.await_begun()
    ((_, address, port), *_) = listening(started.run, [net["a"]])
    flood = net["stranger"].start(sys.executable, STRANGER, "long flood", address, port, 600,
                                  stdout=subprocess.DEVNULL)

    def back():
        there = net["a"].run("ss", "-Htn", "state", "established")
        return net["b"].v4 in there or net["b"].v6 in there

    # The stranger has begun; this is its effect in the following second.
    opened, until = net["a"].counted("Tcp", "PassiveOpens"), time.monotonic() + 120
    while net["a"].counted("Tcp", "PassiveOpens") < opened + 2000:
        assert time.monotonic() < until and flood.poll() is None, started.run.said()
        time.sleep(0.01)
    for _ in range(3):
        before = net["a"].counted("Tcp", "PassiveOpens")
        net["b"].break_connections()
        until = time.monotonic() + 60
        while not back():
            assert time.monotonic() < until and flood.poll() is None, started.run.said()
            time.sleep(0.05)
        assert net["a"].counted("Tcp", "PassiveOpens") > before
    assert started.end_well() > 20
    assert flood.poll() is None, "the flood went on for as long as the run"


def test_an_agent_with_the_key_of_another_run_is_not_let_in(network, flow, spread, tmp_path, monkeypatch):
    import domains

    net = network("a", "b", "other")
    monkeypatch.setattr(domains.SpreadRun, "start_agent", lambda run, number: None)
    first, second = (flow([net[name], net["b"]], "exchange", 1024) for name in ("a", "other"))
    wrong = json.loads(second.run.join_file.read_text())
    right = json.loads(first.run.join_file.read_text())
    for key in ("run", "head"):
        if key in wrong:
            wrong[key] = right[key]
    forged = tmp_path / "forged"
    forged.touch(mode=0o600)
    forged.write_text(json.dumps(wrong))
    stranger = net["b"].start(*[forged if word == first.run.join_file else word for word in first.run.join],
                              "--domain", 1, "--listen", net["b"].v4, stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while net["a"].counted("Tcp", "PassiveOpens") < 3:  # it has been turned away twice, and tries again
        assert time.monotonic() < until and stranger.poll() is None, first.run.said()
        time.sleep(0.05)
    assert not (first.folder / "begun").exists() and first.run.processes[0].poll() is None, first.run.said()
