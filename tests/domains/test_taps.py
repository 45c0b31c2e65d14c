"""A viewer on the machine of the head gets the values of ports in another domain unchanged. After the viewer
has gone, its memory is freed in both domains."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_domains import LIMIT, ROOT, spread, until  # noqa: F401

sys.path += [str(ROOT / "tests/live"), str(ROOT / "tests/grid")]
import pictures  # noqa: E402
from taps import FIELD, LIGHT, MODEL, PAIR, TAKER  # noqa: E402


class TappedRun:
    """A run whose ports are looked at: its instances are in domain 1."""

    def __init__(self, ligament, run, path):
        self.ligament, self.run, self.path, self.gone = ligament, run, path, []

    def call(self, port, *words, status=0):
        done = subprocess.run([self.ligament, "tap", self.run.directory, port, *map(str, words)], cwd=self.path,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def once(self, port, *words, status=0):
        told = json.loads(self.call(port, "--once", "--json", *words, status=status))
        return told if status else (told["timestamp"], told["value"])

    def begin(self, port, every="0"):
        return subprocess.Popen([self.ligament, "tap", self.run.directory, port, "--json", "--every", every],
                                cwd=self.path, stdout=subprocess.PIPE, text=True)

    def tells(self, word):
        (self.path / word).touch()

    def boxes(self):
        """Returns the number of boxes of taps that the instance and its agent have in memory."""
        pids = [self.run.processes[1].pid]
        pids += [one["pid"] for one in json.loads(subprocess.run(
            [self.ligament, "status", self.run.directory, "--json"], check=True, capture_output=True, text=True,
            timeout=LIMIT).stdout)["instances"] if one["name"] == "field"]
        return sum(Path(f"/proc/{pid}/maps").read_text().count("ligament-tap") for pid in pids)


@pytest.fixture
def begun(ligament, spread, python_program, tmp_path):  # noqa: F811
    """Begins a run of a model, with instances in domain 1."""

    def program(name, text):
        return python_program(name, "import numpy as np\n" + text.replace("HERE", repr(str(tmp_path))))

    def begin(model, *places):
        file = tmp_path / "shown.ymmsl"
        file.write_text(model.format(field=program("field", FIELD), taker=program("taker", TAKER),
                                     walker=program("walker", LIGHT)))
        words = [word for place in places for word in ("--on", place)]
        run = spread(file, *words, domains=1)
        until(lambda: run.record().get("agent"), "the run is under way")
        return TappedRun(ligament, run, tmp_path)

    yield begin
    (tmp_path / "go").touch()


@pytest.fixture
def shown(begun):
    return begun(MODEL, "1=field", "0=taker")


def array(value):
    return np.array(value["array"]["data"]).reshape(value["array"]["shape"])


def test_a_port_of_another_domain_is_shown_as_it_was_sent(shown):
    at, value = shown.once("field.out")
    assert np.array_equal(array(value), np.full(1000, at))
    at, value = shown.once("field.state", "--slice", "-1, ::2")
    assert np.array_equal(array(value), (np.arange(24.0).reshape(4, 6) + 200 * at)[-1, ::2])
    at, value = shown.once("field.hidden")
    assert np.array_equal(array(value), np.arange(6).reshape(2, 3).T) and value["array"]["unit"] == "mm"
    assert shown.once("field.nothing")[1] is None
    at, value = shown.once("field.tree", "--key", "inner", "--key", "u", "--histogram", 5)
    assert value["counts"] == [1] * 5 and value["least"] == 2 * at
    # Here, as before.
    told = shown.once("taker.in", status=2)
    assert "there are: none" in told["error"]
    for words, status, code, why in (
        (["field.nobody"], 2, "tap-refused",
         "there are: out, state, tree, huge, number, nothing, slots, hidden"),
        (["field.state", "--slice", "9"], 1, "not-shown", "this index"),
        (["field.state", "--room", "100"], 1, "not-shown", "bytes, and the tap has room for 100"),
        (["field.state", "--room", 1 << 40], 2, "tap-refused", "at the most"),
        (["field.huge", "--timeout", "0.3"], 1, "timed-out", "has sent nothing"),
    ):
        told = shown.once(*words, status=status)
        assert told["code"] == code and why in told["error"], (words, told)
    # Many pieces.
    shown.tells("huge")
    told = shown.once("field.huge", status=1)
    assert told["code"] == "not-shown" and f"{8 * (14 << 20)}"[:3] in told["error"]
    shown.call("field.huge", "--room", 1 << 27, "--save", "huge.npy")
    saved = np.load(shown.path / "huge.npy")
    assert saved.shape == (14 << 20,) and saved[-1] == -1 and np.all(saved[:-1] == saved[0])
    shown.tells("go")
    assert shown.run.wait() == [0, 0]


def test_who_is_killed_is_shown_nothing_any_more_and_the_end_of_the_instance_ends_all(shown):
    # More in a row than there may be at a time: those that are killed are gone.
    for _ in range(20):
        one = shown.begin("field.state")
        assert json.loads(one.stdout.readline())["ok"]
        one.send_signal(signal.SIGKILL)
        one.wait()
        one.stdout.close()
    until(lambda: shown.boxes() == 0, "nothing is left of those that were killed")
    # One that reads nothing; two that do not disturb each other, and get whole values in order.
    stalled, first, other = shown.begin("field.out"), shown.begin("field.state"), shown.begin("field.number")
    times = []
    for _ in range(20):
        one, number = json.loads(first.stdout.readline()), json.loads(other.stdout.readline())
        assert np.array_equal(array(one["value"]), np.arange(24.0).reshape(4, 6) + 200 * one["timestamp"])
        assert number["value"] == number["timestamp"]
        times.append((one["timestamp"], one["message"]))
    assert times == sorted(set(times))
    until(lambda: shown.boxes() == 6, "all three are shown, each by the instance and its agent")
    # A viewer with a long interval ends with the others.
    seldom = shown.begin("field.number", every="1000")
    assert json.loads(seldom.stdout.readline())["ok"]
    shown.tells("go")
    for process in (first, other, seldom):
        rest = process.stdout.read().splitlines()
        assert process.wait(LIMIT) == 0
        assert all(json.loads(line)["ok"] for line in rest)
    stalled.kill()
    stalled.wait()
    stalled.stdout.close()
    assert shown.run.wait() == [0, 0]
    assert shown.run.record()["state"] == "done"


def test_with_a_domain_that_is_lost_its_taps_end(shown):
    one = shown.begin("field.state")
    assert json.loads(one.stdout.readline())["ok"]
    shown.run.processes[1].kill()
    one.stdout.read()
    one.wait(LIMIT)
    assert shown.run.wait()[0] == 1
    assert "is gone" in shown.run.record()["reason"]


def test_light_components_of_another_domain_are_shown_each_as_itself(begun):
    pair = begun(PAIR, "1=left")
    for name, sign in (("left", 1), ("right", -1)):
        at, value = pair.once(f"{name}.out")
        assert np.array_equal(array(value), np.full(10, sign * at))
    pair.tells("go")
    assert pair.run.wait() == [0, 0]


NOTEBOOK = """
import sys
import numpy as np
import ligament

