"""Sources and sinks that are written in Python: functions of users, HDF5 and NetCDF, each in a whole run with
known answers; and runs in which one of them fails."""

import json
import subprocess

import h5py
import netCDF4
import numpy as np
import pytest
from test_shipped import JOINED, Results, array, mapper, messages, model, two


class PythonResults(Results):
    """Returns the files of sinks in Python."""

    def __init__(self, ran):
        super().__init__(ran)
        self.python = ran.directory / "light" / "ligament.python"

    def left(self, name):
        return self.python / "workdir" / name


@pytest.fixture
def results(run):
    def results(*parts, **more):
        ran = run(model(*parts, **more))
        assert ran.status == 0, ran.text
        return PythonResults(ran)

    return results


@pytest.fixture
def failure(run):
    """Returns the reason for a run's failure, in one line."""

    def failure(*parts, **more):
        ran = run(model(*parts, **more))
        assert ran.status == 1, ran.text
        return " ".join(ran.text.split()), PythonResults(ran)

    return failure


FUNCTIONS = """
import beside
from ligament import Message

def pairs():
    yield 1.0, beside.ONE
    yield 2.5, [2, "two"]

def values(text):
    return [float(text), {"a": 1}, None]

def whole():
    yield Message(0.0, 10.0, 1)
    yield Message(4.0, None, 2)

class Count:
    def __init__(self, to):
        self.to = int(to)

    def __iter__(self):
        return iter(range(self.to))
"""


def functions(tmp_path, text=FUNCTIONS):
    (tmp_path / "functions.py").write_text(text)
    (tmp_path / "beside.py").write_text("ONE = 1\n")


@pytest.mark.parametrize("function, settings, expected", [
    ("pairs", {}, [(1.0, 2.5, 1), (2.5, None, [2, "two"])]),
    ("values", {"with": "1.5", "begin": 10, "step": 2}, [(10, 12, 1.5), (12, 14, {"a": 1}), (14, None, None)]),
    ("values", {"with": "1.5", "times": [0, 3, 4]}, [(0, 3, 1.5), (3, 4, {"a": 1}), (4, None, None)]),
    ("whole", {}, [(0, 10, 1), (4, None, 2)]),
    ("Count", {"with": "1000", "until": 1}, [(0, 1, 0), (1, None, 1)]),
])
def test_a_function_gives_messages(results, tmp_path, function, settings, expected):
    functions(tmp_path)
    own = {f"source.{name}": value for name, value in settings.items()}
    done = results(two("python", "jsonl"), JOINED, {"source.function": f"functions.py:{function}", **own})
    came = [(line["timestamp"], line["next_timestamp"], line["data"]) for line in done.lines("sink.jsonl")]
    assert came == expected


TAKERS = """
def take(message, name):
    with open(name, "a") as file:
        print(message.timestamp, message.data.sum(), file=file)

class Total:
    def __init__(self):
        self.sum = 0

    def __call__(self, message):
        self.sum += message.data.sum()

    def finish(self):
        print(self.sum, file=open("total", "w"))
"""


def test_a_function_takes_messages_and_an_object_hears_their_end(results, tmp_path):
    functions(tmp_path, TAKERS)
    given = messages(tmp_path, array([1.0, 2.0]), array([3.0]))
    components = {"source": "ligament.sources.jsonl", "each": "ligament.sinks.python",
                  "all": "ligament.sinks.python"}
    done = results(components, {"source.out": "[each.in, all.in]"},
                   {"source.file": given, "each.function": "functions.py:take", "each.with": "each",
                    "all.function": "functions.py:Total"})
    assert done.left("each").read_text() == "0.0 3.0\n1.0 3.0\n"
    assert done.left("total").read_text() == "6.0\n"
    # All components in Python share one process, and the others share another.
    assert (done.python / "instances").read_text().split() == ["each", "all"]
    assert (done.folder / "instances").read_text().split() == ["source"]


