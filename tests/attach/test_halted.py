"""A run that was stopped by Ctrl-Z, or SIGSTOP, gives no answers. A command that asks it reports this at
once."""

import json
import os
import signal
from pathlib import Path

import pytest
from terminals import until


def is_halted(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


@pytest.fixture
def halted(place):
    """A run whose own process is stopped."""
    place.detached()
    place.is_under_way()
    pid = place.record["pid"]
    os.kill(pid, signal.SIGSTOP)
    until(lambda: is_halted(pid), "the stop of the run")
    yield place
    os.kill(pid, signal.SIGCONT)


def test_the_status_of_a_run_that_stands_still_says_so_and_what_was_known(halted):
    pid = halted.record["pid"]
    text, _ = halted.call("status", "run")
    assert "stands still" in text and f"kill -CONT {pid}" in text and '"fg"' in text, text
    assert "source" in text and "worker" in text and "registered" in text, text
    told = json.loads(halted.call("status", "run", "--json")[0])
    assert told["halted"] and told["state"] == "running" and told["last"]["event"], told
    assert {one["name"] for one in told["instances"]} == {"source", "worker"}
    # The run goes on afterwards.
    os.kill(pid, signal.SIGCONT)
    text, _ = halted.call("status", "run")
    assert "stands still" not in text and "received" in text, text


@pytest.mark.parametrize("words", [["stop", "run"], ["timeline", "run"], ["join", "run", "source"]])
def test_whoever_wants_something_of_it_is_told_how_it_goes_on(words, halted):
    _, error = halted.call(*words, status=2)
    assert "stands still" in error and "kill -CONT" in error, error
