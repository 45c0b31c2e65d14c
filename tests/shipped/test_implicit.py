"""Implicit coupling in whole runs: an oscillator of two masses with each scheme and acceleration, held against
one program that solves both; coupled fields held against NumPy; and models and components with mistakes."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
OSCILLATOR = ROOT / "examples/oscillator"
sys.path.insert(0, str(OSCILLATOR))
from oscillator_alone import BETWEEN, MASS, WALL, exact, monolithic  # noqa: E402

COUPLED = """
ymmsl_version: v0.2
models:
  whole:
    components:
      left: {implementation: left, ports: {o_i: out, s: in}}
      right: {implementation: right, ports: {o_i: out, s: in}}
      coupling: {implementation: ligament.mappers.implicit}
    conduits:
      left.out: coupling.left_in
      coupling.left_out: right.in
      right.out: coupling.right_in
      coupling.right_out: left.in
programs:
  left: {executable: python3, args: [LEFT]}
  right: {executable: python3, args: [RIGHT]}
settings:
"""
# A component whose results are a function of what comes, of the time, and of its own state. `function` gets the
# state at the beginning of the window, the window's begin and end, and what came; it returns state and result.
CODE = """
import sys
import numpy as np
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    begin = computed = STATE
    instance.send("out", Message(0.0, data=START))
    came = instance.receive("in")
    time = came.timestamp
    while came.next_timestamp is not None:
        if came.timestamp > time:
            time, begin = came.timestamp, computed
        computed, result = function(begin, time, came.next_timestamp, came.data)
        instance.send("out", Message(came.next_timestamp, data=result))
        came = instance.receive("in")
    print("end", came.timestamp, flush=True)
