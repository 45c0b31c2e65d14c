"""A run does not depend on the terminal that started it."""

import json
import os
import signal
import subprocess

from terminals import until


def terminal_of(pid):
    """The number of the terminal that controls a process; 0 for none."""
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[4])


def test_a_detached_run_has_a_session_of_its_own_and_says_how_to_come_back(place):
    # This returns only because both pipes are closed, although the run goes on.
    out, error = place.call("run", "endless.ymmsl", "--detach", "--run-dir=run")
    assert out.splitlines()[0] == "run directory: run"
    assert '"ligament attach run" shows it, "ligament stop run" ends it' in out
    pid = place.record["pid"]
    assert os.getsid(pid) == pid and terminal_of(pid) == 0
    place.is_under_way()
    place.tells("go")
    out, _ = place.call("attach", "run")
    assert "run: done after" in out
    until(lambda: "run: done after" in (place.path / "run/terminal.log").read_text(),
          "what it would have printed")


def test_a_detached_run_outlives_its_terminal(place):
    terminal = place.on_terminal("run", "endless.ymmsl", "--detach", "--run-dir=run")
    terminal.shows("runs on its own")
    assert terminal.ends() == 0
    terminal.goes_away()
    place.is_under_way()
    place.tells("go")
    assert "run: done after" in place.call("attach", "run")[0]


def test_a_detached_run_that_cannot_begin_says_why_with_the_usual_status(place):
    alone = ("run", "endless.ymmsl", "--detach", "--run-dir=run", "--domains=1", "--join-timeout=0.3s")
    _, error = place.call(*alone, status=1)
    assert "waits for 1 other domains" in error and "has not joined the run within" in error, error
    out, _ = place.call(*alone[:-3], "--run-dir=other", "--json", *alone[-2:], status=1)
    assert json.loads(out)["ok"] is False
    _, error = place.call("run", "endless.ymmsl", "--detach", "--run-dir=run", status=2)
    assert "holds a run already" in error


def test_ctrl_c_ends_a_run_that_is_to_detach_as_long_as_it_is_not_up(place):
    terminal = place.on_terminal("run", "endless.ymmsl", "--detach", "--run-dir=run", "--domains=1")
    terminal.shows("waits for 1 other domains")
    terminal.presses_ctrl_c()
    assert terminal.ends() == 130
    assert place.record["state"] == "interrupted"


def test_a_run_whose_terminal_goes_away_goes_on_and_says_so(place):
    terminal = place.on_terminal("run", "endless.ymmsl", "--run-dir=run")
    terminal.shows("messages/s")
    terminal.goes_away()
    until(lambda: "terminal-gone" in place.events(), "the news of the terminal")
    # The log says it after the journal.
    until(lambda: "the terminal went away, and the run goes on: \"ligament attach run\"" in (
        place.path / "run/manager.log").read_text(), "the line of the log")
    assert json.loads(place.call("status", "run", "--json")[0])["state"] == "running"
    place.tells("go")
    assert "run: done after" in place.call("attach", "run")[0]
    assert terminal.ends() == 0
    assert "run: done after" in (place.path / "run/terminal.log").read_text()


def test_a_run_that_fails_after_its_terminal_went_away_writes_down_why(place):
    terminal = place.on_terminal("run", "endless.ymmsl", "--run-dir=run")
    terminal.shows("messages/s")
    terminal.goes_away()
    until(lambda: "terminal-gone" in place.events(), "the news of the terminal")
    place.tells("fail")
    assert terminal.ends() == 1
    assert "ended with exit status 3" in place.record["reason"]
    assert "ended with exit status 3" in (place.path / "run/terminal.log").read_text()


def test_a_run_that_waits_for_its_domains_goes_on_without_its_terminal_too(place):
    terminal = place.on_terminal("run", "endless.ymmsl", "--run-dir=run", "--domains=1", "--on", "1=worker")
    until(lambda: (place.path / "run/invitation").exists(), "the invitation")
    terminal.goes_away()
    until(lambda: "terminal-gone" in place.events(), "the news of the terminal")
    agent = place.starts("agent", "--join=run/invitation", "--domain=1", "--quiet")
    place.is_under_way()
    # The same holds for instances elsewhere, as soon as the manager sees them.
    until(lambda: {entry["instance"] for entry in place.journal() if entry["event"] == "started"} == {
        "source", "worker"}, "the news of the processes")
    place.tells("go")
    assert terminal.ends() == 0
    assert agent.wait(timeout=60) == 0
    events = place.events()
    assert [one for one in events if one in ("awaits", "joined", "placed", "up")] == [
        "awaits", "joined", "placed", "placed", "up"]