def test_each_slot_of_a_set_gets_what_a_function_gives(results, tmp_path):
    functions(tmp_path)
    components = {"source": "ligament.sources.python", "part": mapper("duplicate, multiplicity: 2"),
                  "sink": "ligament.sinks.jsonl, multiplicity: 2"}
    done = results(components, {"source.out": "part.in", "part.out": "sink.in"},
                   {"source.function": "functions.py:pairs"})
    assert done.data("sink[0].jsonl") == done.data("sink[1].jsonl") == [1, [2, "two"]]


WRONG_FUNCTIONS = {
    "raises": ("def f():\n    yield 0.0, 1\n    raise ValueError('no rain')\n", {},
               ["ValueError: no rain", "functions.py:3, in f"]),
    "raises at once": ("def f():\n    return 1 / 0\n", {}, ["ZeroDivisionError", "functions.py:2, in f"]),
    "does not compile": ("def f(:\n", {}, ["SyntaxError", 'functions.py", line 1']),
    "times go back": ("def f():\n    yield 1.0, 1\n    yield 0.0, 1\n", {}, ["functions.py:3", "earlier"]),
    "no time": ("def f():\n    yield float('nan'), 1\n", {}, ["functions.py:2", "nan is no time"]),
    "cannot be sent": ("def f():\n    yield 0.0, 1\n    yield 1.0, object()\n    yield 2.0, 1\n", {},
                       ["functions.py:3", "object"]),
    "gives no messages": ("def f():\n    return 3\n", {}, ["functions.py:1", "type int", "yield"]),
    "gives nothing": ("def f():\n    yield from ()\n", {}, ["functions.py:f", "there is no message"]),
    "ends early": ("def f():\n    yield 0.0, 1\n", {"source.until": 5},
                   ["functions.py:2", "source-ends-early"]),
    "too few times": ("def f():\n    return [1, 2]\n", {"source.times": [0.0]},
                      ["functions.py:1", '"times" has 1']),
    "is no function": ("f = 1\n", {}, ['functions.py has no function or class "f"']),
}


@pytest.mark.parametrize("case", WRONG_FUNCTIONS)
def test_a_function_that_is_wrong_ends_the_run_with_its_line(failure, tmp_path, case):
    text, settings, words = WRONG_FUNCTIONS[case]
    (tmp_path / "functions.py").write_text(text)
    said, done = failure(two("python", "csv"), JOINED, {"source.function": "functions.py:f", **settings})
    reason = json.loads((done.ran.directory / "run.json").read_text())["reason"]
    for word in ["source", *words]:
        assert word in reason + said.split("run directory")[0].split("Traceback")[0], said
    # The error names the user's file, and not Ligament's.
    assert "_shipped.py" not in reason, reason


@pytest.mark.parametrize("function, words", [
    ("functions.py:pair", ['defines no "pair"', 'did you mean "pairs"?']),
    ("function.py:pairs", ['did you mean "functions.py"?']),
    ("functions.py", ["file.py:function"]),
])
def test_a_function_that_is_not_there_is_found_before_the_run(run, tmp_path, function, words):
    functions(tmp_path, FUNCTIONS + "\nraise SystemExit('this file is run')\n")
    ran = run(model(two("python", "csv"), JOINED, {"source.function": function}))
    said = " ".join(ran.text.split())
    assert ran.status == 2 and "missing-function" in said and "this file is run" not in said, said
    assert not [word for word in words if word not in said], said


def test_a_sink_s_function_that_raises_ends_the_run_with_its_line(failure, tmp_path):
    functions(tmp_path, "def take(message):\n    raise RuntimeError('full')\n")
    said, _ = failure(two("constant", "python"), JOINED,
                      {"source.value": 1, "sink.function": "functions.py:take"})
    assert "RuntimeError: full" in said and "functions.py:2, in take" in said, said


# Mappers.

MAPPERS ="""
from ligament import Mapper

class Exchange(Mapper):
    inputs = ["left", "right"]
    outputs = ["to_left", "to_right[]"]

    def __init__(self, instance):
        self.passes = 0

    def map(self, messages):
        self.passes += 1
        conductance = self.instance.get_setting("conductance", "float")
        heat = conductance * (messages["right"].data - messages["left"].data)
        return {"to_left": self.passes * heat, "to_right": [-heat, -2 * heat]}

def swap(messages):
    return {"to_left": messages["right"], "to_right": [messages["left"].data, 0]}

def lacks(messages):
    return {"to_left": 0}

def nothing(messages):
    pass

def raises(messages):
    raise ValueError("no heat")

class Other:
    pass

class Elsewhere(Mapper):
    inputs = ["above"]

    def map(self, messages):
        return {}
"""


