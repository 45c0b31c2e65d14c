"""Lost domains: the run ends in all other domains, names the lost one, and leaves no process."""

import os
import signal
import time

from namespaces import processes_in


def await_nobody(*hosts, limit=60):
    """Waits until no process is left in these namespaces."""
    until = time.monotonic() + limit
    while left := [pid for host in hosts for pid in processes_in(host.path)]:
        assert time.monotonic() < until, f"still there: {left}"
        time.sleep(0.02)


def test_a_killed_agent_ends_the_run_and_its_own_instances(network, flow):
    net = network("a", "b")
    started = flow([net["a"], net["b"]], "exchange", 1024, options=["--patience", "1h"])
    started.await_begun()
    os.kill(started.run.processes[1].pid, signal.SIGKILL)
    head, _ = started.run.wait(60)
    assert head == 1
    assert "(domain 1) is gone: it was killed by SIGKILL" in started.run.said()
    await_nobody(net["a"], net["b"])


def test_a_killed_head_ends_all_domains(network, flow):
    net = network("a", "b")
    started = flow([net["a"], net["b"]], "exchange", 1024, agent_options=["--patience", "5s"])
    started.await_begun()
    os.kill(started.run.processes[0].pid, signal.SIGKILL)
    _, agent = started.run.wait(60)
    assert agent != 0
    await_nobody(net["a"], net["b"])


def test_a_domain_that_vanishes_is_given_up_after_the_run_s_patience(network, flow):
    net = network("a", "b")
    started = flow([net["a"], net["b"]], "exchange", 1024, options=["--patience", "3s"],
                   agent_options=["--patience", "3s"])
    started.await_begun()
    net.cut("b")
    statuses = started.run.wait(90)
    assert statuses[0] == 1 and statuses[1] != 0
    assert "domain 1" in started.run.said()
    await_nobody(net["a"], net["b"])


def test_a_domain_that_never_joins_is_named_when_the_time_is_up(network, flow, monkeypatch):
    import domains

    monkeypatch.setattr(domains.SpreadRun, "start_agent", lambda run, number: None)
    net = network("a", "b")
    started = flow([net["a"], net["b"]], "exchange", 1024, options=["--join-timeout", "2s"])
    assert started.run.wait(60)[0] == 1
    assert "domain 1" in started.run.said()
    await_nobody(net["a"])


def test_an_instance_that_fails_ends_the_run_everywhere_with_its_reason(network, spread, tmp_path):
    net = network("a", "b")
    model = ("ymmsl_version: v0.1\nmodel:\n  name: failing\n  components:\n"
             "    well: {implementation: well, ports: {s: in}}\n    ill: {implementation: ill, ports: {o_i: "
             "out}}\n"
             "  conduits: {ill.out: well.in}\nimplementations:\n"
             "  well: {executable: sleep, args: ['600']}\n  ill: {executable: sh, args: [-c, 'exit 3']}\n")
    run = spread([net["a"], net["b"]], model, on={1: ["ill"]})
    assert run.wait(60)[0] == 1
    assert "ill" in run.said() and "3" in run.said()
    await_nobody(net["a"], net["b"])