def test_ctrl_c_still_ends_a_run(place):
    terminal = place.on_terminal("run", "endless.ymmsl", "--run-dir=run")
    terminal.shows("messages/s")
    terminal.presses_ctrl_c()
    assert terminal.ends() == 130
    assert place.record["state"] == "interrupted"
    orders = [entry for entry in place.journal() if entry["event"] == "order"]
    assert [order["order"] for order in orders] == ["SIGINT"]


def test_the_journal_tells_the_run_from_its_begin_to_its_end(place):
    place.detached()
    place.is_under_way()
    until(lambda: "warning" in place.events(), "the warning")
    place.call("stop", "run")
    until(lambda: place.record["state"] == "stopped", "the end")
    entries = place.journal()
    times = [entry["after"] for entry in entries]
    assert times == sorted(times) and times[0] >= 0
    first, last = entries[0], entries[-1]
    assert (first["event"], first["version"], first["run"], first["instances"]) == ("begun", 1, "run", 2)
    assert (last["event"], last["state"]) == ("over", "stopped")
    events = [entry["event"] for entry in entries]
    # The guard reports that an instance was started, and the instance registers by itself: a slow run sees both
    # in either order.
    for before, after in [("begun", "up"), ("up", "started"), ("up", "registered"), ("started", "order"),
                          ("registered", "order"), ("order", "ending"), ("ending", "over")]:
        assert events.index(before) < events.index(after), events
    warning = next(entry for entry in entries if entry["event"] == "warning")
    assert (warning["who"], warning["text"]) == ("worker", "root: the worker warns")
    ended = {entry["instance"]: entry for entry in entries if entry["event"] == "ended"}
    assert set(ended) == {"source", "worker"} and all("clean" in one for one in ended.values())


def test_a_run_under_nohup_goes_on(place):
    run = subprocess.Popen(["nohup", place.ligament, "run", "endless.ymmsl", "--run-dir=run"], cwd=place.path,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    place.started.append(run)
    until(lambda: (place.path / "run/journal.jsonl").exists(), "the begin")
    place.is_under_way()
    os.kill(run.pid, signal.SIGHUP)
    until(lambda: "terminal-gone" in place.events(), "the news of the signal")
    place.tells("go")
    assert run.wait(timeout=60) == 0


def test_on_a_terminal_the_output_of_a_program_has_no_control_sequences_and_in_a_pipe_it_is_as_printed(place):
    printed = b"\x1b]0;a title\x07\x1b[2J\x1b[31mred\x1b[0m\r\n10 %\r20 %\nbad \xff end\n"
    (place.path / "noisy.py").write_text(f"import os, sys\nos.write(1, {printed!r})\nsys.exit(3)\n")
    (place.path / "noisy.ymmsl").write_text(
        "ymmsl_version: v0.1\nmodel: {name: loud, components: {noisy: noisy}}\n"
        "implementations: {noisy: {executable: python3, args: noisy.py}}\n"
    )
    failing = place.on_terminal("run", "noisy.ymmsl", "--run-dir=run")
    assert failing.ends() == 1
    for words in [("logs", "run", "noisy"), ("peek", "run", "noisy", "../output.log")]:
        terminal = place.on_terminal(*words)
        terminal.ends()
        if words[0] == "logs":
            assert terminal.text.split() == ("red 10 % 20 % bad \N{REPLACEMENT CHARACTER} "
                                             "end").split(), terminal.text
        assert ("a title" not in terminal.text + failing.text
                and "\x1b[31mred" not in terminal.text + failing.text)
    raw = subprocess.run([place.ligament, "logs", "run", "noisy"], cwd=place.path, capture_output=True,
                         check=True)
    assert raw.stdout == printed
