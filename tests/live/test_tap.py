"""Taps show values exactly as ports have sent them, and do not disturb the run."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from pages import Asker
from taps import FIELD, LIGHT, MODEL, PAIR, TAKER

LIMIT = 60


@pytest.fixture
def models(place, python_program, tmp_path):
    """Models whose ports are looked at."""

    def program(name, text):
        return python_program(name, "import numpy as np\n" + text.replace("HERE", repr(str(tmp_path))))

    (tmp_path / "shown.ymmsl").write_text(MODEL.format(field=program("field", FIELD),
                                                       taker=program("taker", TAKER)))
    (tmp_path / "pair.ymmsl").write_text(PAIR.format(walker=program("walker", LIGHT)))
    return place


@pytest.fixture
def shown(models):
    """A run of one of them."""
    models.call("run", "shown.ymmsl", "--run-dir=run", "--detach")
    return models


def tap(place, port, *words, status=0):
    """One value: the message, with its array as NumPy's."""
    told = json.loads(place.call("tap", "run", port, "--once", "--json", *words, status=status))
    return told if status else (told["timestamp"], told["value"], told)


def array(value):
    return np.array(value["array"]["data"]).reshape(value["array"]["shape"])


def test_every_kind_of_port_is_shown_as_it_was_sent(shown):
    # Joined; joined to nothing; known to the code alone.
    at, value, told = tap(shown, "field.out")
    assert np.array_equal(array(value), np.full(1000, at)) and told["message"] >= 1
    at, value, told = tap(shown, "field.state")
    assert np.array_equal(array(value), np.arange(24.0).reshape(4, 6) + 200 * at)
    assert told["next_timestamp"] == at + 0.5
    at, value, _ = tap(shown, "field.hidden")
    assert np.array_equal(array(value), np.arange(6).reshape(2, 3).T) and value["array"]["unit"] == "mm"
    at, value, _ = tap(shown, "field.number")
    assert value == at
    assert tap(shown, "field.nothing")[1] is None
    at, value, _ = tap(shown, "field.tree")
    assert value["name"] == "tree" and np.array_equal(array(value["inner"]["u"]), np.arange(5) + 2 * at)
    np.testing.assert_equal(value["odd"], [np.nan, np.inf, -np.inf, "NaN"])


def test_a_part_of_a_value_is_what_numpy_would_take(shown):
    def whole(at):
        return np.arange(24.0).reshape(4, 6) + 200 * at

    for text, part in (("0", np.s_[0]), ("-1, ::2", np.s_[-1, ::2]), ("1:3, 1:-1:3", np.s_[1:3, 1:-1:3]),
                       ("2, 3", np.s_[2, 3])):
        at, value, _ = tap(shown, "field.state", "--slice", text)
        assert np.array_equal(array(value), whole(at)[part]), text
    at, value, _ = tap(shown, "field.state", "--thin", 3)
    assert np.array_equal(array(value), whole(at)[::3, ::3])
    at, value, _ = tap(shown, "field.state", "--slice", "1:", "--histogram", 3)
    counts, edges = np.histogram(whole(at)[1:], 3)
    assert (value["counts"], value["least"], value["greatest"], value["others"]) == (counts.tolist(), edges[0],
                                                                                     edges[-1], 0)
    # The array's first index runs fastest.
    _, value, _ = tap(shown, "field.hidden", "--slice", "::2, 1")
    assert array(value).tolist() == np.arange(6).reshape(2, 3).T[::2, 1].tolist()
    at, value, _ = tap(shown, "field.tree", "--key", "inner", "--key", "u", "--slice", "1:3")
    assert array(value).tolist() == [1 + 2 * at, 2 + 2 * at]
    shown.call("tap", "run", "field.state", "--save", "x.npy", "--slice", ":2")
    saved = np.load(shown.path / "x.npy")
    assert np.array_equal(saved, saved[0, 0] + np.arange(12.0).reshape(2, 6))
    words = shown.call("tap", "run", "field.state", "--once", "--plot")
    assert "float64 4×6: " in words and "█" in words


