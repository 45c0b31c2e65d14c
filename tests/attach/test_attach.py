"""`ligament attach` shows a run as if it had been started there, from any place that sees its directory, and
does not disturb it."""

import json
import os
import signal
import subprocess

from terminals import until


def test_on_a_terminal_it_draws_the_run_and_ctrl_c_leaves_it_alone(place):
    place.detached()
    terminal = place.on_terminal("attach", "run")
    terminal.shows("messages/s")
    terminal.shows(" of 1000")  # the source's model time, of what its settings say
    terminal.shows("worker: root: the worker warns")
    terminal.presses_ctrl_c()
    assert terminal.ends() == 130
    assert ('left run alone; "ligament attach run" comes back to it, "ligament stop run" ends '
            'it') in terminal.text
    assert place.record["state"] == "running"


def test_who_is_attached_without_a_terminal_gets_the_log_and_the_summary(place):
    place.detached()
    attached = place.attaches()
    place.is_under_way()
    place.tells("go")
    out, error = attached.communicate(timeout=60)
    assert attached.returncode == 0, error
    assert error.splitlines()[0] == '(Ctrl-C leaves it alone; "ligament stop run" ends it)'
    assert "worker: registered (python" in error and "the run is done" in error
    assert "endless" not in out and "run: done after" in out and "\ninstance " in out


def test_several_are_attached_at_once_and_all_see_the_end(place):
    place.detached()
    terminals = [place.on_terminal("attach", "run") for _ in range(2)]
    plain = place.starts("attach", "run", "--json")
    for terminal in terminals:
        terminal.shows("messages/s")
    place.tells("go")
    for terminal in terminals:
        assert terminal.ends() == 0
        assert "run: done after" in terminal.text
    out, error = plain.communicate(timeout=60)
    assert (plain.returncode, error) == (0, "")
    record = json.loads(out)
    assert (record["ok"], record["state"], len(record["instances"])) == (True, "done", 2)
    # The socket goes after the record says that the run is over, and viewers wait for the record only.
    until(lambda: not (place.path / "run/status.json").exists(), "the end of what is there for those who watch")


def test_a_failure_is_told_to_who_is_attached_and_to_who_comes_later(place):
    place.detached()
    attached = place.attaches()
    place.is_under_way()
    place.tells("fail")
    out, error = attached.communicate(timeout=60)
    later_out, later_error = place.call("attach", "run", status=1)
    for said in (error, later_error):
        assert "ended with exit status 3" in said and "  the last words of the source" in said
    assert attached.returncode == 1
    assert out == later_out and later_out.startswith("\ninstance ")
    record = json.loads(place.call("attach", "run", "--json", status=1)[0])
    assert (record["ok"], record["failed"]) == (False, "source")
    assert record["last_lines"][-1] == "the last words of the source"


def test_a_run_that_was_stopped_says_so_with_its_status(place):
    place.detached()
    attached = place.attaches()
    place.is_under_way()
    place.call("stop", "run")
    out, _ = attached.communicate(timeout=60)
    assert attached.returncode == 1 and "run: stopped after" in out
    assert "run: stopped after" in place.call("attach", "run", status=1)[0]


def test_who_is_attached_through_a_pipe_that_is_closed_does_not_stay(place):
    place.detached()
    place.is_under_way()
    attached = place.attaches()
    assert attached.stderr.readline().startswith("(Ctrl-C")
    attached.stderr.close()
    attached.stdout.close()
    assert attached.wait(timeout=60) == 130
    assert place.record["state"] == "running"


def test_from_another_machine_it_is_the_same(place, elsewhere):
    place.detached()
    place.is_under_way()
    words = [*elsewhere, place.ligament]
    status = subprocess.run([*words, "status", "run"], cwd=place.path, capture_output=True, text=True,
                            timeout=60)
    assert status.stdout.startswith("run: running, ") and "received" in status.stdout, status
    place.ligament = words[0]
    terminal = place.on_terminal(*words[1:], "attach", "run")
    place.ligament = words[-1]
    terminal.shows("messages/s")
    place.tells("go")
    assert terminal.ends() == 0 and "run: done after" in terminal.text


def test_that_there_is_no_such_run_is_said(place):
    _, error = place.call("attach", "nowhere", status=2)
    assert "there is no run \"nowhere\"" in error


def test_when_the_manager_is_killed_its_guard_says_so_and_the_journal_what_it_did_last(place):
    pid = place.detached()["pid"]
    attached = place.attaches()
    place.is_under_way()
    os.kill(pid, signal.SIGKILL)
    _, error = attached.communicate(timeout=60)
    assert attached.returncode == 1
    assert "was killed" in error and "the last thing that it wrote down: " in error, error
    last = place.journal()[-1]
    assert last["event"] == "manager-lost" and last["reason"] == place.record["reason"]
    status, _ = place.call("status", "run")
    assert status.startswith("run: failed") and "the last thing that it wrote down: " in status


def guard_of(pid):
    children = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid=,comm="], capture_output=True,
                              text=True).stdout
    return next(int(line.split()[0]) for line in children.splitlines() if "guard" in line)


def test_when_the_guard_is_killed_too_the_run_is_not_called_running(place):
    pid = place.detached()["pid"]
    place.is_under_way()
    guard = guard_of(pid)
    attached = place.attaches()
    os.kill(pid, signal.SIGSTOP)
    os.kill(guard, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    with (place.path / "run/journal.jsonl").open("a") as journal:
        journal.write('{"at":"2026-11-21T00:00:00.000Z","after":1')  # what it was about to write
    _, error = attached.communicate(timeout=60)
    assert attached.returncode == 1
    assert f"the manager of run (process {pid} on " in error and "is gone without a word" in error, error
    assert "its last sign is of 2" in error and "last: " in error
    assert place.record["state"] == "running", "nobody was left to write otherwise"
    until(lambda: "lost: the manager of run" in place.call("status", "run")[0], "the state")
    status = json.loads(place.call("status", "run", "--json")[0])
    assert status["state"] == "lost"
    assert status["last"]["event"] in ("registered", "warning", "started"), "half a line is none"
    # A run without a socket is not told to end.
    place.call("stop", "run", status=1)
