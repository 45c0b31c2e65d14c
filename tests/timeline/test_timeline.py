"""The timeline of whole runs: it shows which instance waited for which, its trace keeps to the format, it
exists for runs that go on or have failed, and the commands report mistakes."""

import json
import os
import re
import signal
import time
import xml.etree.ElementTree
from pathlib import Path

import pytest

ASKING = ["macro.out: micro.in", "micro.out: macro.in"]
STEPS = 3


@pytest.fixture
def over(play):
    """A run in which the macro model sleeps 0.2 s in each step, sends 1 MB, and waits for the micro model,
    which sleeps 0.1 s. So the times for which each waits for the other are known."""
    scripts = {
        "macro": f"x{STEPS} sleep 0.2, send out 1000000, receive in",
        "micro": f"x{STEPS} receive in, sleep 0.1, send out",
    }
    with play(scripts, ASKING) as run:
        status, output, record = run.end()
        assert status == 0, output
        return run.directory, record


def lanes(events):
    """The complete events of each thread, by its name."""
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = {name: [] for name in names.values()}
    for event in events:
        if event["ph"] == "X":
            found[names[event["tid"]]].append(event)
    return found


def check_trace(events):
    """Every event has the form of the format, and in each lane the events follow each other."""
    for event in events:
        assert {"name", "ph", "pid"} <= event.keys(), event
        assert event["ph"] in ("M", "X", "C"), event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "process_sort_index", "thread_name"), event
        if event["ph"] == "X":
            assert event["cat"] in ("compute", "wait", "send", "receive", "mixed"), event
            assert event["ts"] >= 0 and event["dur"] > 0, event
        if event["ph"] == "C":
            assert all(isinstance(value, int) for value in event["args"].values()), event
    for lane in lanes(events).values():
        for before, after in zip(lane, lane[1:]):
            # Times are in µs with three decimals, as floating-point numbers.
            assert before["ts"] + before["dur"] <= after["ts"] + 0.0011, (before, after)


def test_it_says_who_waited_for_whom_and_how_long(over, told):
    directory, _ = over
    said, _ = told(directory)
    waits = {(wait["instance"], wait["on"], wait["port"]): wait for wait in said["waits"]}
    micro, macro = waits["micro", "macro", "macro.out"], waits["macro", "micro", "micro.out"]
    # There is no upper limit, because machines may be slow.
    assert micro["seconds"] >= 0.9 * 0.2 * (STEPS - 1) and micro["lack"] == "message"
    assert macro["seconds"] >= 0.9 * 0.1 * STEPS
    assert macro["count"] >= STEPS
    assert 0 < micro["part"] < 1
    assert said["waits"] == sorted(said["waits"], key=lambda wait: -wait["seconds"])


def test_it_says_the_same_as_the_summary_of_the_run(over, told):
    directory, record = over
    said, _ = told(directory)
    summary = {one["name"]: one for one in record["instances"]}
    for one in said["instances"]:
        other = summary[one["name"]]
        assert one["waiting"] == pytest.approx(other["waiting"], abs=1e-6)
        assert one["total"] == pytest.approx(other["total"], abs=1e-6)
        assert one["sending"] + one["receiving"] == pytest.approx(other["transferring"], abs=1e-6)
        assert one["computing"] == pytest.approx(other["computing"], abs=1e-6)
        for count in ("sent_messages", "sent_bytes", "received_messages", "received_bytes", "iterations"):
            assert one[count] == other[count], count


def test_its_trace_keeps_to_the_format(over, told):
    directory, _ = over
    said, events = told(directory)
    check_trace(events)
    by_name = lanes(events)
    assert set(by_name) == {"macro", "micro"}
    waits = [e for e in by_name["macro"] if e["name"] == "waits for micro.out"]
    assert len(waits) >= STEPS
    assert all(wait["args"]["port"] == "macro.in" and wait["args"]["peer"] == "micro" for wait in waits)
    assert sum(wait["dur"] for wait in waits) / 1e6 <= said["instances"][0]["waiting"] * 1.001
    sends = [e for e in by_name["macro"] if e["cat"] == "send"]
    assert [e["name"] for e in sends] == ["sends to micro.in"] * STEPS
    assert any(e["name"] == "bytes sent by macro" and e["args"]["bytes"] >= STEPS * 1_000_000 for e in events)


def test_the_reader_in_the_reference_reads_the_same(over, told):
    page = (Path(__file__).parent.parent.parent / "docs/reference/timeline.md").read_text()
    reader = {}
    exec(re.search(r"^```python\n(.*?)^```", page, re.M | re.S).group(1), reader)
    directory, _ = over
    found = list(reader["intervals"](directory / "timeline"))
    events = lanes(told(directory)[1])
    for name, lane in events.items():
        own = [(begin, end) for instance, begin, end, _ in found if instance == name and end > begin]
        drawn = [event for event in lane if event["cat"] in ("wait", "send", "receive")]
        assert [begin for begin, _ in own] == pytest.approx([event["ts"] / 1e6 for event in drawn], abs=1e-8)
    assert {"message", "send"} <= {activity for *_, activity in found}