run = ligament.attach(sys.argv[1])
# Also the port that only its code knows.
while "field.hidden" not in run.ports:
    pass
for port in ("field.state", "field.out"):
    with run.port(port) as tap:
        shown = tap.next(80)
        later = tap.next(80)
        assert later.timestamp > shown.timestamp and later.number > shown.number
assert np.asarray(run["field.out"]).shape == (1000,)
print("all is as it was sent")
"""


def test_a_notebook_sees_arrays_of_another_domain(shown):
    done = subprocess.run([sys.executable, "-c", NOTEBOOK, shown.run.directory], capture_output=True, text=True,
                          timeout=LIMIT)
    assert done.returncode == 0 and "all is as it was sent" in done.stdout, done.stdout + done.stderr
    shown.tells("go")
    assert shown.run.wait() == [0, 0]


def test_a_picture_of_a_grid_over_two_domains_is_of_one_time(ligament, spread, python_program,  # noqa: F811
                                                             tmp_path):
    shape, file = (14, 13, 12), tmp_path / "grid.ymmsl"
    program = pictures.program(python_program, "time.sleep(0.002)")
    file.write_text(pictures.MODEL.format(program=program, shape=list(shape), blocks=[2, 2, 1], periodic=[],
                                          more="wait: auto"))
    run = spread(file, "--on", "1=wave[1][0][0]", "--on", "1=wave[1][1][0]", domains=1)
    until(lambda: run.record().get("agent"), "the run is under way")
    shown = TappedRun(ligament, run, tmp_path)
    viewer = shown.begin("wave.u")
    distance = pictures.distance(shape)
    for _ in range(20):
        told = json.loads(viewer.stdout.readline())
        values = np.array(told["value"]["array"]["data"]).reshape(shape)
        assert np.array_equal(values, distance + 2 * told["timestamp"])
    viewer.send_signal(signal.SIGINT)
    viewer.communicate(timeout=LIMIT)
    shown.call("wave.w", "--level", 4.5, "--save", tmp_path / "w.vtp")
    points, triangles, _ = pictures.mesh(tmp_path / "w.vtp")
    assert len(points) > 200 and pictures.open_edges(triangles) == 0
