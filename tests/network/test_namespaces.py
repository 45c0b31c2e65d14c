"""Networks of namespaces work: they join hosts, shape links, cut them, wall hosts off, and leave nothing
behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import namespaces
import pytest

HERE = Path(__file__).resolve().parent
KEEPS_A_NETWORK = """
import sys, signal, time
from namespaces import Network, processes_in
network = Network("a", "b")
sleeper = network["a"].start("sleep", "600")
# One that has not come there yet is no process of that network.
while sleeper.pid not in processes_in(network["a"].path):
    time.sleep(0.01)
print(network.prefix, sleeper.pid, flush=True)
signal.pause()
"""


def test_hosts_reach_each_other_over_ipv4_and_ipv6(network, transfer):
    net = network("a", "b", "c")
    for address in net["c"].addresses:
        transfer(net["a"], net["c"], address, 1 << 20)


def test_a_cable_without_a_switch_joins_two_hosts(network, transfer):
    net = network("a", "b", direct=True)
    transfer(net["a"], net["b"], net["b"].v6, 1 << 20)
    assert net.carried("a")[0] > 1 << 20


def test_a_rate_of_one_gigabit_holds_in_both_directions(network, transfer):
    net = network("a", "b", rate="1gbit")
    for one, other in ("ab", "ba"):
        seconds = transfer(net[one], net[other], net[other].v4, 64 << 20)["seconds"]
        assert seconds > 0.9 * (64 << 20) * 8 / 1e9, f"64 MiB from {one} to {other} took only {seconds:.3f} s"


def test_one_host_can_have_a_slower_link_than_the_others(network, transfer):
    net = network("a", "b")
    net.set_rate("40mbit", "a")
    assert transfer(net["a"], net["b"], net["b"].v4, 4 << 20)["seconds"] > 0.6


def test_a_cut_holds_back_what_is_said_and_the_connection_lives_on(network, plain):
    net = network("a", "b")
    plain(net["b"], "echo", net["b"].v4, 7000)
    client = plain(net["a"], "talk", net["b"].v4, 7000)
    assert client.line() == "connected"
    client.say("before")
    assert client.line().startswith("before ")
    net.cut("b")
    client.say("during")
    assert client.line(within=0.7) is None
    net.restore("b")
    assert client.line().startswith("during ")


def test_a_cut_of_one_interface_leaves_the_other(network, transfer):
    net = network("a", "b", links=2)
    net.cut("a", link=0)
    transfer(net["a"], net["b"], net["b"].addresses[2], 1 << 20)


def test_a_wall_lets_connections_out_but_not_in_save_to_a_door(network, plain):
    net = network("inside", "outside")
    net["inside"].wall(7003)
    plain(net["inside"], "echo", net["inside"].v4, 7002)
    plain(net["inside"], "echo", net["inside"].v4, 7003)
    plain(net["outside"], "echo", net["outside"].v4, 7004)
    kept_out = plain(net["outside"], "talk", net["inside"].v4, 7002)
    assert plain(net["outside"], "talk", net["inside"].v4, 7003).line() == "connected"
    assert plain(net["inside"], "talk", net["outside"].v4, 7004).line() == "connected"
    assert kept_out.line(within=0.5) is None
    net["inside"].unwall()
    assert kept_out.line() == "connected"


def test_a_wall_leaves_open_connections_alone(network, plain):
    net = network("inside", "outside")
    plain(net["inside"], "echo", net["inside"].v6, 7002)
    client = plain(net["outside"], "talk", net["inside"].v6, 7002)
    assert client.line() == "connected"
    net["inside"].wall()
    client.say("still here")
    assert client.line().startswith("still here ")


def test_connections_are_broken_at_both_ends(network, plain):
    net = network("a", "b")
    server = plain(net["b"], "receive", net["b"].v4, 7000)
    sender = plain(net["a"], "talk", net["b"].v4, 7000)
    assert sender.line() == "connected"
    assert net["a"].counted("Tcp", "CurrEstab") == 1
    assert net["a"].break_connections() == 1
    assert net["a"].counted("Tcp", "CurrEstab") == 0
    assert server.process.wait(timeout=120) != 0


def test_a_closed_network_leaves_no_namespace_and_no_process(network):
    net = network("a", "b")
    sleeper = net["a"].start("sleep", "600")
    stray = net["b"].run("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!").strip()
    prefix = net.prefix
    net.close()
    assert sleeper.poll() is not None
    assert not os.path.exists(f"/proc/{stray}/ns/net")
    assert not list(namespaces.NAMED.glob(f"{prefix}*"))


def _keeper():
    """A process of its own that has made a network, the beginning of its namespaces' names, and a process in
    there."""
    keeper = subprocess.Popen([sys.executable, "-c", KEEPS_A_NETWORK], cwd=HERE, stdout=subprocess.PIPE,
                              text=True)
    prefix, sleeper = keeper.stdout.readline().split()
    return keeper, prefix, int(sleeper)


def _gone(pid):
    """Waits for the end of a process that is no child of this one."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    import select

    try:
        return bool(select.select([descriptor], [], [], 120)[0])
    finally:
        os.close(descriptor)