def test_an_array_that_is_received_into_is_a_copy(play, told):
    scripts = {"a": "x3 send out 3000000", "b": "x3 into in 3000000", "c": "x3 into in 3000000"}
    with play(scripts, ["a.out: [b.in, c.in]"]) as run:
        status, output, record = run.end()
    assert status == 0, output
    said, events = told(run.directory)
    check_trace(events)
    for name in ("b", "c"):
        copies = [e for e in lanes(events)[name] if e["cat"] == "receive"]
        assert [copy["name"] for copy in copies] == ["receives from a.out"] * 3
    receiving = {one["name"]: one["receiving"] for one in said["instances"]}
    assert receiving["b"] > 0 and receiving["c"] > 0 and receiving["a"] == 0


def test_a_full_conduit_is_a_wait_until_its_receiver_reads(play, told):
    scripts = {"a": "x5 send out 500000", "b": "sleep 1.5; x5 receive in"}
    with play(scripts, ["a.out: b.in"], ligament_options="budget: 1 MB") as run:
        status, output, _ = run.end()
    assert status == 0, output
    wait = told(run.directory)[0]["waits"][0]
    assert (wait["instance"], wait["lack"], wait["on"], wait["port"]) == ("a", "room", "b", "b.in")


def until(condition, limit=60):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come about")


def waits_for(run, name, port):
    """Waits until an instance waits for this port, and returns its process."""
    one = run.status().get(name, {})
    return one.get("pid") if one.get("waits_for") == port else None


def test_a_run_that_goes_on_shows_the_wait_that_is_not_over(play, told):
    scripts = {"macro": "send out; receive in; sleep 600", "micro": "receive in; send out; receive again"}
    with play(scripts, [*ASKING, "macro.more: micro.again"]) as run:
        until(lambda: waits_for(run, "micro", "macro.more"))
        seen = [told(run.directory) for _ in range(2)]
        for said, events in seen:
            check_trace(events)
            assert said["running"]
            assert any(e["name"] == "waits for macro.more" for e in lanes(events)["micro"])
        first, second = (
            next(wait["seconds"] for wait in said["waits"] if wait["port"] == "macro.more") for said, _ in seen
        )
        assert 0 < first < second, "each time it is up to date"


@pytest.mark.parametrize("victim", ["macro", "micro"])
def test_the_last_intervals_of_a_killed_instance_are_there(play, told, ask, victim):
    """In C and in Python: the one waits for the other, and is killed."""
    other = {"macro": "micro", "micro": "macro"}[victim]
    scripts = {
        victim: "send out; receive in; receive in",
        other: "receive in; sleep 0.1; send out; sleep 600",
    }
    order = {name: scripts[name] for name in ("macro", "micro")}
    with play(order, [f"{victim}.out: {other}.in", f"{other}.out: {victim}.in"]) as run:
        until(lambda: waits_for(run, victim, f"{other}.out") and told(run.directory)[0]["waits"])
        until(lambda: {one["name"]: one for one in told(run.directory)[0]["instances"]}[victim][
            "received_messages"])
        pid = until(lambda: waits_for(run, victim, f"{other}.out"))
        os.kill(pid, signal.SIGKILL)
        status, output, record = run.end()
        assert status == 1, output
    said, events = told(run.directory)
    check_trace(events)
    lane = lanes(events)[victim]
    assert lane[-1]["name"] == f"waits for {other}.out", "to its very end it waited"
    assert len([e for e in lane if e["name"] == f"waits for {other}.out"]) >= 2
    one = next(one for one in said["instances"] if one["name"] == victim)
    assert one["how"] == "gone" and one["waiting"] >= 0.09
    assert not said["running"] and said["state"] == "failed"


def test_what_was_written_stays_when_the_run_itself_is_killed(play, told):
    # The number of steps is far larger than the number made before the kill.
    scripts = {"macro": "x100000 sleep 0.01, send out, receive in", "micro": "x100000 receive in, send out"}
    with play(scripts, ASKING) as run:
        until(lambda: run.status().get("macro", {}).get("received_messages", 0) > 20)
        until(lambda: told(run.directory)[0]["waits"])
        run.process.kill()
        run.process.communicate()
        # The guard records that it failed.
        until(lambda: json.loads((run.directory / "run.json").read_text())["state"] == "failed")
    said, events = told(run.directory)
    check_trace(events)
    assert not said["running"]
    assert any(wait["instance"] == "micro" and wait["on"] == "macro" and wait["count"] > 10
               for wait in said["waits"])