def bodies(function):
    """Two submodels with a mapper of the user between them."""
    components = {"left": "ligament.sources.time_series", "right": "ligament.sources.time_series",
                  "exchange": "ligament.mappers.python", "first": "ligament.sinks.jsonl",
                  "second": "ligament.sinks.jsonl, multiplicity: 2"}
    conduits = {"left.out": "exchange.left", "right.out": "exchange.right", "exchange.to_left": "first.in",
                "exchange.to_right": "second.in"}
    return components, conduits, {"left.times": [0.0, 1.0], "left.values": [300.0, 310.0],
                                  "right.times": [0.5, 2.0],
                                  "right.values": [320.0, 316.0], "exchange.function": f"mappers.py:{function}",
                                  "conductance": 0.5}


@pytest.mark.parametrize("function, first, second", [
    ("Exchange", [10.0, 6.0], [[-10.0, -3.0], [-20.0, -6.0]]),
    ("swap", [320.0, 316.0], [[300.0, 310.0], [0, 0]]),
])
def test_a_mapper_of_a_user_is_a_light_component(results, tmp_path, function, first, second):
    (tmp_path / "mappers.py").write_text(MAPPERS)
    done = results(*bodies(function))
    came = done.lines("first.jsonl")
    # The result has the latest timestamp, and the earliest next timestamp that is not before it.
    assert [(line["timestamp"], line["next_timestamp"], line["data"]) for line in came] == \
        [(0.5, 1.0, first[0]), (2.0, None, first[1])]
    assert [done.data(f"second[{slot}].jsonl") for slot in range(2)] == second
    assert (done.python / "instances").read_text().split() == ["exchange"]


@pytest.mark.parametrize("function, words", [
    ("lacks", ["mapper-incomplete", "to_right"]), ("nothing", ["mapper-incomplete", "type NoneType", "a dict"]),
    ("raises", ["ValueError: no heat", "mappers.py:27, in raises"]),
    ("Other", ["the class Other is no mapper", "ligament.Mapper"]),
    ("Elsewhere", ['joins "left" (F_INIT)', "class Elsewhere, has above"]),
])
def test_a_mapper_of_a_user_that_is_wrong_ends_the_run_and_says_why(failure, tmp_path, function, words):
    (tmp_path / "mappers.py").write_text(MAPPERS)
    said, _ = failure(*bodies(function))
    assert "exchange" in said and not [word for word in words if word not in said], said


# HDF5 and NetCDF.

FIELD = np.arange(24, dtype=np.float32).reshape(4, 3, 2)


def test_hdf5_is_written_and_read_again(results, tmp_path):
    np.save(tmp_path / "field.npy", FIELD)
    done = results(two("npy", "hdf5"), JOINED, {"source.file": "field.npy", "source.begin": 10,
                                                "source.step": 5, "sink.dataset": "flow/T"})
    path = done.left("sink.h5")
    with h5py.File(path) as file:
        assert file["flow/T"].dtype == np.float32 and np.array_equal(file["flow/T"], FIELD)
        assert file["time"][:].tolist() == [10, 15, 20, 25]
    again = results(two("hdf5", "npy"), JOINED, {"source.file": str(path)})
    assert np.array_equal(np.load(again.path("sink.npy")), FIELD)
    assert np.load(again.path("sink.times.npy")).tolist() == [10, 15, 20, 25]


