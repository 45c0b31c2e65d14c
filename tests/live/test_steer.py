"""The sessions that may steer by the page, and the results of their requests: without a browser."""

import json
import os
import socket
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pages import LIMIT, Asker


def steering(place, role="steer"):
    """A page of a run that can be steered, and a session of it."""
    asker = Asker(place.view("--link", role))
    return asker, asker.opens()


def steer(asker, session, **asked):
    """Returns status and answer of a request with all headers that a page sends."""
    status, _, text = asker.ask("POST", "/api/steer", {**asker.own, **session}, asked)
    return status, json.loads(text)


def steered(place):
    """Returns the entries of the journal about steering."""
    return [entry for entry in place.journal() if entry["event"] in ("steering", "order")]


def who(place, change):
    """Returns the users who wanted changes, from the run's record, which is written just after the answers."""
    until = time.monotonic() + LIMIT
    while len(found := place.record().get("steering", [])) <= change:
        assert time.monotonic() < until, found
        time.sleep(0.05)
    return found[change]["who"]


@pytest.fixture
def run(place):
    place.starts("steered")
    place.goes()
    return place


def test_nobody_steers_but_who_came_by_a_link_for_steering(run):
    asker, session = steering(run)
    host, order = f"127.0.0.1:{asker.port}", {"what": "set", "settings": ["front.D=0.25"]}
    looks = Asker(json.loads(run.call("view", "run", "--link", "look", "--json"))).opens()
    refused = {
        "missing": (asker.own, 401),
        "forged": ({**asker.own, "Cookie": session["Cookie"], "X-Ligament": "0" * 48}, 401),
        "half": ({**asker.own, "Cookie": session["Cookie"], "X-Ligament": looks["X-Ligament"]}, 401),
        "looking": ({**asker.own, **looks}, 403),
        "the cookie alone": ({"Origin": f"http://{host}", "Cookie": session["Cookie"]}, 403),
        "no origin": (session, 403),
        "another origin": ({**session, "Origin": "http://evil.example"}, 403),
        "another page": ({**session, **{"Origin": f"http://{host}", "Sec-Fetch-Site": "cross-site"}}, 403),
        "another host": ({**asker.own, **session, "Host": "evil.example"}, 421),
    }
    for what, (headers, expected) in refused.items():
        status, _, text = asker.ask("POST", "/api/steer", headers, order)
        assert (status, json.loads(text)["ok"]) == (expected, False), what
    # A secret opens the page once; a used or invented one does not.
    for secret in (asker.secret, "0" * 48, ""):
        assert asker.ask("POST", "/api/session", asker.own, {"secret": secret})[0] == 401
    # A form can send no JSON.
    status, _, _ = asker.ask("POST", "/api/steer", {**asker.own, **session, "Content-Type": "text/plain"})
    assert status in (400, 415)
    assert asker.ask("GET", "/api/steer", session)[0] == 405
    assert steered(run) == [] and {D for _, D, _ in run.steps()} == {0.5}
    assert json.loads(asker.ask("GET", "/api/news", looks)[2])["role"] == "look"
    assert json.loads(asker.ask("GET", "/api/news", session)[2])["role"] == "steer"
    page = run.pages[-1]
    run.close()
    # The attempt is in the page's log, and nowhere in the run's.
    assert "by link 2, which is for looking" in page.said
    assert steered(run) == []


def test_what_somebody_wants_by_the_page_is_what_the_command_would_do(run):
    asker, session = steering(run)
    status, told = steer(asker, session, what="set", settings=["front.D=0.25"])
    assert status == 200 and told["change"] == 1, told
    at = told["at"]
    run.waits_until(lambda status: [one["state"] for one in status.get("steering", [])] == ["in force"])
    status, told = steer(asker, session, what="pause")
    assert status == 200, told
    run.waits_until(lambda status: status.get("halt", {}).get("held"))
    assert steer(asker, session, what="step")[0] == 200
    assert steer(asker, session, what="until", at=told["at"] + 20)[1]["until"] == told["at"] + 20
    assert steer(asker, session, what="resume")[0] == 200
    # The run answers before it writes down what it has answered.
    until, history = time.monotonic() + LIMIT, []
    while [one["order"].split(",")[0] for one in history if "order" in one][-1:] != ["resume"]:
        assert time.monotonic() < until, history
        history = json.loads(asker.ask("GET", "/api/steering", session)[2])["history"]
    states = [one["change"]["state"] for one in history if one.get("change", {}).get("change") == 1]
    assert states == ["asked", "agreed", "in force"]
    assert [one["order"].split(",")[0] for one in history if "order" in one] == ["step", "until", "resume"]
    record = run.is_over()
    assert {D for step, D, _ in run.steps() if step < at} == {0.5}
    assert {D for step, D, _ in run.steps() if step >= at} == {0.25}
    change = record["steering"][0]
    assert change["who"].endswith(", by link 1 to the page") and "@" in change["who"]
    entries = [entry for entry in steered(run) if entry["event"] == "steering" and entry["change"] == 1]
    assert [entry["state"] for entry in entries] == states
    # A run that is over cannot be steered.
    status, told = steer(asker, session, what="set", settings=["front.D=0.5"])
    assert status == 409 and "not running" in told["why"]