def test_many_instances_are_shown_by_component(play, ask):
    n = 45
    # Each instance of micro sends a first message, and then waits at least as long as macro sleeps.
    macro = [*(f"receive there[{i}]" for i in range(n)), "sleep 0.2", *(f"send out[{i}]" for i in range(n))]
    scripts = {"micro": "send there; receive in", "macro": ";".join(macro)}
    with play(scripts, ["macro.out: micro.in", "micro.there: macro.there"], multiplicity={"micro": n}) as run:
        status, output, _ = run.end()
        assert status == 0, output
    status, output, error = ask("timeline", run.directory)
    assert status == 0, error
    assert "micro (mean of 45)" in output and "macro.out" in output and "micro[3]" not in output
    status, output, error = ask("profile", run.directory)
    assert status == 0, error
    assert "micro (mean of 45)" in output
    picture = (run.directory / "profile.svg").read_text()
    assert "micro (mean of 45)" in picture and "micro[3]" not in picture


def test_the_table_is_plain_where_it_is_no_terminal(over, ask):
    directory, _ = over
    status, output, _ = ask("timeline", directory)
    assert status == 0
    assert re.search(r"^micro +macro\.out +\S+ \S+ +\d+ % +\d+$", output, re.M), output
    assert re.search(r"^macro +micro\.out ", output, re.M), output
    assert "\x1b" not in output
    assert "trace.json" in output and (directory / "trace.json").exists()


def test_the_trace_is_written_where_it_is_wanted(over, ask, tmp_path):
    directory, _ = over
    status, output, error = ask("timeline", directory, "-o", tmp_path / "here.json")
    assert status == 0, error
    check_trace(json.loads((tmp_path / "here.json").read_text())["traceEvents"])
    status, _, error = ask("timeline", directory, "-o", tmp_path / "nowhere" / "here.json")
    assert status == 2 and "cannot be written" in error


def test_the_profile_is_a_picture_that_can_be_read(over, ask, tmp_path):
    directory, _ = over
    status, output, error = ask("profile", directory)
    assert status == 0, error
    assert re.search(r"^macro +[█░▓▒]+ +compute \d+ %, wait \d+ %", output, re.M), output
    svg = "{http://www.w3.org/2000/svg}"
    picture = xml.etree.ElementTree.parse(directory / "profile.svg").getroot()
    texts = [text.text for text in picture.iter(f"{svg}text")]
    for text in ("macro", "micro", "compute", "wait", "send", "receive", directory.name):
        assert text in texts, texts
    assert "macro: compute" in picture.find(f"{svg}desc").text
    assert any("wait" in title.text for title in picture.iter(f"{svg}title"))
    # The page loads nothing from elsewhere.
    assert "http" not in (directory / "profile.svg").read_text().replace("http://www.w3.org/2000/svg", "")
    status, _, error = ask("profile", directory, "-o", tmp_path / "picture.jpeg")
    assert status == 2 and ".svg or .png" in error
    status, output, error = ask("profile", directory, "--json")
    assert status == 0 and json.loads(output)["picture"].endswith("profile.svg")


def test_a_damaged_timeline_is_refused_with_its_line(over, ask):
    directory, _ = over
    file = directory / "timeline"
    text = file.read_text()
    file.write_text(text.replace("\nt 0 ", "\nt 99 ", 1))
    line = text[: text.index("\nt 0 ")].count("\n") + 2
    for command in ("timeline", "profile"):
        status, output, error = ask(command, directory)
        assert status == 2 and not output
        assert f"timeline:{line}: cause 99 of" in error and "damaged" in error
    status, output, _ = ask("timeline", directory, "--json")
    assert status == 2
    said = json.loads(output)
    assert not said["ok"] and f"timeline:{line}:" in said["error"]


def test_a_run_can_do_without(play, ask):
    with play({"a": "send out", "b": "receive in"}, ["a.out: b.in"], ligament_options="timeline: 0") as run:
        status, output, _ = run.end()
    assert status == 0, output
    assert not (run.directory / "timeline").exists()
    status, _, error = ask("timeline", run.directory)
    assert status == 2 and '"timeline: 0"' in error


def test_a_small_limit_makes_it_coarser(play, told, ask):
    scripts = {"macro": "x400 sleep 0.001, send out, receive in", "micro": "x400 receive in, send out"}
    with play(scripts, ASKING, ligament_options="timeline: 10 kB") as run:
        status, output, record = run.end()
    assert status == 0, output
    assert (run.directory / "timeline").stat().st_size < 15_000
    said, events = told(run.directory)
    check_trace(events)
    assert said["resolution"] >= 0.001
    summary = {one["name"]: one["waiting"] for one in record["instances"]}
    for one in said["instances"]:
        assert one["waiting"] == pytest.approx(summary[one["name"]], abs=1e-6)
        waited = sum(wait["seconds"] for wait in said["waits"] if wait["instance"] == one["name"])
        assert waited == pytest.approx(one["waiting"], abs=1e-6)
    assert "the sums are exact" in ask("timeline", run.directory)[1]