def test_netcdf_is_written_and_read_again(results, tmp_path):
    np.save(tmp_path / "field.npy", FIELD)
    done = results(two("npy", "netcdf"), JOINED, {"source.file": "field.npy", "source.begin": 10,
                                                  "source.step": 5, "sink.variable": "T"})
    path = done.left("sink.nc")
    with netCDF4.Dataset(path) as file:
        assert file["T"].dimensions == ("time", "T_0", "T_1") and np.array_equal(file["T"][:], FIELD)
        assert file["time"][:].tolist() == [10, 15, 20, 25] and "units" not in file["time"].ncattrs()
    again = results(two("netcdf", "npy"), JOINED, {"source.file": str(path)})
    assert np.array_equal(np.load(again.path("sink.npy")), FIELD)
    assert np.load(again.path("sink.times.npy")).tolist() == [10, 15, 20, 25]


def station(tmp_path):
    """A NetCDF file with hours and a missing value, like those of a weather service."""
    with netCDF4.Dataset(tmp_path / "station.nc", "w") as file:
        file.createDimension("t", 3)
        file.createVariable("t", "i4", ("t",))[:] = [0, 6, 12]
        file["t"].units = "hours since 2000-01-01 00:00"
        file.createVariable("rain", "f8", ("t",), fill_value=-1.0)[:] = [1.5, -1.0, 2.5]
        file.createVariable("height", "f8", ())[...] = 12.0


def test_times_in_hours_are_seconds_and_holes_are_errors_or_no_numbers(results, failure, tmp_path):
    station(tmp_path)
    settings = {"source.file": "station.nc", "source.variable": "rain"}
    done = results(two("netcdf", "jsonl"), JOINED, {**settings, "source.holes": "nan"})
    assert repr([(line["timestamp"], line["data"]) for line in done.lines("sink.jsonl")]) == \
        "[(0.0, 1.5), (21600.0, nan), (43200.0, 2.5)]"
    components = {**two("netcdf", "netcdf"), "lines": "ligament.sinks.jsonl"}
    done = results(components, {"source.out": "[sink.in, lines.in]"}, {**settings, "source.holes": "nan"},
                   more="ligament: {time_unit: d}\n")  # fmt: skip
    assert [line["timestamp"] for line in done.lines("lines.jsonl")] == [0, 0.25, 0.5]
    with netCDF4.Dataset(done.left("sink.nc")) as file:
        assert file["time"][:].tolist() == [0, 0.25, 0.5] and file["time"].units == "d"
    said, _ = failure(two("netcdf", "jsonl"), JOINED, settings)
    assert "station.nc: rain[1]: values are missing" in said and "holes: nan" in said, said
    said, _ = failure(two("netcdf", "jsonl"), JOINED, {"source.file": "station.nc"})
    assert "there is rain, height" in said, said


def test_holes_among_whole_numbers_lose_no_digits_and_change_no_types(results, failure, tmp_path):
    with netCDF4.Dataset(tmp_path / "counts.nc", "w") as file:
        file.createDimension("t", 2)
        file.createDimension("x", 2)
        file.createVariable("small", "i8", ("t", "x"), fill_value=-1)[:] = [[1, 2], [3, -1]]
        file.createVariable("large", "i8", ("t", "x"), fill_value=-1)[:] = [[1, 2], [2**53 + 1, -1]]
        file.createVariable("real", "f4", ("t", "x"), fill_value=-1)[:] = [[1, 0.1], [3, -1]]
    settings = {"source.file": "counts.nc", "source.holes": "nan"}
    for name, dtype, expected in [("small", np.float64, [[1, 2], [3, np.nan]]),
                                  ("real", np.float32, [[1, np.float32(0.1)], [3, np.nan]])]:
        done = results(two("netcdf", "npy"), JOINED, {**settings, "source.variable": name})
        came = np.load(done.path("sink.npy"))
        np.testing.assert_equal(came, np.array(expected, dtype))
        assert came.dtype == dtype
    said, _ = failure(two("netcdf", "npy"), JOINED, {**settings, "source.variable": "large"})
    assert "counts.nc: large[1]" in said and "does not hold all digits" in said, said


