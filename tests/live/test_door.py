"""The connections that the page's server accepts, and the data that it gives to programs."""

import json
import os
import re
import resource
import shutil
import socket
import stat
import subprocess
import time

from pages import Asker

PATHS = ("/api/news", "/api/plan", "/api/timeline", "/api/trace", "/api/log",
         "/api/output?instance=worker", "/api/tap?port=source.out", "/api/studies")


def test_without_a_session_there_is_the_empty_page_and_nothing_else(place):
    place.starts()
    asker = Asker(place.view())
    for path in PATHS:
        assert asker.ask("GET", path)[0] == 401, path
        assert asker.ask("GET", path, {"Cookie": "ligament-0=1; x"})[0] == 401, path
    status, headers, text = asker.ask("GET", "/")
    assert status == 200 and "endless" not in text
    assert headers["content-security-policy"].startswith("default-src 'self'")
    assert (headers["x-frame-options"], headers["cache-control"]) == ("DENY", "no-store")
    assert asker.ask("GET", "/etc/passwd")[0] == 404
    session = asker.opens()
    for path in PATHS:
        assert asker.ask("GET", path, session)[0] == 200, path
        # A browser also sends the cookie to any other port of this machine.
        assert asker.ask("GET", path, {"Cookie": session["Cookie"]})[0] == 401, path
        assert asker.ask("GET", path, {"X-Ligament": session["X-Ligament"]})[0] == 401, path
    for path in ("/api/tap?port=nothing", "/api/tap?port=source.out&slice=x", "/api/tap",
                 "/api/tap?port=source.out&thin=-1"):
        assert asker.ask("GET", path, session)[0] == 400, path
    for path in ("/api/output?instance=../..", "/api/output?instance=/etc", "/api/output?instance=.."):
        assert asker.ask("GET", path, session)[0] == 404, path


def test_a_forged_host_or_origin_or_a_form_is_refused(place):
    place.starts()
    asker = Asker(place.view())
    session = asker.opens()
    for host in ("evil.example", f"evil.example:{asker.port}", "127.0.0.1.evil.example", ""):
        status, _, text = asker.ask("GET", "/api/news", session, host=host or " ")
        assert status in (400, 421) and "endless" not in text, host
    for path in ("/", "/api/news"):
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Origin": f"https://127.0.0.1:{asker.port}"}):
            assert asker.ask("GET", path, {**session, **headers})[0] == 403, headers
    secret = {"secret": "0" * 48}
    assert asker.ask("POST", "/api/session", {"X-Ligament": "1"}, secret)[0] == 403
    assert asker.ask("POST", "/api/session", {"Origin": f"http://127.0.0.1:{asker.port}"}, secret)[0] == 403
    assert asker.ask("POST", "/api/session", asker.own, secret)[0] == 401
    assert asker.ask("POST", "/api/session", asker.own, {"secret": "x" * 5_000})[0] == 413
    assert place.record()["state"] == "running"