def test_what_cannot_be_shown_says_why(shown):
    for words, status, code, why in (
        (["field.nobody"], 2, "tap-refused",
         "there are: out, state, tree, huge, number, nothing, slots, hidden"),
        (["stranger.out"], 2, "instance-unknown", "no instance"),
        (["taker.in"], 2, "tap-refused", "there are: none"),
        (["field"], 2, "tap-refused", "INSTANCE.PORT"),
        (["field.out[0]"], 2, "tap-refused", 'has no slots; leave "[0]" out'),
        (["field.state", "--slice", "::-1"], 2, "bad-slice", "step"),
        (["field.state", "--slice", "0,0,0"], 1, "not-shown", "so many axes"),
        (["field.state", "--slice", "9"], 1, "not-shown", "this index"),
        (["field.tree", "--key", "outer"], 1, "not-shown", "this key"),
        (["field.tree", "--histogram"], 1, "not-shown", "no array of numbers"),
        (["field.state", "--room", "100"], 1, "not-shown", "bytes, and the tap has room for 100"),
        (["field.huge", "--timeout", "0.3"], 1, "timed-out", "has sent nothing"),
    ):
        told = json.loads(shown.call("tap", "run", *words, "--once", "--json", status=status))
        assert told["code"] == code and why in told["error"], (words, told)
    assert shown.record()["state"] == "running"


def test_a_huge_message_is_shown_in_parts_and_not_copied_whole(shown):
    shown.tells("huge")
    told = tap(shown, "field.huge", status=1)
    assert told["code"] == "not-shown" and "ask for a slice" in told["error"]
    at, value, _ = tap(shown, "field.huge", "--slice", "-3:")
    assert array(value).tolist() == [at, at, -1.0]
    at, value, _ = tap(shown, "field.huge", "--thin", 1 << 20)
    assert array(value).tolist() == [at] * 14
    at, value, _ = tap(shown, "field.huge", "--histogram", 2)
    assert sum(value["counts"]) == 14 << 20 and value["counts"][0] == 1
    # The whole array can be tapped too, if `--room` is large enough.
    shown.call("tap", "run", "field.huge", "--room", 1 << 27, "--save", "huge.npy")
    saved = np.load(shown.path / "huge.npy")
    assert saved.shape == (14 << 20,) and saved[-1] == -1 and np.all(saved[:-1] == saved[0])


def test_a_value_for_which_the_disk_has_no_room_leaves_no_file(shown):
    (shown.path / "small").mkdir()
    # It is of 8 kB.
    script = ("mount -t tmpfs -o size=4k none small && \"$0\" tap run field.out --once --save small/out.npy; "
              "echo status $?; ls small")
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script, shown.ligament], cwd=shown.path,
                          stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout == "status 1\n", done.stdout + done.stderr
    assert ("out.npy cannot be written: No space "
            "left") in done.stderr and "file-not-written" in done.stderr, done.stderr


def test_two_who_look_and_one_who_is_killed_do_not_disturb_each_other(shown):
    def begin(*words):
        return subprocess.Popen([shown.ligament, "tap", "run", *words, "--json", "--every", "0"],
                                cwd=shown.path,
                                stdout=subprocess.PIPE, text=True)

    # More in a row than there may be at a time: those that are killed are gone.
    for _ in range(20):
        gone = begin("field.state")
        assert json.loads(gone.stdout.readline())["ok"]
        gone.send_signal(signal.SIGKILL)
        gone.wait()
        gone.stdout.close()
    # One that reads nothing.
    stalled = begin("field.state")
    one, other = begin("field.state", "--slice", "0, 0"), begin("field.state", "--thin", "5")
    times = []
    for _ in range(30):
        first, second = json.loads(one.stdout.readline()), json.loads(other.stdout.readline())
        assert array(first["value"]) == 200 * first["timestamp"]
        assert np.array_equal(array(second["value"]),
                              [[200 * second["timestamp"], 200 * second["timestamp"] + 5]])
        times.append(first["timestamp"])
    assert times == sorted(set(times))
    # The run ends: so do they, and the values up to there are whole.
    shown.tells("go")
    for process in (one, other):
        rest = process.stdout.read().splitlines()
        assert process.wait(LIMIT) == 0
        assert all(json.loads(line)["ok"] for line in rest)
    stalled.kill()
    stalled.wait()
    stalled.stdout.close()
    shown.call("attach", "run")
    record = shown.record()
    assert record["state"] == "done"
    late = json.loads(shown.call("tap", "run", "field.out", "--json", status=2))
    assert late["code"] == "tap-refused" and "not under way" in late["error"]