"""


class Coupling:
    """The files of a coupling, and the last line of each component."""

    def __init__(self, ran):
        self.ran = ran
        (folder,) = (path.parent for path in ran.directory.rglob("coupling.csv"))
        self.rows = list(csv.DictReader((folder / "coupling.csv").open()))
        self.plot = (folder / "coupling.svg").read_text()
        self.iterations = [int(row["iterations"]) for row in self.rows]

    def said(self, instance):
        return (self.ran.directory / "instances" / instance / "output.log").read_text().strip().splitlines()[-1]


def settings(**own):
    return "".join(f"  coupling.{name}: {json.dumps(value)}\n" for name, value in own.items())


@pytest.fixture
def coupled(run, tmp_path):
    """Runs two codes. Each is the text of its function, state and start."""

    def coupled(left, right, **own):
        text = COUPLED
        for name, code in (("LEFT", left), ("RIGHT", right)):
            (tmp_path / f"{name.lower()}.py").write_text(code)
            text = text.replace(name, str(tmp_path / f"{name.lower()}.py"))
        return run(text + settings(**own))

    return coupled


def code(function, state="None", start="0.0"):
    return f"def function(begin, time, end, came):\n    {function}\n" + CODE.replace("STATE", state).replace(
        "START", start)


@pytest.fixture
def oscillator(run):
    """Runs the oscillator with some settings of the coupling."""

    def oscillator(**own):
        mass = str(OSCILLATOR / "mass.py")
        text = COUPLED.replace("LEFT", mass).replace("RIGHT", mass)
        joined = "      coupling.left_initial: right.initial\n      coupling.right_initial: left.initial\n"
        for old, new in (("o_i: out, s: in", "o_i: displacement, s: initial neighbour"),
                         (".out:", ".displacement:"), (": right.in", ": right.neighbour"),
                         (": left.in", ": left.neighbour"), ("    conduits:\n", "    conduits:\n" + joined)):
            text = text.replace(old, new)
        own = {"window": 0.01, "until": 1.0, "relative_limit": 1e-10, **own}
        text += f"  mass: {MASS}\n  wall: {WALL}\n  between: {BETWEEN}\n"
        ran = run(text + "  left.displaced: 1.0\n  right.displaced: 0.0\n" + settings(**own))
        assert ran.status == 0, ran.text
        return Coupling(ran)

    return oscillator


def displacements(coupling):
    return [float(coupling.said(name).split("displacement ")[1].split()[0]) for name in ("left", "right")]


SERIAL = {"scheme": "serial-implicit", "first": "left"}
# Most iterations of a window, on average.
SCHEMES = {
    "serial": ({**SERIAL, "acceleration": "none"}, 4.0),
    "serial-aitken": ({**SERIAL, "acceleration": "aitken", "relaxation": 1.0}, 4.0),
    "serial-ils": ({**SERIAL, "acceleration": "iqn-ils"}, 3.2),
    "parallel": ({"acceleration": "none"}, 8.0),
    "parallel-ils": ({"acceleration": "iqn-ils"}, 4.0),
    "parallel-imvj": ({"acceleration": "iqn-imvj"}, 4.0),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_the_oscillator_is_as_exact_as_one_program(oscillator, name):
    own, most = SCHEMES[name]
    done = oscillator(**own)
    found, expected = displacements(done), monolithic(0.01, 100)[-1]
    np.testing.assert_allclose(found, expected, atol=1e-7)
    error, own_error = (np.abs(np.array(one) - exact([1.0])[0]).max() for one in (found, expected))
    assert error == pytest.approx(own_error, rel=1e-3) and error > 1e-4
    assert len(done.rows) == 100 and all(row["converged"] == "1" for row in done.rows)
    assert np.mean(done.iterations) <= most, done.iterations
    assert float(done.rows[-1]["end"]) == 1.0
    assert all(float(row["left_relative"]) <= 1e-10 for row in done.rows)


def test_an_explicit_scheme_computes_each_window_once(oscillator):
    for own in ({"scheme": "parallel-explicit"}, {"scheme": "serial-explicit", "first": "left"}):
        done = oscillator(**own)
        assert done.iterations == [1] * 100
        # The error is that of a lag of one window: visible, and not wild.
        error = np.abs(np.array(displacements(done)) - monolithic(0.01, 100)[-1]).max()
        assert 1e-3 < error < 1.0


# Two fields of 40 and 30 numbers that determine each other linearly. Plain repetition diverges.
FIELDS = """rows, columns = (40, 30) if SIDE == 0 else (30, 40)
    matrix = np.random.default_rng(SIDE).normal(size=(rows, columns)) * 0.1
    return None, matrix @ came + np.arange(rows) * end"""


def side(which, length):
    return code(FIELDS.replace("SIDE", str(which)), start=f"np.zeros({length})")


@pytest.mark.parametrize("acceleration", ["iqn-ils", "iqn-imvj"])
def test_fields_agree_with_the_solution_of_one_linear_system(coupled, acceleration):
    show = 'print("end", came.timestamp, flush=True)'
    sides = [side(0, 40).replace(show, 'np.save("last.npy", result)'), side(1, 30)]
    ran = coupled(*sides, window=0.5, until=2.0, relative_limit=1e-9, acceleration=acceleration,
                  filter_limit=1e-8)
    assert ran.status == 0, ran.text
    a, b = (np.random.default_rng(s).normal(size=shape) * 0.1 for s, shape in ((0, (40, 30)), (1, (30, 40))))
    ends = [np.arange(n) * 2.0 for n in (40, 30)]
    expected = np.linalg.solve(np.eye(40) - a @ b, a @ ends[1] + ends[0])
    (path,) = ran.directory.rglob("last.npy")
    np.testing.assert_allclose(np.load(path), expected, rtol=1e-5, atol=1e-6)
    assert max(Coupling(ran).iterations) < 100


SMALL = """rows, columns = (5, 4) if SIDE == 0 else (4, 5)
    matrix = np.random.default_rng(SIDE + 7).normal(size=(rows, columns))
    return None, np.tanh(matrix @ came) + np.arange(rows) * end"""


def numpy_iterations(limit, reused, filter_limit):
    """The number of iterations of each of four windows, by IQN-ILS in NumPy: newest columns first, each kind of
    data scaled by one over the sum of its share in the residuals of the window."""
    a, b = (np.random.default_rng(s + 7).normal(size=shape) for s, shape in ((0, (5, 4)), (1, (4, 5))))
    blocks, x, columns, counts = [slice(0, 5), slice(5, 9)], np.zeros(9), [], []
    for window in range(4):
        end, last, sums = 0.5 * (window + 1), None, np.zeros(2)
        for count in range(1, 101):
            left, right = np.tanh(a @ x[5:]) + np.arange(5) * end, np.tanh(b @ x[:5]) + np.arange(4) * end
            result = np.concatenate([left, right])
            residual = result - x
            if last is not None:
                columns.insert(0, (residual - last[0], result - last[1], window))
            last = residual, result
            if all(np.linalg.norm(residual[one]) <= limit * np.linalg.norm(result[one]) for one in blocks):
                break
            sums += [np.linalg.norm(residual[one]) / np.linalg.norm(residual) for one in blocks]
            scale = np.repeat(np.where(sums > 0, 1 / np.where(sums > 0, sums, 1), 1), (5, 4))
            kept, basis = [], np.zeros((9, 0))
            for column in columns:
                scaled = column[0] * scale
                across = scaled - basis @ (basis.T @ scaled)
                across -= basis @ (basis.T @ across)
                if np.linalg.norm(across) > filter_limit * np.linalg.norm(scaled):
                    kept.append(column)
                    basis = np.column_stack([basis, across / np.linalg.norm(across)])
            columns = kept
            if columns:
                v, w = (np.array([column[k] for column in columns]).T for k in (0, 1))
                x = result + w @ np.linalg.lstsq(v * scale[:, None], -residual * scale, rcond=None)[0]
            else:
                x = x + 0.1 * residual
        counts.append(count)
        x, columns = result, [column for column in columns if window + 1 - column[2] <= reused]
    return counts


@pytest.mark.parametrize("reused", [0, 2])
def test_iqn_ils_takes_as_many_iterations_as_in_numpy(coupled, reused):
    left, right = (code(SMALL.replace("SIDE", str(which)), start=f"np.zeros({length})")
                   for which, length in ((0, 5), (1, 4)))
    ran = coupled(left, right, window=0.5, until=2.0, relative_limit=1e-7, reused_windows=reused,
                  filter_limit=1e-2)
    assert ran.status == 0, ran.text
    assert Coupling(ran).iterations == numpy_iterations(1e-7, reused, 1e-2)


def test_units_and_precision_of_the_first_message_stay(coupled):
    start = 'np.float32([1000.0, 2000.0])'
    left = code("return None, Array(came * 0.0 + 0.5 * end, unit='km') if end else None", start=start)
    left = "from ligament import Array\n" + left.replace(f"data={start}", f"data=Array({start}, unit='m')")
    right = "assert came.dtype == np.float32, came.dtype\n    return None, np.float64(came) * 0.0"
    right = code(right, start="np.zeros(2)")
    right = right.replace('print("end", came.timestamp', 'print("end", came.data')
    ran = coupled(left, right, window=1.0, until=1.0, relative_limit=1e-6, acceleration="none")
    assert ran.status == 0, ran.text
    assert "500" in Coupling(ran).said("right")


def test_a_window_that_does_not_divide_the_time_is_followed_by_a_short_one(coupled):
    half = code("return begin + 0.0, 0.5 * came + end", state="0.0")
    ran = coupled(half, half, window=0.4, until=1.0, relative_limit=1e-8)
    assert ran.status == 0, ran.text
    done = Coupling(ran)
    assert [float(row["end"]) for row in done.rows] == [0.4, 0.8, 1.0]
    assert "the last one has only the length 0.2" in (ran.directory / "manager.log").read_text()
    assert "3 windows" in done.plot and done.said("left") == "end 1.0"


# Mistakes.

PLAIN = code("return None, 0.5 * came + 1.0")
GOOD = {"window": 1.0, "until": 3.0, "relative_limit": 1e-6}


def refused(ran, *parts):
    text = " ".join(ran.text.split())
    assert ran.status != 0, text
    for part in parts:
        assert part in text, f"{part}\n{text}"


def test_values_that_are_not_finite_end_the_run(coupled):
    nan = code("return None, np.array([1.0, np.nan, np.inf]) if time > 0.5 else came * 0.5", start="np.ones(3)")
    ran = coupled(nan, code("return None, came * 0.5", start="np.ones(3)"), **GOOD)
    refused(ran, "window 2 (from 1 to 2), iteration 1", "\"left_in\" has 2 of 3 values that are not finite",
            "NaN at position 1", "ligament explain not-finite")


def test_a_window_without_convergence_ends_the_run_or_warns(coupled):
    grow = code("return None, -3.0 * came + 1.0")
    own = {**GOOD, "acceleration": "none", "max_iterations": 7}
    refused(coupled(grow, PLAIN, **own), "window 1 (from 0 to 1), iteration 7: no convergence",
            "left relative is", "ligament explain no-agreement")
    ran = coupled(grow, PLAIN, **own, no_convergence="warn")
    assert ran.status == 0, ran.text
    assert Coupling(ran).iterations == [7] * 3 and {row["converged"] for row in Coupling(ran).rows} == {"0"}
    assert "no convergence" in (ran.directory / "manager.log").read_text()


def test_a_component_that_computes_to_another_time_is_named(coupled):
    short = PLAIN.replace("Message(came.next_timestamp", "Message(came.timestamp + 0.5")
    refused(coupled(short, PLAIN, **GOOD), "the message on \"left_in\" is of time 0.5",
            "and values at 1 are wanted", "ligament explain wrong-window")


def test_a_component_that_ends_within_a_window_ends_the_run(coupled):
    gone = PLAIN.replace("came = instance.receive(\"in\")\n    print", "break\n    print")
    refused(coupled(gone, PLAIN, **GOOD), "window 1 (from 0 to 1)", "left.out")
    dies = PLAIN.replace("0.5 * came + 1.0", "sys.exit(3)")
    refused(coupled(dies, PLAIN, **GOOD), "left")


def test_data_of_another_shape_or_kind_are_refused(coupled):
    other = code("return None, np.zeros(3)", start="np.zeros(2)")
    refused(coupled(other, PLAIN, **GOOD), "iteration 1: the message on \"left_in\"",
            "ligament explain cannot-map")
    text = PLAIN.replace("data=0.0", "data='zero'")
    refused(coupled(text, PLAIN, **GOOD), "coupling", "ligament explain cannot-map")


@pytest.mark.parametrize("own, parts", [
    ({"window": 0.0}, ("\"window\" is 0",)),
    ({"until": -1.0}, ("\"until\" -1",)),
    ({"relative_limit": 0.0}, ("\"relative_limit\" is 0",)),
    ({"relative_limit": None}, ("needs a limit",)),
    ({"scheme": "serial-implicit"}, ("needs \"first\"",)),
    ({"first": "left"}, ("\"first\" is for serial schemes",)),
    ({"scheme": "serial-implicit", "first": "middle"}, ("\"middle\"", "left, right")),
    ({"scheme": "serial-implicit", "first": "left right"}, ("\"first\" names all data",)),
    ({**SERIAL, "accelerated_by": "left"}, ("\"accelerated_by\" names \"left\"",)),
    ({"limits": "left often 1e-3"}, ("\"limits\" has \"left often 1e-3\"",)),
    ({"min_iterations": 5, "max_iterations": 4}, ("\"min_iterations\" is 5",)),
    ({"relaxation": 0.0}, ("\"relaxation\" is 0",)),
    ({"acceleration": "none", "relaxation": 0.5}, ("\"relaxation\" changes nothing",)),
    ({"scheme": "parallel-explicit", "acceleration": "aitken"}, ("\"acceleration\" is for implicit schemes",)),
    ({"scheme": "parallel-explicit", "max_iterations": 9}, ("\"max_iterations\" is for implicit schemes",)),
    ({"acceleration": "iqn"}, ("cannot be \"iqn\"",)),
])
def test_wrong_settings_are_named(coupled, own, parts):
    all = {name: value for name, value in {**GOOD, **own}.items() if value is not None}
    refused(coupled(PLAIN, PLAIN, **all), *parts)


def test_ports_without_a_partner_are_named(run, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    text = COUPLED.replace("LEFT", str(tmp_path / "plain.py")).replace("RIGHT", str(tmp_path / "plain.py"))
    refused(run(text.replace("coupling.right_out", "coupling.force_out") + settings(**GOOD)),
            "has no partner")


def test_the_progress_goes_to_a_port_that_the_model_joins(run, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    text = COUPLED.replace("LEFT", str(tmp_path / "plain.py")).replace("RIGHT", str(tmp_path / "plain.py"))
    text = text.replace("    conduits:\n", "      table: {implementation: ligament.sinks.csv}\n    conduits:\n"
                        "      coupling.convergence: table.in\n")
    ran = run(text + settings(**GOOD))
    assert ran.status == 0, ran.text
    (path,) = ran.directory.rglob("table.csv")
    rows = list(csv.reader(path.open()))[1:]
    done = Coupling(ran)
    assert len(rows) == sum(done.iterations)
    windows = [n + 1.0 for n, count in enumerate(done.iterations) for _ in range(count)]
    assert [float(row[1]) for row in rows] == windows
    assert float(rows[-1][3]) <= 1.0 < float(rows[0][3])