def test_metrics_need_their_token_and_are_those_of_the_run(place):
    place.starts()
    place.is_over()
    token = place.path / "token"
    asker = Asker(place.view("--metrics-token", token))
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert asker.ask("GET", "/metrics")[0] == 401
    assert asker.ask("GET", "/metrics", {"Authorization": "Bearer wrong"})[0] == 401
    status, headers, text = asker.ask("GET", "/metrics",
                                      {"Authorization": f"Bearer {token.read_text().strip()}"})
    assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4")
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert all(re.fullmatch(r"ligament_[a-z_]+", name) for name in names)
    record = place.record()
    for one in record["conduits"]:
        line = (
            f'ligament_conduit_sent_messages_total{{run="run",model="endless",from="{one["from"]}",to="{one["to"]}"}} '
                f'{one["messages"]}')
        assert line in text.splitlines()
    # The metrics' token opens nothing else, and the page's session no metrics.
    assert asker.ask("GET", "/api/news", {"Authorization": f"Bearer {token.read_text().strip()}"})[0] == 401
    assert asker.ask("GET", "/metrics", asker.opens())[0] == 401
    token.chmod(0o644)
    refused = subprocess.run([place.ligament, "view", "run", "--metrics-token", str(token)], cwd=place.path,
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "others may read this token" in refused.stderr


def test_a_socket_is_its_users_alone_and_goes_with_the_page(place):
    place.starts()
    path = place.path / "page.socket"
    place.view("--socket", path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(path))
        line.sendall(b"GET /api/news HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n")
        assert line.makefile("rb").readline().startswith(b"HTTP/1.1 401")
    assert place.close() == 0
    assert not path.exists()


def test_status_has_conduits_while_the_run_goes_on_and_they_only_grow(place):
    place.starts()
    asker = Asker(place.view())
    session = asker.opens()
    before = json.loads(place.call("status", "run", "--json"))["conduits"]
    while sum(one["messages"] for one in before) == 0:
        before = json.loads(place.call("status", "run", "--json"))["conduits"]
    assert [(one["from"], one["to"], one["channels"]) for one in before] == [
        ("source.out", "worker.in", 1), ("worker.out", "source.back", 1)]
    # Many viewers at once, and one that reads nothing, do not change the run.
    idle = [socket.create_connection(("127.0.0.1", asker.port)) for _ in range(20)]
    for line in idle:
        line.sendall(b"GET /api/news HTTP/1.1\r\nHost: localhost\r\n"
                     + f"Cookie: {session['Cookie']}\r\nX-Ligament: {session['X-Ligament']}\r\n\r\n".encode())
    picture = 0
    for _ in range(4):
        news = json.loads(asker.ask("GET", f"/api/news?since={picture}", session)[2])
        assert news["picture"] > picture
        picture = news["picture"]
    for line in idle:
        line.close()
    # Each instance has sent again since then, even if the viewers had no processor meanwhile.
    place.waits_until(lambda status: all(
        later["messages"] > one["messages"] for one, later in zip(before, status["conduits"])))
    record = place.is_over()
    assert record["state"] == "done"
    for one, later in zip(before, record["conduits"]):
        assert later["messages"] > one["messages"] and later["bytes"] > one["bytes"]
        assert (later["under_way"], later["received_messages"]) == (0, later["messages"])


def test_a_thousand_connections_without_a_session_keep_nobody_with_one_out_and_the_run_does_not_notice(place):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    place.starts()
    view = place.view()
    asker = Asker(view)
    session = asker.opens()
    # A viewer that was there before still gets its data.
    viewer = Asker(view).stays()
    picture = json.loads(viewer.ask("GET", "/api/news", session)[2])["picture"]
    # Some send a request without a session, some send half a request, and the others send nothing.
    heads = [b"GET /api/news HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /api/news HTTP/1.1\r\nHost: loc", b""]
    strangers = []
    try:
        for i in range(1000):
            strangers.append(socket.create_connection(("127.0.0.1", asker.port)))
            try:
                strangers[-1].sendall(heads[i % 3])
            except (BrokenPipeError, ConnectionResetError):
                pass
            if i % 200 == 199:
                assert asker.ask("GET", "/api/plan", session)[0] == 200
        for _ in range(3):
            picture, before = json.loads(viewer.ask("GET", f"/api/news?since={picture}",
                                                    session)[2])["picture"], picture
            assert picture > before
    finally:
        for line in strangers:
            line.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert place.is_over()["state"] == "done"


def test_one_connection_more_than_all_with_sessions_is_told_so(place):
    place.starts()
    view = place.view()
    asker = Asker(view)
    session = asker.opens()
    viewers = [Asker(view).stays() for _ in range(128)]
    try:
        assert {one.ask("GET", "/api/steering", session)[0] for one in viewers} == {200}
        status, _, text = asker.ask("GET", "/api/steering", session)
        assert status == 503 and "128 connections" in json.loads(text)["why"]
        assert {one.ask("GET", "/api/steering", session)[0] for one in viewers} == {200}
        viewers.pop().line.close()
        while asker.ask("GET", "/api/steering", session)[0] == 503:
            time.sleep(0.05)
    finally:
        for one in viewers:
            one.line.close()
    page = place.pages[-1]
    assert place.close() == 0 and "refused a connection" in page.said


def test_who_has_no_session_keeps_no_place_for_long_whatever_is_asked(place):
    place.starts()
    view = place.view()
    asker, viewer = Asker(view), Asker(view).stays()
    session = asker.opens()
    assert viewer.ask("GET", "/api/plan", session)[0] == 200
    own = "".join(f"{name}: {value}\r\n" for name, value in asker.own.items())
    heads = [
        f"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:{asker.port}\r\n{own}Content-Type: application/json\r\n"
             "Content-Length: 4000\r\n\r\n", "GET /favicon.ico HTTP/1.1\r\nHost: x\r\n\r\n"]
    lines = [socket.create_connection(("127.0.0.1", asker.port)) for _ in heads]
    for line, head in zip(lines, heads):
        line.sendall(head.encode())
        line.settimeout(0.2)
    until = time.monotonic() + 120
    while lines:
        assert time.monotonic() < until, "it still has its place"
        for line in list(lines):
            try:
                line.sendall(b" ")  # A request that never ends fares no better.
                over = not line.recv(4096)
            except TimeoutError:
                over = False
            except (ConnectionResetError, BrokenPipeError):
                over = True
            if over:
                line.close()
                lines.remove(line)
    # A connection with a session stays.
    assert viewer.ask("GET", "/api/plan", session)[0] == 200


def test_pipes_in_place_of_logs_hold_nobody_up(place):
    place.starts()
    asker = Asker(place.view())
    session = asker.opens()
    assert asker.ask("GET", "/api/steering", session)[0] == 200
    assert place.is_over()["state"] == "done"
    for name in ("manager.log", "journal.jsonl"):
        (place.path / "run" / name).unlink()
        os.mkfifo(place.path / "run" / name)
    assert asker.ask("GET", "/api/log", session)[0] != 200
    assert asker.ask("GET", "/api/steering", session)[0] == 200


def test_a_run_directory_that_is_cut_short_is_shown_as_far_as_it_goes_and_says_what_lacks(place):
    place.starts("steered")
    place.goes()
    place.call("steer", "run", "front.D=0.25")
    place.is_over()
    whole = place.path / "run"
    looked = ("/api/news", "/api/plan", "/api/timeline", "/api/trace", "/api/log", "/api/output?instance=front",
              "/api/steering",
              "/api/tap?port=front.out")
    for name, path, why in (
        ("model.ymmsl", "/api/plan", "model.ymmsl"), ("timeline", "/api/timeline", "timeline"),
        ("manager.log", "/api/log", ""),
        ("journal.jsonl", "/api/steering", ""), ("instances/front/output.log", "/api/output?instance=front",
                                                 ""),
    ):
        for share in (0.5, 0.0, None):
            copy = place.path / "cut"
            shutil.copytree(whole, copy)
            file = copy / name
            if share is None:
                file.unlink()
            else:
                file.write_bytes(file.read_bytes()[:int(file.stat().st_size * share)])
            asker = Asker(place.view(run="cut"))
            session = asker.opens()
            answers = {path: asker.ask("GET", path, session) for path in looked}
            assert {status for status, _, _ in answers.values()} <= {200, 404}, (name, share, answers)
            assert json.loads(answers["/api/news"][2])["run"]["state"] == "done"
            if why and share is None:
                assert why in json.loads(answers[path][2])["why"], answers[path]
            assert place.close() == 0
            shutil.rmtree(copy)
    # A directory without a record is no run.
    for share in (0.5, 0.0, None):
        shutil.copytree(whole, place.path / "cut")
        record = place.path / "cut/run.json"
        if share is None:
            record.unlink()
        else:
            record.write_bytes(record.read_bytes()[:int(record.stat().st_size * share)])
        told = json.loads(place.call("view", "cut", "--json", status=2))
        assert not told["ok"] and "run.json" in told["error"], told
        shutil.rmtree(place.path / "cut")


def test_the_page_is_what_its_sources_make(tmp_path):
    dashboard = place_of_the_page()
    copy = tmp_path / "dashboard"
    files = [path for path in dashboard.rglob("*") if path.is_file() and not {"node_modules",
                                                                              "built"} & set(path.parts)]
    for path in files:
        to = copy / path.relative_to(dashboard)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(path.read_bytes())
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=copy, check=True, timeout=300)
    subprocess.run(["npm", "run", "build", "--silent"], cwd=copy, check=True, timeout=300, capture_output=True)
    made = {path.name: path.read_bytes() for path in (copy / "built").iterdir()}
    kept = {path.name: path.read_bytes() for path in (dashboard / "built").iterdir()}
    assert made == kept, "dashboard/built is not what its sources make: npm ci && npm run build there"


def test_the_page_is_small_and_loads_nothing_from_elsewhere():
    import gzip

    built = place_of_the_page() / "built"
    assert sum(len(gzip.compress(path.read_bytes())) for path in built.iterdir()) <= 150_000
    assert "//" not in re.sub(r"http://www\.w3\.org/\S*?\"", "", (built / "index.html").read_text())


def place_of_the_page():
    from pages import HERE

    return HERE.parent.parent / "dashboard"