def _taken_away(prefix):
    """Waits until no namespace of a network has its name. Processes of other suites that make networks also
    sweep, so one of them may be removing it now."""
    until = time.monotonic() + 60
    while left := list(namespaces.NAMED.glob(f"{prefix}*")):
        assert time.monotonic() < until, left
        time.sleep(0.05)


def _end(keeper):
    keeper.kill()
    keeper.wait()
    keeper.stdout.close()


def test_the_network_of_a_killed_process_is_removed_by_its_guard(network):
    network("a")  # skips where there can be none
    keeper, prefix, sleeper = _keeper()
    guard = _guard_of(keeper.pid)
    assert len(list(namespaces.NAMED.glob(f"{prefix}*"))) == 3
    _end(keeper)
    assert _gone(guard) and _gone(sleeper)
    _taken_away(prefix)


def test_what_is_left_when_the_guard_was_killed_too_is_swept_by_the_next(network):
    net = network("a")
    keeper, prefix, sleeper = _keeper()
    assert len(list(namespaces.NAMED.glob(f"{prefix}*"))) == 3
    os.kill(_guard_of(keeper.pid), signal.SIGKILL)
    _end(keeper)
    # The number is not checked, because another suite that makes a network at this moment also sweeps.
    namespaces.sweep()
    _taken_away(prefix)
    assert _gone(sleeper)
    assert net["a"].path.exists(), "the network of a process that lives was swept"


def _guard_of(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = [int(child) for child in children if b"\0guard\0" in Path(f"/proc/{child}/cmdline").read_bytes()]
    assert len(found) == 1, f"{found} of {children}"
    return found[0]


def test_the_first_network_of_a_machine_does_not_hide_the_links_names(emulator):
    # `ip netns` makes /run/netns a mount when it makes its first name; the emulator may have been first. A
    # mount namespace of its own has a /run like that of a machine that was just started.
    script = f"""
        mount -t tmpfs none /run || exit 9
        {emulator} --name link-first 2>/run/said & until grep -q 'enter with' /run/said; do sleep 0.01; done
        ip netns add second && ip netns exec link-first-a true && ip netns delete second
        status=$?
        kill $! && wait $!
        ls /run/netns
        exit $status
    """
    done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stdout, f"{done.stdout}{done.stderr}"


def test_a_name_that_cannot_be_removed_is_said_and_holds_up_nobody(network, monkeypatch, tmp_path):
    network("a")  # skips where there can be none
    left = tmp_path / f"{namespaces.PREFIX}-{os.getpid()}-0-lost-a"
    left.touch()
    monkeypatch.setattr(namespaces, "NAMED", tmp_path)
    with pytest.warns(UserWarning, match="lost-a"):
        assert namespaces.sweep() == []
    assert left.exists()