@pytest.mark.parametrize("kind", ["hdf5", "netcdf"])
def test_units_are_named_and_not_mixed(failure, results, tmp_path, kind):
    given = messages(tmp_path, array([1.0], unit="km"), array([2.0], unit="km"))
    done = results(two("jsonl", kind), JOINED, {"source.file": given})
    (path,) = done.left("").glob("sink.*")
    if kind == "hdf5":
        with h5py.File(path) as file:
            assert file["data"].attrs["units"] == "km"
    else:
        with netCDF4.Dataset(path) as file:
            assert file["data"].units == "km"
    said, _ = failure(two("jsonl", kind), JOINED, {"source.file": messages(tmp_path, array([1.0], unit="km"),
                                                                           array([2.0], unit="m"))})
    assert 'has the unit "m", and those before it have the unit "km"' in said, said
    # The source sends the unit, so values from files with two units can be added.
    done_in_m = results(two("jsonl", kind), JOINED, {"source.file": messages(tmp_path, array([1.0], unit="m"))})
    (other,) = done_in_m.left("").glob("sink.*")
    components = {"a": f"ligament.sources.{kind}", "b": f"ligament.sources.{kind}",
                  "both": "ligament.mappers.combine",
                  "sink": "ligament.sinks.jsonl"}  # fmt: skip
    conduits = {"a.out": "both.a", "b.out": "both.b", "both.out": "sink.in"}
    settings = {"a.file": str(other), "b.file": str(path), "b.until": 0, "both.as": "sum"}
    (line,) = results(components, conduits, settings).lines("sink.jsonl")
    assert line["data"]["array"]["data"] == [1001.0] and line["data"]["array"]["unit"] == "m"


def test_times_of_hdf5_are_in_the_unit_that_the_file_says(failure, results, tmp_path):
    done = results(two("constant", "hdf5"), JOINED, {"source.value": 1, "source.begin": 1},
                   more="ligament: {time_unit: d}\n")
    settings = {"source.file": str(done.left("sink.h5"))}
    for more, time in [("", 86400), ("ligament: {time_unit: h}\n", 24), ("ligament: {time_unit: d}\n", 1)]:
        (line,) = results(two("hdf5", "jsonl"), JOINED, settings, more=more).lines("sink.jsonl")
        assert line["timestamp"] == time, more
    with h5py.File(done.left("sink.h5"), "a") as file:
        file["time"].attrs["units"] = "months"
    said, _ = failure(two("hdf5", "jsonl"), JOINED, settings)
    assert 'sink.h5: time: "months" is no unit of time that has one length' in said, said


@pytest.mark.parametrize("kind", ["hdf5", "netcdf"])
def test_times_that_a_double_does_not_hold_are_refused(failure, tmp_path, kind):
    times = np.array([1700000000000000001, 1700000000000000002])
    if kind == "hdf5":
        with h5py.File(tmp_path / "long", "w") as file:
            file["data"], file["time"] = [1.0, 2.0], times
    else:
        with netCDF4.Dataset(tmp_path / "long", "w") as file:
            file.createDimension("time", 2)
            file.createVariable("time", "i8", ("time",))[:] = times
            file.createVariable("data", "f8", ("time",))[:] = [1.0, 2.0]
    said, _ = failure(two(kind, "jsonl"), JOINED, {"source.file": "long"})
    assert "long: data[0]: the time 1700000000000000001 has more digits than a float64 holds" in said, said


def test_a_whole_dataset_is_one_message(results, tmp_path):
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["a"], file["b"] = FIELD, 3
    done = results(two("hdf5", "npy"), JOINED, {"source.file": "one.h5", "source.dataset": "a",
                                                "source.whole": True, "source.begin": 7})
    assert np.array_equal(np.load(done.path("sink.npy")),
                          FIELD[None]) and np.load(done.path("sink.times.npy")) == [7]


@pytest.mark.parametrize("kind, setting", [("hdf5", "dataset"), ("netcdf", "variable")])
def test_files_that_are_wrong_are_named(failure, tmp_path, kind, setting):
    (tmp_path / "text").write_text("this is neither")
    said, _ = failure(two(kind, "discard"), JOINED, {"source.file": "text"})
    assert "source" in said and "text cannot be read" in said and "source-unreadable" in said, said
    said, _ = failure(two(kind, "discard"), JOINED, {"source.file": "/dev/zero"})
    assert "no regular file" in said, said
    station(tmp_path)  # NetCDF 4 is HDF5
    said, _ = failure(two(kind, "discard"), JOINED, {"source.file": "station.nc", f"source.{setting}": "snow"})
    assert 'has no "snow"' in said and "rain" in said, said