def test_what_cannot_be_is_refused_with_the_reason(place):
    place.starts("deaf")
    place.goes()
    asker, session = steering(place)
    for asked, expected, why in (
        ({"what": "set", "settings": ["front.D=1.5"]}, 400, "1 mm^2/s is the most"),
        ({"what": "set", "settings": ["front.D=warm"]}, 400, "type float"),
        ({"what": "set", "settings": ["front.n=2.5"]}, 400, "type int"),
        ({"what": "set", "settings": ["front.D=" + 5000 * "1"]}, 400, "4096 are the most"),
        ({"what": "set", "settings": ["t_max=1"]}, 400, "cannot be steered"),
        ({"what": "set", "settings": []}, 400, "no setting"),
        ({"what": "set", "settings": ["front.D=0.1"], "at": 0}, 409, "has passed 0 already"),
        ({"what": "set", "settings": ["front.D=0.1"], "at": "soon"}, 422, "at"),
        ({"what": "until"}, 400, "missing"),
        ({"what": "resume"}, 409, "does not stand still"),
        ({"what": "withdraw", "change": 99}, 409, "no change 99"),
        ({"what": "rm -rf"}, 400, "none of set"),
        ({"what": "set", "settings": ["k=1"], "patience": 2}, 409, "deaf has not"),
    ):
        status, told = steer(asker, session, **asked)
        assert status == expected and why in told["why"], (asked, status, told)
    # A megabyte in place of a number: the server reads only the permitted length.
    try:
        status, told = steer(asker, session, what="set", settings=["front.D=" + (1 << 20) * "1"])
        assert status == 413 and "bytes are the most" in told["why"]
    except (BrokenPipeError, ConnectionResetError):
        pass
    assert steer(asker, session, what="set", settings=["front.D=0.1"], dry=True)[1]["instances"] == ["front"]
    place.is_over()
    assert {D for _, D, _ in place.steps()} == {0.5}


@pytest.mark.parametrize("first, other", [("front", "echo"), ("echo", "front")])
def test_who_comes_to_a_change_first_is_held_there_and_the_others_wait_for_it(place, first, other):
    place.starts("deaf")
    place.goes()
    asker, session = steering(place)
    place.holds(first)
    with ThreadPoolExecutor() as threads:
        asked = threads.submit(steer, asker, session, what="set", settings=["k=3"], patience=60)
        place.waits_until(lambda status: [one["state"] for one in status.get("steering", [])] == ["asked"])
        place.lets_go(first)
        expected = {first: "held", other: "waiting to receive", "deaf": "computing"}
        place.waits_until(lambda status: {one["name"]: one["state"] for one in status["instances"]} == expected)
        assert steer(asker, session, what="withdraw", change=1)[0] == 200
        status, told = asked.result()
    assert status == 409 and "withdrawn by" in told["why"], told
    assert place.is_over()["steering"][0]["state"] == "refused"


def test_more_links_lead_to_the_page_that_is_served(run):
    view = run.view()
    assert (view["role"], view["number"]) == ("look", 1)
    more = [json.loads(run.call("view", "run", "--link", role, "--json")) for role in ("steer", "look",
                                                                                       "steer")]
    assert [(one["role"], one["number"]) for one in more] == [("steer", 2), ("look", 3), ("steer", 4)]
    assert {one["at"] for one in more} == {view["at"]}
    one = Asker(more[2])
    assert steer(one, one.opens(), what="set", settings=["front.D=0.25"])[0] == 200
    assert who(run, 0).endswith("by link 4 to the page")
    # A link may belong to a person, by whose name its user is called.
    ada = Asker(json.loads(run.call("view", "run", "--link", "steer", "--for", "Ada\nLovelace", "--json")))
    assert steer(ada, ada.opens(), what="set", settings=["front.D=0.5"])[0] == 200
    assert who(run, 1).endswith("by link 5 for AdaLovelace to the page")
    assert "for steering" in run.call("view", "run", "--link", "steer")
    run.call("view", "run", "--link", "rule", status=2)
    # Another place is another page.
    assert run.view("--link", "look", "--socket", run.path / "page.socket")["at"] == str(
        run.path / "page.socket")


def test_a_run_opens_its_page_which_stays_until_nobody_looks_any_more(place):
    browser = place.path / "browser"
    browser.write_text(
        "#!/bin/sh\ncd " + str(place.path) + "\ncat \"$1\" > opened.part\nmv opened.part opened\n")
    browser.chmod(0o755)
    done = subprocess.run([place.ligament, "run", "steered.ymmsl", "--run-dir=run", "--detach", "--open=steer"],
                          cwd=place.path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT,
                          env={**os.environ, "BROWSER": f"{browser}:nothing"})
    assert done.returncode == 0, done.stderr
    link = done.stderr.split("page: ")[1].split()[0]
    until = time.monotonic() + LIMIT
    while not (place.path / "opened").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert link in (place.path / "opened").read_text()
    place.goes()
    asker = Asker({"at": link.split("#")[0], "link": link})
    session = asker.opens()
    assert steer(asker, session, what="set", settings=["front.D=0.25"])[0] == 200
    # The page is no descendant of the run, because the run ends all its descendants.
    place.is_over()
    assert json.loads(asker.ask("GET", "/api/news", session)[2])["run"]["state"] == "done"
    [page] = [int(name) for name in os.listdir("/proc") if name.isdigit() and begun(name, place.path / "run")]
    os.kill(page, 15)
    assert stat.S_ISREG(os.stat(place.path / "run/view.log").st_mode)


