"""Hosts with no open port but that of ssh: domains that reach each other by ssh through a machine in between,
even if their ssh is killed; copies to a machine that only ssh reaches, and over a relay to one whose ssh
forwards nowhere."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from namespaces import processes_in
from slow_cases import slow
from sshd import Ssh
from test_relays import Post, deaf

MIB = 1 << 20


@pytest.fixture
def sshd(tmp_path):
    """Starts an sshd on a host."""
    if shutil.which("sshd") is None:
        pytest.skip("sshd is not installed")
    started = []

    def start(host, more=""):
        where = tmp_path / f"sshd{len(started)}"
        where.mkdir()
        started.append(Ssh(where, host, more))
        return started[-1]

    yield start
    for one in started:
        one.end()


def leading(host):
    """Returns the processes of a host by which ssh forwards."""
    found = []
    for pid in processes_in(host.path):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if words[0] == b"ssh" and (b"-W" in words or any(b"lead-on" in word for word in words)):
            found.append(pid)
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended


def jump(ssh):
    return ["--jump", "east", f"--jump-option=-F{ssh.where}/client.conf"]


def until(what, why, limit=60):
    end = time.monotonic() + limit
    while not what():
        assert time.monotonic() < end, why()
        time.sleep(0.02)


@pytest.fixture
def apart(network, sshd):
    """Two hosts that cannot reach each other, and a third one that both can reach, with its sshd. No other port
    is open on it."""
    net = network("head", "gate", "other")
    ssh = sshd(net["gate"])
    net["gate"].wall(ssh.port)
    deaf(net["head"], net["other"])
    deaf(net["other"], net["head"])
    return net, ssh


@pytest.mark.parametrize("kind, size", [("bulk", 8 * MIB), *slow(("exchange", 1024))])
def test_a_domain_reaches_the_head_by_ssh_through_another_machine(apart, flow, kind, size):
    net, ssh = apart
    started = flow([net["head"], net["other"]], kind, size, agent_options=jump(ssh))
    started.await_begun()
    until(lambda: len(leading(net["other"])) >= 4, started.run.said)
    assert started.end_well() > 20
    until(lambda: not leading(net["other"]), lambda: "ssh goes on")


def test_two_domains_that_reach_nobody_meet_by_ssh_at_a_relay_to_which_no_port_leads(apart, flow, ligament,
                                                                                     tmp_path):
    net, ssh = apart
    relay = Post(ligament, net["gate"], tmp_path / "gate.relay", listen="127.0.0.1")
    by = ["--relay", relay.file, *jump(ssh)]
    started = flow([net["head"], net["other"]], "exchange", 1024, options=by, agent_options=jump(ssh))
    started.await_begun()
    assert started.end_well() > 20


@pytest.fixture
def strict(network, sshd):
    """Like `apart`, but the sshd in between forbids forwarding."""
    net = network("head", "gate", "other")
    ssh = sshd(net["gate"], more="AllowTcpForwarding no\n")
    net["gate"].wall(ssh.port)
    deaf(net["head"], net["other"])
    deaf(net["other"], net["head"])
    return net, ssh


def leads_on(gate):
    """Returns the processes by which `ligament lead-on` connects onward."""
    found = []
    for pid in processes_in(gate.path):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if words[1:2] == [b"lead-on"]:
            found.append(pid)
    return found


def test_where_sshd_forbids_to_lead_on_the_command_does_it(strict, flow):
    net, ssh = strict
    started = flow([net["head"], net["other"]], "bulk", MIB, agent_options=jump(ssh))
    started.await_begun()
    until(lambda: len(leads_on(net["gate"])) >= 4, started.run.said)
    kill(leading(net["other"]))
    assert started.end_well() > 20
    # Bytes that were under way in the killed processes may still arrive for a while.
    until(lambda: not leading(net["other"]) and not leads_on(net["gate"]), lambda: "somebody goes on leading")


def test_where_nothing_leads_on_that_is_said(strict, flow, tmp_path):
    net, ssh = strict
    (tmp_path / "sh").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "sh").chmod(0o755)
    # The key permits one command only, which is not Ligament's.
    (ssh.where / "authorized").write_text(f'command="{tmp_path}/sh" ' + (ssh.where / "client.pub").read_text())
    started = flow([net["head"], net["other"]], "exchange", 64, agent_options=[*jump(ssh), "--patience", "8s"])
    until(lambda: "; ssh said: " in started.run.said(), started.run.said)


def test_ssh_that_is_killed_loses_and_repeats_nothing(apart, flow):
    net, ssh = apart
    started = flow([net["head"], net["other"]], "bulk", MIB, agent_options=jump(ssh))
    started.await_begun()
    for _ in range(3):
        until(lambda: len(leading(net["other"])) >= 2, started.run.said)
        kill(leading(net["other"]))
        time.sleep(0.5)  # some messages pass, or none
    assert started.end_well() > 20


def test_why_ssh_does_not_lead_there_is_said(apart, flow):
    net, ssh = apart
    # A machine with another host key.
    options = ["--jump", "stranger", f"--jump-option=-F{ssh.where}/client.conf", "--patience", "5s"]
    started = flow([net["head"], net["other"]], "exchange", 64, agent_options=options)
    # The whole line is checked, because a line of a log may be read while it is written.
    words = ("through stranger", "; ssh said: ", "Host key verification failed")
    until(lambda: all(one in started.run.said() for one in words), started.run.said)


# ---- copies --------------------------------------------------------------------------------------------------
@pytest.fixture
def cp(ligament, tmp_path):
    def start(host, ssh, *words):
        options = [f"--ssh-option=-F{ssh.where}/client.conf", f"--ligament={ligament}", "--json"]
        with open(tmp_path / "cp.json", "w") as said:
            return host.start(ligament, "cp", *options, *words, stdout=said, stderr=said, cwd=tmp_path)

    return start


def copied(process, tmp_path, limit=60):
    status = process.wait(limit)
    said = (tmp_path / "cp.json").read_text()
    assert status == 0, said
    return json.loads(said)


@pytest.mark.parametrize("cut", [False, True])
def test_a_copy_goes_by_several_ssh_where_no_other_port_is_open(network, sshd, cp, tmp_path, cut):
    net = network("here", "there")
    ssh = sshd(net["there"])
    net["there"].wall(ssh.port)
    (tmp_path / "large").write_bytes(os.urandom(24 * MIB))
    process = cp(net["here"], ssh, "large", f"east:{tmp_path}/copy", "--over=path", "--rate=2M")
    until(lambda: len(leading(net["here"])) >= 4, (tmp_path / "cp.json").read_text)
    if cut:
        kill(leading(net["here"]))
    assert copied(process, tmp_path)["over"] == "path"
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "large").read_bytes()


def test_a_copy_goes_over_a_relay_where_ssh_leads_nowhere(network, sshd, cp, ligament, tmp_path):
    net = network("here", "gate", "there")
    ssh = sshd(net["there"], more="AllowTcpForwarding no\n")
    net["there"].wall(ssh.port)
    relay = Post(ligament, net["gate"], tmp_path / "gate.relay")
    (tmp_path / "tree/deep").mkdir(parents=True)
    for number in range(50):
        (tmp_path / f"tree/deep/{number}").write_bytes(os.urandom(20_000 * number))
    process = cp(net["here"], ssh, "tree", f"east:{tmp_path}/copy", f"--relay={relay.file}", "--over=path")
    said = copied(process, tmp_path)
    assert (said["over"], said["copied"], said["failed"]) == ("path", 50, [])
    for number in range(50):
        assert (tmp_path / f"copy/deep/{number}").read_bytes() == (
            tmp_path / f"tree/deep/{number}").read_bytes()
    # The copy back.
    process = cp(net["here"], ssh, f"east:{tmp_path}/copy/.", "back", f"--relay={relay.file}", "--over=path")
    assert copied(process, tmp_path)["copied"] == 50


# ---- what a link can do --------------------------------------------------------------------------------------
def test_a_link_is_measured_by_the_way_that_runs_would_find(network, sshd, ligament, tmp_path):
    net = network("here", "gate", "there")
    ssh = sshd(net["there"], more="AllowTcpForwarding no\n")
    net["there"].wall(ssh.port)
    net["here"].wall()
    (tmp_path / "sites").mkdir()
    site = ssh.site(tmp_path / "sites/far.yaml", ssh="east", ligament=ligament)
    words = (ligament, "site", "check", "here", "far", "--json", "--seconds=1", "--bytes=1M")
    with open(tmp_path / "said.json", "w") as said:
        assert net["here"].start(*words, stdout=said, stderr=said, cwd=tmp_path).wait(120) == 1
    told = json.loads((tmp_path / "said.json").read_text())
    assert told["code"] == "sites-apart" and [one["reached"] for one in told["dialled"]] == [False, False], told
    relay = Post(ligament, net["gate"], tmp_path / "gate.relay")
    site.write_text(site.read_text() + f"relays: [{relay.file}]\n")
    with open(tmp_path / "said.json", "w") as said:
        assert net["here"].start(*words, stdout=said, stderr=said, cwd=tmp_path).wait(120) == 0
    told = json.loads((tmp_path / "said.json").read_text())
    assert told["measured"] == {"from": "here", "to": "far", "over": "relays", "reached": True}, told
    assert len(told["rates"]) == 4 and all(one["rate"] > 0 for one in told["rates"]), told