def test_light_components_are_shown_each_as_itself(shown):
    shown.tells("go")
    shown.call("attach", "run")
    (shown.path / "go").unlink()
    shown.call("run", "pair.ymmsl", "--run-dir=pair", "--detach")
    try:
        for name, sign in (("left", 1), ("right", -1)):
            told = json.loads(shown.call("tap", "pair", f"{name}.out", "--once", "--json"))
            assert np.array_equal(array(told["value"]), np.full(10, sign * told["timestamp"]))
            told = json.loads(shown.call("tap", "pair", f"{name}.shown", "--once", "--json"))
            assert told["value"] == sign * told["timestamp"]
    finally:
        shown.tells("go")
        shown.call("attach", "pair")
    assert shown.record("pair")["state"] == "done"


ATTACHED = """
import json, sys
import numpy as np
import ligament

run = ligament.attach("run")
assert run.state == "running"
while "field.hidden" not in run.ports:
    pass
with run.port("field.state", "::2") as port:
    shown = port.next(120)
    assert np.array_equal(shown.data, (np.arange(24.0).reshape(4, 6) + 200 * shown.timestamp)[::2])
    assert not shown.data.flags.writeable and shown.next_timestamp == shown.timestamp + 0.5
    later = port.next()
    assert later.timestamp > shown.timestamp and later.number > shown.number
assert np.asarray(run["field.out"]).shape == (1000,)
found = run.port("field.tree", key=("inner", "u"), histogram=5).value
assert found["counts"] == [1, 1, 1, 1, 1], found
for wrong in ("field.nobody", "nobody.out", "out"):
    error = ligament.UsageError
    try:
        run[wrong]
    except error:
        pass
    else:
        raise AssertionError(wrong)
try:
    run.port("field.state", "99").next(120)
except ligament.UnexpectedError as error:
    assert "index" in str(error)
try:
    run["field.huge"].next(0.05)
except ligament.TimeoutError:
    pass
print("told", flush=True)
count = 0
for shown in run.port("field.number"):
    assert shown.data == shown.timestamp
    if count == 5:
        open("go", "w").close()
    count += 1
assert count > 5 or count == 6
try:
    run["field.out"]
except ligament.Error:
    pass
print("all is as it was sent")
"""


def test_a_notebook_sees_arrays(shown):
    script = shown.path / "notebook.py"
    script.write_text(ATTACHED)
    done = subprocess.run([sys.executable, script], cwd=shown.path, capture_output=True, text=True,
                          timeout=5 * LIMIT)
    assert done.returncode == 0 and "all is as it was sent" in done.stdout, done.stdout + done.stderr


def frame(asker, session, port, has, every=50):
    """The next value as a browser gets it: its head, and the elements."""
    line = http.client.HTTPConnection("127.0.0.1", asker.port, timeout=LIMIT)
    line.request("GET", f"/api/tap?port={port}&has={has}&every={every}", headers=session)
    head, _, elements = line.getresponse().read().partition(b"\n")
    line.close()
    return json.loads(head), np.frombuffer(elements, "<f8")


def first_frame(asker, session, port):
    """The head of the first frame; there is none yet in the first answers of a machine under load."""
    until = time.monotonic() + LIMIT
    while (head := frame(asker, session, port, 0)[0]).get("kind") == "same":
        assert time.monotonic() < until, head
    return head