def words_of(process):
    """Returns the arguments with which a process was started."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as words:
            return words.read().decode(errors="replace").split("\0")
    except OSError:
        return []


def begun(process, run):
    """Returns true if a process is the page that was started with a run."""
    return "view" in words_of(process) and str(run) in words_of(process)


def listens(process):
    """The TCP ports at which a process listens."""
    with open("/proc/net/tcp") as table:
        lines = [line.split() for line in table.readlines()[1:]]
    ports = {line[9]: int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A"}
    places = f"/proc/{process}/fd"
    found = []
    for fd in os.listdir(places):
        try:
            found.append(os.readlink(f"{places}/{fd}"))
        except FileNotFoundError:
            pass  # it has been closed
    return [ports[name[8:-1]] for name in found if name.startswith("socket:[") and name[8:-1] in ports]


def test_a_run_at_a_site_is_seen_and_steered_over_ssh_without_a_port_there(run, ssh, browser):
    site = ssh.site(run.path / "east.yaml", ssh="east", ligament=run.ligament, directory=run.path)
    token = run.path / "token"
    view = run.view("--site", site, "--link", "steer", "--metrics-token", token)
    [far] = [int(name) for name in os.listdir("/proc") if name.isdigit()
             and "--over-pipes" in words_of(name)[:7]]
    asker = Asker(view)
    assert listens(far) == [] and listens(run.pages[-1].pid) == [asker.port]
    session = asker.opens()
    assert steer(asker, session, what="set", settings=["front.D=0.25"])[0] == 200
    # The token for metrics is in a file here, and in no arguments there.
    told = token.read_text().strip()
    assert stat.S_IMODE(token.stat().st_mode) == 0o600 and not any(told in word for word in words_of(far))
    assert asker.ask("GET", "/metrics", {"Authorization": "Bearer wrong"})[0] == 401
    status, _, text = asker.ask("GET", "/metrics", {"Authorization": f"Bearer {told}"})
    assert status == 200 and ('ligament_run_state{run="run",model="steered",state="running"} '
                              '1') in text.splitlines()
    # A client that reads nothing delays no other.
    stalled = [socket.create_connection(("127.0.0.1", asker.port)) for _ in range(5)]
    headers = "".join(f"{name}: {value}\r\n" for name, value in session.items())
    for line in stalled:
        line.sendall(20 * f"GET /page.js HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
    # Another link is made where the page runs, and works here.
    more = json.loads(run.call("view", "run", "--link", "look", "--json"))
    assert more["at"] == view["at"]
    browser.does("open", link=more["link"])
    browser.says("running", "h1")
    browser.says("This page is for looking", "#steering")
    browser.until("document.querySelector(\"[data-setting='front.D']\").dataset.value === '0.25'")
    for line in stalled:
        line.close()
    assert run.close() == 0
    until = time.monotonic() + LIMIT
    while os.path.exists(f"/proc/{far}"):
        assert time.monotonic() < until
        time.sleep(0.02)
    refused = subprocess.run([run.ligament, "view", "nowhere", "--site", site], cwd=run.path, text=True,
                             capture_output=True,
                             stdin=subprocess.DEVNULL, timeout=LIMIT)
    assert refused.returncode == 2 and "there is no run \"nowhere\"" in refused.stderr


def test_a_checkpoint_is_saved_by_the_page_for_who_may_steer_only(place):
    place.starts("saved")
    place.goes()
    asker, session = steering(place)
    looks = Asker(json.loads(place.call("view", "run", "--link", "look", "--json"))).opens()
    status, _, text = asker.ask("POST", "/api/steer", {**asker.own, **looks}, {"what": "checkpoint"})
    assert status == 403, text
    status, told = steer(asker, session, what="checkpoint")
    assert (status, told["change"]) == (200, 1), told
    place.waits_until(lambda status: status.get("last_checkpoint"))
    assert who(place, 0).endswith(", by link 1 to the page")
    checkpoint = json.loads((place.path / "run/checkpoints/1/checkpoint.json").read_text())
    assert checkpoint["model_time"] == told["at"]
    record = place.is_over()
    assert record["last_checkpoint"]["number"] == 1 and record["last_checkpoint"]["model_time"] == told["at"]
    assert [one["state"] for one in record["steering"]] == ["in force"]


def test_a_run_with_a_code_that_cannot_be_saved_is_told_so_by_the_page(run):
    asker, session = steering(run)
    status, told = steer(asker, session, what="checkpoint")
    assert status == 409 and "does not say what it keeps" in told["why"], told
    assert "USES_CHECKPOINT_API" in told["why"] and run.record().get("steering", []) == []