@pytest.mark.parametrize("kind, suffix", [("hdf5", "h5"), ("netcdf", "nc")])
def test_what_does_not_go_together_ends_the_run_without_a_final_file(failure, tmp_path, kind, suffix):
    given = messages(tmp_path, array([1.0, 2.0]), array([3.0]))
    said, done = failure(two("jsonl", kind), JOINED, {"source.file": given})
    assert "sink-refuses" in said and "at time 1 is an array" in said and "shape [2]" in said, said
    assert not done.left(f"sink.{suffix}").exists() and done.left(f"sink.{suffix}.part").exists()
    said, _ = failure(two("jsonl", kind), JOINED, {"source.file": messages(tmp_path, "text")})
    assert "sink-refuses" in said, said


@pytest.mark.parametrize("kind, suffix", [("hdf5", "h5"), ("netcdf", "nc")])
def test_a_file_that_a_link_leads_to_is_not_written_over(failure, tmp_path, kind, suffix):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f"out.{suffix}.part").symlink_to(tmp_path / "mine")
    said, _ = failure(two("constant", kind), JOINED,
                      {"source.value": 1, "sink.file": str(tmp_path / f"out.{suffix}")})
    assert (f"out.{suffix}.part cannot be written: it is there "
            f"already") in said and "file-not-written" in said, said
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("kind, suffix", [("hdf5", "h5"), ("netcdf", "nc")])
def test_a_small_disk_that_is_full_is_named(ligament, tmp_path, kind, suffix):
    place = tmp_path / "small"
    place.mkdir()
    values = np.ones(20000).tolist()
    (tmp_path / "model.ymmsl").write_text(model(two("constant", kind), JOINED, {
        "source.values": values, "source.step": 1, "source.until": 20,
        "sink.file": str(place / f"out.{suffix}")}))
    script = f"mount -t tmpfs -o size=256k none {place} && {ligament} run {tmp_path}/model.ymmsl --run-dir {tmp_path}/run; " \
             f"echo status $?; ls {place}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                          check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert "status 1" in said and f"out.{suffix}.part cannot be written" in said and "make room" in said, said
    assert f"out.{suffix}\n" not in done.stdout


def test_a_package_that_is_missing_is_named(tmp_path, ligament):
    """A Python with Ligament and without h5py."""
    (tmp_path / "h5py.py").write_text("raise ImportError('No module named h5py')\n")
    (tmp_path / "model.ymmsl").write_text(model(two("constant", "hdf5"), JOINED, {"source.value": 1}))
    done = subprocess.run(["env", f"PYTHONPATH={tmp_path}", ligament, "run", "model.ymmsl", "--run-dir", "run"],
                          cwd=tmp_path,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1 and "python-package-missing" in said, said
    assert "needs the Python package h5py" in said and "-m pip install h5py" in said, said


def test_they_run_under_python_too(tmp_path):
    from ligament import run as run_model

    functions(tmp_path)
    (tmp_path / "model.ymmsl").write_text(model(two("python", "hdf5"), JOINED, {
        "source.function": "functions.py:Count", "source.with": "3"}))
    result = run_model(str(tmp_path / "model.ymmsl"), run_dir=tmp_path / "run", show="nothing")
    assert result.state == "done"
    with h5py.File(tmp_path / "run/light/ligament.python/workdir/sink.h5") as file:
        assert file["data"][:].tolist() == [0, 1, 2]


def test_the_check_knows_their_settings(ligament, tmp_path):
    (tmp_path / "model.ymmsl").write_text(model(two("python", "netcdf"), JOINED, {"sink.dataset": "T"}))
    done = subprocess.run([ligament, "check", "--json", "model.ymmsl"], cwd=tmp_path, capture_output=True,
                          text=True, check=False)
    said = json.loads(done.stdout)
    assert done.returncode == 2 and 'needs the setting "function"' in json.dumps(said).replace('\\"', '"'), said