def test_who_reads_nothing_of_the_page_keeps_nobody_waiting(shown):
    # The tap answers, so the component takes part in the run.
    tap(shown, "field.number")
    asker = Asker(shown.view())
    session = asker.opens()
    stalled = []
    for _ in range(20):
        line = socket.create_connection(("127.0.0.1", asker.port))
        headers = "".join(f"{name}: {value}\r\n" for name, value in session.items())
        line.sendall(
            f"GET /api/tap?port=field.state&every=50 HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
        stalled.append(line)
    has, times = 0, []
    while len(times) < 10:
        head, elements = frame(asker, session, "field.state", has)
        if head["kind"] == "same":
            continue
        assert head["kind"] == "array" and head["shape"] == [4, 6] and head["frame"] > has, head
        assert np.array_equal(elements, np.arange(24.0) + 200 * head["timestamp"])
        has = head["frame"]
        times.append(head["timestamp"])
    assert times == sorted(set(times))
    assert first_frame(asker, session, "field.nobody")["over"]
    assert '"name":"tree"' in first_frame(asker, session, "field.tree")["text"]
    for line in stalled:
        line.close()
    shown.tells("go")
    head = {"kind": "array"}
    while not head.get("over"):
        head, _ = frame(asker, session, "field.state", has)
        has = max(has, head["frame"])
    assert "over" in head["why"] or "under way" in head["why"]


VALUES = """(() => Object.fromEntries([...document.querySelectorAll("[data-port]")].map((one) => [one.dataset.port, {
  at: Number(one.dataset.time), message: Number(one.dataset.message), text: one.innerText,
  large: one.querySelector("output")?.innerText,
}])))()"""


def look(browser, port, **fields):
    browser.does("fill", place="#values input[list]", text=port)
    for place, text in fields.items():
        browser.does("fill", place=f"#values input[placeholder*='{place}']", text=text)
    browser.does("tell", what="document.querySelector('#values form').requestSubmit()")
    browser.until(f"document.querySelector(\"[data-port='{port}']\")?.dataset.message > 0")


def test_the_page_shows_values_as_numbers_lines_pictures_and_bars(shown, browser, pictures):
    view = shown.view()
    browser.does("open", link=view["link"])
    browser.until("document.querySelectorAll('#values datalist option').length >= 8")
    look(browser, "field.number")
    told = browser.does("tell", what=VALUES)["field.number"]
    assert float(told["large"]) == told["at"]
    before = told["message"]
    browser.until(
        f"Number(document.querySelector(\"[data-port='field.number']\").dataset.message) > {before} + 3")
    look(browser, "field.state")
    browser.until("document.querySelector(\"[data-port='field.state'] .picture canvas\")?.width === 6")
    # Under the cursor stands what was sent: by keyboard, row 1, column 2.
    browser.does("tell", what="document.querySelector(\"[data-port='field.state'] .picture canvas\").focus()")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        browser.does("press", key=key)
    browser.until(
        "/row 1, column 2: \\d+/.test(document.querySelector(\"[data-port='field.state'] .point\").innerText)")
    said = browser.does("tell", what="document.querySelector(\"[data-port='field.state'] .point\").innerText")
    assert int(said.rsplit(" ", 1)[1]) % 100 == 8
    look(browser, "field.out")
    look(browser, "field.tree")
    assert '"name":"tree"' in browser.does("tell", what=VALUES)["field.tree"]["text"]
    browser.does("tell", what="document.querySelector('#values select').value = '20'; "
                 "document.querySelector('#values select').dispatchEvent(new Event('change', {bubbles: true}))")
    look(browser, "field.hidden")
    browser.until(
        "document.querySelector(\"[data-port='field.hidden'] canvas\")?.getAttribute('aria-label') === 'A "
        "histogram from 0 to 5'")
    for scheme in ("light", "dark"):
        browser.does("scheme", scheme=scheme)
        path = pictures / f"values-{scheme}.png"
        browser.does("picture", place="#values", path=str(path))
        assert path.read_bytes().startswith(b"\x89PNG")
    browser.does("tell", what="document.querySelector(\"[data-port='field.number'] button\").click()")
    browser.until("!document.querySelector(\"[data-port='field.number']\")")
    shown.tells("go")
    browser.says("is over", "[data-port='field.state']")
    assert browser.does("said") == []


def test_the_page_shows_what_is_sent_in_another_domain(models, browser):
    models.starts_in_two_domains("shown", "--on", "1=field", "--on", "0=taker")
    browser.does("open", link=models.view()["link"])
    # Also the port that only its code knows.
    browser.until(
        "[...document.querySelectorAll('#values datalist option')].some((one) => one.value === 'field.hidden')")
    look(browser, "field.number")
    first = browser.does("tell", what=VALUES)["field.number"]
    assert float(first["large"]) == first["at"]
    browser.until(
        f"Number(document.querySelector(\"[data-port='field.number']\").dataset.message) > {first['message']} "
        f"+ 3")
    look(browser, "field.state", **{"::2": "1, ::2"})
    browser.until("document.querySelector(\"[data-port='field.state'] canvas\")")
    at, said = (browser.does("tell", what=VALUES)["field.state"][one] for one in ("at", "text"))
    assert at >= 0 and "float64 3" in said
    models.tells("go")
    browser.says("is over", "[data-port='field.number']")
    assert models.agents[0].wait(timeout=LIMIT) == 0
    assert browser.does("said") == []
