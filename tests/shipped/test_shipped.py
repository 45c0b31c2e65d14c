"""Sources, sinks and mappers that come with Ligament, each in a whole run with known answers; and runs with
wrong files."""

import csv
import itertools
import math
import json
import os
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest


def model(components, conduits, settings=(), more=""):
    """Returns the text of a model. `components` has the implementation of each component, with further keys
    after a comma."""
    lines = ["ymmsl_version: v0.2", "models:", "  whole:", "    components:"]
    lines += [f"      {name}: {{implementation: {what}}}" for name, what in components.items()]
    lines += ["    conduits:", *(f"      {one}: {other}" for one, other in conduits.items())]
    lines += ["settings:", *(f"  {name}: {json.dumps(value)}"
                             for name, value in dict(settings).items())] if settings else []
    return "\n".join(lines) + "\n" + more


def mapper(name, more=""):
    return f"ligament.mappers.{name}{more}"


class Results:
    """Returns the files of sinks."""

    def __init__(self, ran):
        self.ran = ran
        self.folder = ran.directory / "light" / "ligament.shipped"

    def path(self, name):
        found = [path for path in self.folder.rglob("*") if path.name == name]
        assert len(found) == 1, f"{name}: {sorted(self.folder.rglob('*'))}\n{self.ran.text}"
        return found[0]

    def text(self, name):
        return self.path(name).read_text()

    def lines(self, name):
        return [json.loads(line) for line in self.text(name).splitlines()]

    def data(self, name):
        return [line["data"] for line in self.lines(name)]


@pytest.fixture
def results(run):
    """Runs a model to its end."""

    def results(*parts, **more):
        ran = run(model(*parts, **more))
        assert ran.status == 0, ran.text
        return Results(ran)

    return results


@pytest.fixture
def failure(run):
    """Returns the reason for a run's failure."""

    def failure(*parts, status=1, **more):
        ran = run(model(*parts, **more))
        assert ran.status == status, ran.text
        return " ".join(ran.text.split()), Results(ran)

    return failure


def messages(tmp_path, *data, name="given.jsonl"):
    """A file with these messages, at times 0, 1, 2, …"""
    lines = [json.dumps({"timestamp": float(i), "data": one}) for i, one in enumerate(data)]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return name


def array(values, **more):
    return {"array": {"dtype": "float64", "shape": list(np.shape(values)), "data": np.ravel(values).tolist(),
                      **more}}


def mapped(results, tmp_path, name, given, **settings):
    """Returns the result of a mapper with one input for some messages."""
    components = {"source": "ligament.sources.jsonl", "mapper": mapper(name), "sink": "ligament.sinks.jsonl"}
    conduits = {"source.out": "mapper.in", "mapper.out": "sink.in"}
    own = {f"mapper.{key}": value for key, value in settings.items()}
    return results(components, conduits, {"source.file": messages(tmp_path, *given), **own}).data("sink.jsonl")


# Sources and sinks.

TWO = {"source": "ligament.sources.{}", "sink": "ligament.sinks.{}"}
JOINED = {"source.out": "sink.in"}


def two(source, sink):
    return {"source": f"ligament.sources.{source}", "sink": f"ligament.sinks.{sink}"}


def test_times_have_the_unit_of_the_model_or_none(results, ligament):
    for more, shown in (("", "the last of 0.3\n"), ("ligament: {time_unit: d}\n", "the last of 0.3 d\n")):
        done = results(two("constant", "discard"), JOINED,
                       {"source.value": 1, "source.step": 0.1, "source.until": 0.3}, more=more)  # fmt: skip
        said = subprocess.run([ligament, "status", done.ran.directory], capture_output=True, text=True,
                              timeout=60)
        assert shown in said.stdout, said.stdout + said.stderr


@pytest.mark.parametrize("unit, warns", [("", True), ("time_unit: s, ", True), ("time_unit: d, ", False),
                                         ("time_unit: h, ", True)])
def test_messages_that_step_by_seconds_where_the_scales_say_days_are_told(results, unit, warns):
    more = f"ligament: {{{unit}scales: {{source: {{time_step: 1 d, total_time: 1 yr}}}}}}\n"
    done = results(two("constant", "discard"), JOINED, {"source.value": 1, "source.step": 1, "source.until": 3},
                   more=more)
    log = (done.ran.directory / "manager.log").read_text()
    assert ("messages of source are 1 apart" in log and "time_unit" in log) == warns, log


BEGINNINGS = [0.0, 1e-9, -4.2, 86400.0, 1.7e9, -1.7e9, 1.7e12]
STEPS = [1e-9, 1e-3, 0.1, 0.3, 0.5, 0.6, 0.7, 1.0, 3600.0, 1e12]


def added_up(begin, step, steps):
    """The times of a code that adds up its steps."""
    return [begin, *itertools.accumulate([step] * steps, initial=begin)][1:]


def all_at_once(results, parts):
    """Runs many pairs of a source and a sink at once, and returns the lines of each sink. Each pair has a kind,
    and settings of its source."""
    components, conduits, settings = {}, {}, {}
    for i, (kind, own) in enumerate(parts):
        components |= {f"source{i}": f"ligament.sources.{kind}", f"sink{i}": "ligament.sinks.jsonl"}
        conduits[f"source{i}.out"] = f"sink{i}.in"
        settings |= {f"source{i}.{key}": value for key, value in own.items()}
    done = results(components, conduits, settings)
    return [done.lines(f"sink{i}.jsonl") for i in range(len(parts))]


def test_sources_give_as_many_messages_as_steps_wherever_they_begin(results, tmp_path):
    parts, wanted = [], []
    for begin, step in itertools.product(BEGINNINGS, STEPS):
        if begin + step / 1000 == begin or abs(begin) > 1000 and step < 1e-3:
            continue
        end = float(Fraction(str(begin)) + 20 * Fraction(str(step)))
        middle = float(Fraction(str(begin)) + Fraction("19.5") * Fraction(str(step)))
        # Rows of a code that adds up its steps, beyond the end.
        name = f"{len(parts)}.csv"
        (tmp_path / name).write_text("".join(f"{time!r},{i}\n" for i, time in enumerate(added_up(begin, step,
                                                                                                 30))))
        for until, count in ((end, 21), (middle, 20)):
            parts += [("constant", {"value": 1.0, "begin": begin, "step": step, "until": until}),
                      ("csv", {"file": name, "until": until})]  # fmt: skip
            wanted += [(begin, step, count)] * 2
    for lines, part, (begin, step, count) in zip(all_at_once(results, parts), parts, wanted, strict=True):
        assert len(lines) == count, part
        meant = [float(Fraction(str(begin)) + i * Fraction(str(step))) for i in range(count)]
        slack = max(1e-4 * step, 30 * math.ulp(begin))
        assert [line["timestamp"] for line in lines] == pytest.approx(meant, abs=slack, rel=0), part
        assert [line["next_timestamp"] for line in lines] == [line["timestamp"]
                                                              for line in lines][1:] + [None], part


@pytest.mark.parametrize("between", ["previous", "linear"])
def test_a_table_switches_at_its_own_times_whatever_the_step(results, between):
    steps = [0.1, 0.3, 0.6, 0.7, 1.1, 0.01, 1e-9, 7e5]
    parts = []
    for step in steps:
        times = [float(3 * i * Fraction(str(step))) for i in range(12)]
        parts.append(("time_series", {"times": times, "values": list(range(12)), "step": step,
                                      "between": between}))
    for lines, (_, own) in zip(all_at_once(results, parts), parts, strict=True):
        values = [line["data"] for line in lines]
        wanted = [i // 3 if between == "previous" else i / 3 for i in range(34)]
        assert values == pytest.approx(wanted, abs=1e-9), own
        assert values[::3] == list(range(12)), own
        assert [line["timestamp"] for line in lines[::3]] == own["times"], own


@pytest.mark.parametrize("source, settings", [
    ("constant", {"value": 1, "begin": 1e17, "step": 1, "until": 1e17 + 64}),
    ("constant", {"value": 1, "step": 1, "until": 1e17}),
    ("time_series", {"times": [0, 1e17], "values": [0, 1], "step": 1}),
    ("npy", {"file": "given.npy", "begin": 1e17, "step": 1}),
])  # fmt: skip
def test_a_step_that_does_not_move_the_time_is_an_error(failure, tmp_path, source, settings):
    np.save(tmp_path / "given.npy", np.arange(3.0))
    said, _ = failure(two(source, "discard"), JOINED,
                      {f"source.{key}": value for key, value in settings.items()})
    assert ("1e17 and 1e17 + 1 are the same "
            "number") in said or "1e17 and 1e17 - 1 are the same number" in said, said


@pytest.fixture
def milliseconds(tmp_path):
    (tmp_path / "ms.csv").write_text("".join(f"{1_700_000_000_000 + i},{i}\n" for i in range(3)))
    return 1_700_000_000_000


def test_rows_a_millisecond_apart_since_1970_end_with_the_end(results, milliseconds):
    (lines,) = all_at_once(results, [("csv", {"file": "ms.csv", "until": milliseconds + 1})])
    assert [line["timestamp"] for line in lines] == [milliseconds, milliseconds + 1]


def test_rows_a_millisecond_short_of_the_end_are_an_error(failure, milliseconds):
    settings = {"source.file": "ms.csv", "source.until": milliseconds + 3}
    said, _ = failure(two("csv", "discard"), JOINED, settings)
    assert "the last message is of time 1700000000002" in said, said


def test_a_constant_is_sent_in_steps_into_a_table(results):
    done = results(two("constant", "csv"), JOINED,
                   {"source.values": [1, 2.5], "source.begin": 1, "source.step": 0.1, "source.until": 1.3})
    rows = [line.split(",") for line in done.text("sink.csv").splitlines()]
    assert rows[0] == ["time", "value0", "value1"]
    assert np.array(rows[1:], float) == pytest.approx(np.array([[1 + i / 10, 1, 2.5] for i in range(4)]))


def test_a_single_constant_has_no_next_message(results):
    done = results(two("constant", "jsonl"), JOINED, {"source.value": 3})
    assert done.lines("sink.jsonl") == [{"timestamp": 0.0, "next_timestamp": None, "data": 3.0}]


@pytest.mark.parametrize("between, values", [("linear", [0, 2, 4, 2.5, 1]), ("previous", [0, 0, 4, 4, 1])])
def test_a_time_series_is_looked_up_at_equal_steps(results, between, values):
    done = results(two("time_series", "jsonl"), JOINED,
                   {"source.times": [0, 2, 4], "source.values": [0, 4, 1], "source.step": 1,
                    "source.between": between})
    assert done.data("sink.jsonl") == values
    assert [line["next_timestamp"] for line in done.lines("sink.jsonl")] == [1, 2, 3, 4, None]


def test_a_time_series_may_have_several_values(results):
    done = results(two("time_series", "csv"), JOINED,
                   {"source.times": [0.5, 2], "source.rows": [[1.0, 2.0], [3.0, 4.0]], "sink.columns": "u v"})
    assert done.text("sink.csv") == "time,u,v\n0.5,1.0,2.0\n2.0,3.0,4.0\n"


def test_columns_of_a_table_are_chosen_by_name(results, tmp_path):
    (tmp_path / "in.csv").write_text("# of a station\nrain; t ; wind\n1;0;5\n2;0.5;6\n")
    done = results(two("csv", "jsonl"), JOINED,
                   {"source.file": "in.csv", "source.separator": ";", "source.time": "t",
                    "source.columns": "wind, rain",
                    "source.as": "map"})
    assert [line["timestamp"] for line in done.lines("sink.jsonl")] == [0, 0.5]
    assert done.data("sink.jsonl") == [{"wind": 5, "rain": 1}, {"wind": 6, "rain": 2}]


@pytest.mark.parametrize("holes, expected", [("skip", [[0, 1], [2, 3]]), ("previous", [[0, 1], [1, 1], [2, 3]]),
                                             ("nan", [[0, 1], [1, float("nan")], [2, 3]])])
def test_holes_in_a_table_are_gone_over_if_the_model_says_so(results, tmp_path, holes, expected):
    (tmp_path / "in.csv").write_text("0,1\n1,\n2,3\n")
    done = results(two("csv", "jsonl"), JOINED, {"source.file": "in.csv", "source.holes": holes})
    np.testing.assert_equal([[line["timestamp"], line["data"]] for line in done.lines("sink.jsonl")], expected)


def test_a_table_written_is_a_table_read(results, tmp_path):
    rows = "time,a,b\n0.0,0.1,1e-300\n0.3333333333333333,-2.5,123456789.123\n"
    (tmp_path / "in.csv").write_text(rows)
    done = results(two("csv", "csv"), JOINED, {"source.file": "in.csv", "source.as": "map"})
    assert done.text("sink.csv") == rows


@pytest.mark.parametrize("separator", [",", ";", "tab", "space"])
def test_names_with_separators_come_back_from_a_table(results, tmp_path, separator):
    given = [{"der(x,1)": 0.5, "T; K": 1, 'say "a"': 2.0, "a b": 3}]
    done = results(two("jsonl", "csv"), JOINED, {"source.file": messages(tmp_path, *given),
                                                 "sink.separator": separator})
    with open(done.path("sink.csv"), newline="") as file:
        rows = list(csv.reader(file, delimiter={"tab": "\t", "space": " "}.get(separator, separator)))
    assert dict(zip(*rows, strict=True)) == {"time": "0.0", "der(x,1)": "0.5", "T; K": "1", 'say "a"': "2.0",
                                             "a b": "3"}
    again = results(two("csv", "jsonl"), JOINED, {"source.file": str(done.path("sink.csv")),
                                                  "source.separator": separator,
                                                  "source.as": "map",
                                                  "source.columns": '"T; K", "der(x,1)" "a b"'})
    assert again.data("sink.jsonl") == [{"T; K": 1, "der(x,1)": 0.5, "a b": 3}]


def test_columns_are_found_by_name_in_every_message(results, failure, tmp_path):
    given = [{"a": 1, "b": [2.5, 3]}, {"b": [5, 6], "a": 4}]
    done = results(two("jsonl", "csv"), JOINED, {"source.file": messages(tmp_path, *given)})
    assert done.text("sink.csv") == "time,a,b0,b1\n0.0,1,2.5,3\n1.0,4,5,6\n"
    more = [*given, {"a": 1, "b": [0, 0], "c": 1}]
    done = results(two("jsonl", "csv"), JOINED, {"source.file": messages(tmp_path, *more),
                                                 "sink.columns": "b a"})
    assert done.text("sink.csv") == "time,b0,b1,a\n0.0,2.5,3,1\n1.0,5,6,4\n2.0,0,0,1\n"
    for data, settings, words in [
        (more, {}, ["at time 2", 'the key "c"']), ([given[0], {"a": 1}], {},
                                                   ["at time 1", 'it has no "b"; it has a']),
        ([given[0], {"a": 1, "b": 2}], {}, ["at time 1", '1 values under "b"']),
        ([given[0], [1, 2, 3]], {}, ["at time 1", "a map"]),
        ([[1, 2, 3], given[0]], {}, ["at time 1", "a map"]), ([{"time": 1}], {}, ["at time 0", '"time"']),
        ([{"a": [1, 2], "a1": 3}], {}, ["at time 0", 'two columns "a1"']),
        (given, {"sink.columns": "a, c"}, ["at time 0", 'it has no "c"; it has a, b']),
        ([[1, 2]], {"sink.columns": "a a"}, ["at time 0", 'two columns "a"']),
    ]:
        said, done = failure(two("jsonl", "csv"), JOINED,
                             {"source.file": messages(tmp_path, *data), **settings})
        assert "sink-refuses" in said and not [word for word in words if word not in said], said
        assert not list(done.folder.rglob("sink.csv"))


def test_whole_numbers_keep_their_digits(results, failure, tmp_path):
    large = [2**53 + 1, -(2**63), 2**63 - 1]
    (tmp_path / "in.csv").write_text("t,a,b,c\n" + "".join(f"{t},{large[0]},{large[1]},{large[2]}\n"
                                                           for t in range(2)))
    done = results(two("csv", "csv"), JOINED, {"source.file": "in.csv", "source.dtype": "int64",
                                               "source.as": "map"})
    assert done.text("sink.csv") == "time,a,b,c\n" + "".join(f"{t}.0,{large[0]},{large[1]},{large[2]}\n"
                                                             for t in range(2))
    done = results(two("csv", "npy"), JOINED, {"source.file": "in.csv", "source.dtype": "int64"})
    assert np.load(done.path("sink.npy")).tolist() == [large, large]
    said, _ = failure(two("csv", "npy"), JOINED, {"source.file": "in.csv"})
    assert "in.csv:2: 9007199254740993 has more digits" in said and "dtype: int64" in said, said
    said, _ = failure(two("csv", "npy"), JOINED, {"source.file": "in.csv", "source.dtype": "uint64"})
    assert '"-9223372036854775808" is no uint64' in said, said


def test_numbers_are_read_as_programs_and_spreadsheets_write_them(results, tmp_path):
    (tmp_path / "in.csv").write_bytes("\ufeff# von Hand\r\nt;\"T; K\"\r\n0,5;1,5D+02\r\n1,5;-,25\r\n".encode())
    done = results(two("csv", "jsonl"), JOINED, {"source.file": "in.csv", "source.separator": ";",
                                                 "source.decimal": "comma"})
    assert [(line["timestamp"], line["data"]) for line in done.lines("sink.jsonl")] == [(0.5, 150),
                                                                                        (1.5, -0.25)]


def test_names_that_are_numbers_are_names_if_the_model_says_so(results, tmp_path):
    (tmp_path / "in.csv").write_text("t,2010,2020\n0,1,2\n")
    done = results(two("csv", "jsonl"), JOINED, {"source.file": "in.csv", "source.header": True,
                                                 "source.as": "map"})
    assert done.data("sink.jsonl") == [{"2010": 1, "2020": 2}]


@pytest.mark.parametrize("sink, name", [("csv", "out.csv"), ("jsonl", "out.jsonl"), ("npy", "out.npy"),
                                        ("npy", "out{n}.npy"),
                                        ("vti", "out.vti")])
def test_a_file_that_a_link_leads_to_is_not_written_over(failure, tmp_path, sink, name):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / (name.replace("{n}", "0") + ".part")).symlink_to(tmp_path / "mine")
    said, _ = failure(two("constant", sink), JOINED,
                      {"source.values": [1, 2], "sink.file": str(tmp_path / name)})
    assert ".part cannot be written: it is there already" in said and "file-not-written" in said, said
    assert (tmp_path / "mine").read_text() == "mine"


def test_an_array_file_gives_its_parts_and_takes_them(results, tmp_path):
    field = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    np.save(tmp_path / "field.npy", field)
    done = results(two("npy", "npy"), JOINED, {"source.file": "field.npy", "source.begin": 10,
                                               "source.step": 5})
    came = np.load(done.path("sink.npy"))
    assert came.dtype == np.float32 and np.array_equal(came, field)
    assert np.load(done.path("sink.times.npy")).tolist() == [10, 15, 20, 25]


@pytest.mark.parametrize("order", "CF")
def test_an_array_file_is_one_message_if_asked_for(results, tmp_path, order):
    field = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.int16, order=order)
    np.save(tmp_path / "field.npy", field)
    done = results(two("npy", "npy"), JOINED, {"source.file": "field.npy", "source.whole": True,
                                               "sink.file": "{instance}{n}.npy"})
    came = np.load(done.path("sink0.npy"))
    assert came.dtype == np.int16 and np.array_equal(came, field)


def test_json_lines_are_passed_on_as_they_are(results, tmp_path):
    given = [None, True, -3, 0.5, "text", [1, "two", {"complex": [1.0, -2.0]}], {"a": {"bytes": "AAH/"}},
             array([[1.0, 2.0], [3.0, 4.0]], unit="K", names=["x", "y"])]
    done = results(two("jsonl", "jsonl"), JOINED, {"source.file": messages(tmp_path, *given)})
    assert done.data("sink.jsonl") == given


def test_numbers_that_are_not_finite_stay_numbers_in_json_lines(results, tmp_path):
    odd = [float("nan"), float("inf"), -float("inf")]
    given = [*odd, odd, {"NaN": odd[0], "text": "NaN"}, "NaN", {"complex": [odd[0], 1.0]}, array(odd),
             {"float": "Infinity"}]
    done = results(two("jsonl", "jsonl"), JOINED, {"source.file": messages(tmp_path, *given)})
    came = done.data("sink.jsonl")
    np.testing.assert_equal(came, [*given[:-1], odd[1]])
    done = results(two("jsonl", "npy"), JOINED, {"source.file": messages(tmp_path, *odd)})
    np.testing.assert_equal(np.load(done.path("sink.npy")), odd)


def test_image_data_is_written_for_paraview_and_read_again(results, tmp_path):
    field = np.arange(2 * 4 * 5, dtype=float).reshape(2, 4, 5)
    np.save(tmp_path / "field.npy", field)
    done = results(two("npy", "vti"), JOINED,
                   {"source.file": "field.npy", "sink.array": "T", "sink.spacing": [0.5, 0.25],
                    "sink.origin": [1]})
    second = done.path("sink-1.vti").read_bytes()
    assert b'WholeExtent="0 4 0 3 0 0" Origin="1 0 0" Spacing="0.5 0.25 1"' in second
    assert '<DataSet timestep="1" file="sink-1.vti"/>' in done.text("sink.pvd")
    for i in range(2):
        (tmp_path / f"again-{i}.vti").write_bytes(done.path(f"sink-{i}.vti").read_bytes())
    again = results(two("vti", "npy"), JOINED, {"source.file": "again-{n}.vti", "source.array": "T"})
    assert np.array_equal(np.load(again.path("sink.npy")), field)


def test_the_list_of_image_data_is_where_all_files_are(results, failure, tmp_path):
    np.save(tmp_path / "field.npy", np.zeros((2, 3)))
    done = results(two("npy", "vti"), JOINED, {"source.file": "field.npy", "sink.file": "out/step{n}/T.vti"})
    assert '<DataSet timestep="1" file="step1/T.vti"/>' in done.text("T.pvd")
    assert done.path("T.pvd").parent.name == "out"
    done = results(two("npy", "vti"), JOINED, {"source.file": "field.npy", "sink.file": "{n}.vti"})
    assert done.path("0.vti").parent == done.path("sink.pvd").parent
    said, _ = failure(two("npy", "vti"), JOINED, {"source.file": "field.npy", "sink.file": "T-{n}.pvd"})
    assert "shipped-setting-wrong" in said and "let it end with .vti" in said, said


def test_the_console_is_the_log_of_the_run(results):
    done = results(two("constant", "console"), JOINED, {"source.value": 3, "sink.label": "seen"})
    assert "seen: time 0: 3" in (done.ran.directory / "manager.log").read_text()


def test_what_is_discarded_leaves_nothing(results):
    done = results(two("constant", "discard"), JOINED,
                   {"source.value": 3, "source.step": 1, "source.until": 1000})
    assert not [path for path in done.folder.rglob("*.*") if path.suffix in (".csv", ".npy", ".part")]


def test_sinks_of_a_set_have_files_of_their_own(results, tmp_path):
    components = {"source": "ligament.sources.csv", "spread": mapper("scatter"),
                  "sink": "ligament.sinks.csv, multiplicity: 2"}
    (tmp_path / "in.csv").write_text("0,1,2\n1,3,4\n")
    done = results(components, {"source.out": "spread.in", "spread.out": "sink.in"}, {"source.file": "in.csv"})
    assert done.text("sink[0].csv") == "time,value\n0.0,1.0\n1.0,3.0\n"
    assert done.text("sink[1].csv") == "time,value\n0.0,2.0\n1.0,4.0\n"


def test_an_instance_of_a_set_has_settings_by_its_index_and_each_slot_gets_the_same(results):
    components = {"source": "ligament.sources.constant, multiplicity: 2",
                  "sink": "ligament.sinks.jsonl, multiplicity: 2",
                  "one": "ligament.sources.constant", "each": "ligament.sinks.csv, multiplicity: 2"}
    done = results(components, {"source.out": "sink.in", "one.out": "each.in"},
                   {"source.value": 1, "source[1].value": 2, "one.value": 3, "each.file": "of {instance}.txt"})
    assert [done.data(f"sink[{i}].jsonl") for i in range(2)] == [[1], [2]]
    assert [done.text(f"of each[{i}].txt") for i in range(2)] == ["time,value\n0.0,3.0\n"] * 2


def test_a_pipe_is_written_as_it_is(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        ran = run(model(two("constant", "csv"), JOINED,
                        {"source.value": 1, "sink.file": str(tmp_path / "pipe")}))
        assert ran.status == 0, ran.text
        assert reader.communicate(timeout=60)[0] == "time,value\n0.0,1.0\n"
    assert (tmp_path / "pipe").is_fifo() and not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("sink", ["csv", "npy", "vti"])
def test_numbers_of_two_units_do_not_go_into_one_file(failure, results, tmp_path, sink):
    given = [array([1.0, 2.0], unit="km"), array([3.0, 4.0], unit="m")]
    said, done = failure(two("jsonl", sink), JOINED, {"source.file": messages(tmp_path, *given)})
    assert ('at time 1 has the unit "m", and those before it have the unit '
            '"km"') in said and 'the filter "unit"' in said, said
    said, _ = failure(two("jsonl", sink), JOINED, {"source.file": messages(tmp_path, given[0], 2.0)})
    assert 'at time 1 has no unit, and those before it have the unit "km"' in said, said
    if sink == "csv":
        maps = [{"a": given[0], "b": given[1]}, {"b": given[1], "a": given[0]}]
        results(two("jsonl", sink), JOINED, {"source.file": messages(tmp_path, *maps)})
        said, _ = failure(two("jsonl", sink), JOINED,
                          {"source.file": messages(tmp_path, maps[0], {"a": given[0], "b": given[0]})})
        assert 'has the unit "km", and those before it have the unit "m"' in said, said


def test_arrays_that_a_file_cannot_hold_are_refused(failure, results, tmp_path):
    unequal = messages(tmp_path, array([1.0, 2.0]), array([3.0]))
    said, _ = failure(two("jsonl", "npy"), JOINED, {"source.file": unequal})
    assert "sink-refuses" in said and ("at time 1 is an array of float64 with shape "
                                       "[1]") in said and "{n}" in said, said
    done = results(two("jsonl", "npy"), JOINED, {"source.file": unequal, "sink.file": "{instance}-{n}.npy"})
    assert [np.load(done.path(f"sink-{n}.npy")).tolist() for n in range(2)] == [[1.0, 2.0], [3.0]]
    for wrong, words in [(array(np.zeros((1, 1, 1, 1)).tolist()), "one to three dimensions"),
                         (3, "one to three dimensions"),
                         ("text", "no array and no number")]:
        said, _ = failure(two("jsonl", "vti"), JOINED, {"source.file": messages(tmp_path, wrong)})
        assert "sink-refuses" in said and words in said, said
    done = results(two("jsonl", "vti"), JOINED, {"source.file": messages(tmp_path, array([1.0]), array([2.0])),
                                                 "sink.file": "last.vti"})
    assert np.array([2.0]).tobytes() in done.path("last.vti").read_bytes() and not list(
        done.folder.rglob("*.pvd"))
    said, _ = failure(two("constant", "vti"), JOINED, {"source.values": [1], "sink.array": "\x1b[31m"})
    assert "shipped-setting-wrong" in said and "XML cannot have" in said, said
    said, _ = failure(two("jsonl", "csv"), JOINED, {"source.file": messages(tmp_path, {"complex": [1.0, 2.0]})})
    assert "sink" in said and "complex" in said, said


def test_times_that_are_listed_are_enough_for_all_files(failure, results, tmp_path):
    np.save(tmp_path / "field.npy", np.zeros((2, 3)))
    done = results(two("npy", "vti"), JOINED, {"source.file": "field.npy"})
    file = str(done.path("sink-0.vti")).replace("-0", "-{n}")
    for kind, settings in [("npy", {"source.file": "field.npy"}), ("vti", {"source.file": file})]:
        said, _ = failure(two(kind, "discard"), JOINED, {**settings, "source.times": [0.0]})
        assert "shipped-setting-wrong" in said and '"times" has' in said, said


# Mappers.


def test_duplicate_sends_the_same_to_all_of_a_set(results, tmp_path):
    components = {"source": "ligament.sources.jsonl", "copy": mapper("duplicate"),
                  "sink": "ligament.sinks.jsonl, multiplicity: 3"}
    done = results(components, {"source.out": "copy.in", "copy.out": "sink.in"},
                   {"source.file": messages(tmp_path, {"level": 1.0}, "end")})
    for i in range(3):
        assert done.data(f"sink[{i}].jsonl") == [{"level": 1.0}, "end"]


@pytest.mark.parametrize("form, expected", [
    ("list", [array([[1.0, 2.0]]), array([[3.0, 4.0]])]),
    ("stack", array([[[1.0, 2.0]], [[3.0, 4.0]]])),
    ("join", array([[1.0, 2.0], [3.0, 4.0]])),
])
def test_gather_makes_one_message_of_those_of_a_set(results, tmp_path, form, expected):
    components = {"source": "ligament.sources.jsonl, multiplicity: 2", "all": mapper("gather"),
                  "sink": "ligament.sinks.jsonl"}
    settings = {"all.as": form}
    for i, values in enumerate([[[1.0, 2.0]], [[3.0, 4.0]]]):
        settings[f"source[{i}].file"] = messages(tmp_path, array(values), name=f"{i}.jsonl")
    done = results(components, {"source.out": "all.in", "all.out": "sink.in"}, settings)
    assert done.data("sink.jsonl") == [expected]


def test_what_is_scattered_and_gathered_is_the_same(results, tmp_path):
    field = np.arange(14.0).reshape(7, 2)
    components = {"source": "ligament.sources.jsonl", "spread": mapper("scatter"),
                  "part": mapper("duplicate, multiplicity: 3"), "all": mapper("gather"),
                  "sink": "ligament.sinks.jsonl"}
    conduits = {"source.out": "spread.in", "spread.out": "part.in", "part.out": "all.in", "all.out": "sink.in"}
    done = results(components, conduits, {"source.file": messages(tmp_path, array(field)), "all.as": "join"})
    assert done.data("sink.jsonl") == [array(field)]


@pytest.mark.parametrize("form, expected", [
    ("map", {"one": [1.0, 6.0], "two": [5.0, 2.0]}), ("sum", [6.0, 8.0]), ("mean", [3.0, 4.0]),
    ("min", [1.0, 2.0]),
    ("max", [5.0, 6.0]), ("product", [5.0, 12.0]),
])
def test_combine_joins_any_ports(results, tmp_path, form, expected):
    components = {"a": "ligament.sources.jsonl", "b": "ligament.sources.jsonl", "both": mapper("combine"),
                  "sink": "ligament.sinks.jsonl"}
    conduits = {"a.out": "both.one", "b.out": "both.two", "both.out": "sink.in"}
    files = {"a.file": messages(tmp_path, [1.0, 6.0], name="a.jsonl"),
             "b.file": messages(tmp_path, [5.0, 2.0], name="b.jsonl")}
    done = results(components, conduits, {**files, "both.as": form})
    assert done.data("sink.jsonl") == [expected]


def test_a_port_with_one_slot_gives_a_list_of_one(results, tmp_path):
    components = {"a": "ligament.sources.jsonl, multiplicity: 1", "both": mapper("combine"),
                  "sink": "ligament.sinks.jsonl"}
    done = results(components, {"a.out": "both.one", "both.out": "sink.in"}, {"a.file": messages(tmp_path, 5)})
    assert done.data("sink.jsonl") == [{"one": [5]}]


def test_whole_numbers_of_a_set_are_gathered(results, tmp_path):
    components = {"a": "ligament.sources.jsonl, multiplicity: 2", "all": mapper("gather"),
                  "sink": "ligament.sinks.jsonl"}
    done = results(components, {"a.out": "all.in", "all.out": "sink.in"},
                   {"a.file": messages(tmp_path, 5), "all.as": "stack"})
    assert done.data("sink.jsonl") == [{"array": {"dtype": "int64", "shape": [2], "data": [5, 5]}}]


def test_difference_takes_one_from_the_other(results, tmp_path):
    components = {"one": "ligament.sources.jsonl", "other": "ligament.sources.jsonl",
                  "less": mapper("difference"),
                  "sink": "ligament.sinks.jsonl"}
    conduits = {"one.out": "less.a", "other.out": "less.b", "less.out": "sink.in"}
    files = {"one.file": messages(tmp_path, array([3.0, 1.0]), name="a.jsonl"),
             "other.file": messages(tmp_path, array([1.0, 4.0]), name="b.jsonl")}
    assert results(components, conduits, files).data("sink.jsonl") == [array([2.0, -3.0])]


def test_regrid_is_exact_for_linear_fields_and_keeps_integrals(results, tmp_path):
    field = np.add.outer(np.arange(4) + 0.5, 10 * (np.arange(6) + 0.5))
    [made] = mapped(results, tmp_path, "regrid", [array(field)], shape=[8, 3])
    expected = np.add.outer(np.arange(8) / 2 + 0.25, 10 * (2 * np.arange(3) + 1.0))
    assert np.reshape(made["array"]["data"], (8, 3)) == pytest.approx(expected, rel=1e-14)
    uneven = np.random.default_rng(1).random((4, 6))
    [made] = mapped(results, tmp_path, "regrid", [array(uneven)], shape=[3, 5], method="conservative")
    assert np.sum(made["array"]["data"]) / 15 == pytest.approx(uneven.mean(), rel=1e-14)


def mesh(tmp_path):
    """A square of triangles, points in it, and a linear function."""
    n = 5
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    points = np.column_stack([x.ravel(), y.ravel()])
    corner = np.arange(n * n).reshape(n, n)[:-1, :-1].ravel()
    cells = np.concatenate([np.column_stack([corner, corner + 1, corner + n + 1]),
                            np.column_stack([corner, corner + n + 1, corner + n])])
    others = np.random.default_rng(2).random((40, 2))
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "cells.npy", cells)
    (tmp_path / "others.csv").write_text("x,y\n" + "".join(f"{a!r},{b!r}\n" for a, b in others.tolist()))
    return points, others


def test_between_meshes_linear_functions_stay_and_sums_are_kept(results, tmp_path):
    points, others = mesh(tmp_path)
    values = 1 + points @ [2.0, -3.0]
    [made] = mapped(results, tmp_path, "mesh", [array(values)], cells="cells.npy", method="linear",
                    **{"from": "points.npy", "to": "others.csv"})
    assert made["array"]["data"] == pytest.approx(1 + others @ [2.0, -3.0], rel=1e-14)
    forces = np.random.default_rng(3).random((40, 2))
    for method in ("linear", "nearest"):
        [made] = mapped(results, tmp_path, "mesh", [array(forces)], cells="cells.npy", method=method,
                        constraint="conservative", **{"from": "others.csv", "to": "points.npy"})
        there = np.reshape(made["array"]["data"], (25, 2))
        assert there.sum(axis=0) == pytest.approx(forces.sum(axis=0), rel=1e-13)


@pytest.mark.parametrize("text, words", [
    ("x,y\n0,1\n1,\n", ["others.csv:3", '"" is no number']),
    ("x;y\n0;1,5\n", ["others.csv:2", '"1,5" is no number']),
    ("0,1.o\n1,2\n", ["others.csv:1", '"1.o" is no number']),
    ("0.o\n1\n", ["others.csv:1", '"0.o" is no number']),
    ("x\n0\n0.5\n", ["points.npy have coordinates in 2 columns", "others.csv in 1"]),
    ("0 1\n1 0.5", ["others.csv:2", "ends within this row"]),
])
def test_a_mesh_that_is_written_wrongly_is_named(failure, tmp_path, text, words):
    mesh(tmp_path)
    (tmp_path / "others.csv").write_text(text)
    components = {"source": "ligament.sources.constant", "mapper": mapper("mesh"),
                  "sink": "ligament.sinks.discard"}
    said, _ = failure(components, {"source.out": "mapper.in", "mapper.out": "sink.in"},
                      {"source.values": [1.0] * 25, "mapper.from": "points.npy", "mapper.to": "others.csv"})
    assert not [word for word in words if word not in said], said


def test_between_meshes_the_nearest_value_is_taken(results, tmp_path):
    points, others = mesh(tmp_path)
    [made] = mapped(results, tmp_path, "mesh", [array(np.arange(25.0))],
                    **{"from": "points.npy", "to": "others.csv"})
    nearest = ((others[:, None] - points[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert made["array"]["data"] == nearest.tolist()


def nan_as_numbers(data):
    return np.array([float(x) for x in data])


def test_masked_values_are_left_out_or_filled_if_the_model_says_so_and_counted_if_not(results, tmp_path):
    np.save(tmp_path / "from.npy", np.array([[0.0], [0.9], [2], [4]]))
    np.save(tmp_path / "to.npy", np.array([[0.25], [0.75], [2], [9]]))
    np.save(tmp_path / "cells.npy", np.array([[0, 1], [1, 2], [2, 3]]))
    np.save(tmp_path / "values.npy", np.array([[3.0, np.nan, 5, 7]] * 2))
    files = {"from": "from.npy", "to": "to.npy"}
    linear = {**files, "method": "linear", "cells": "cells.npy"}
    nan = np.nan
    # The masked point at 0.9 is nearest to the one at 0.
    cases = {
        "lin": ("mesh", linear, [nan, nan, 5, 7]), "lin_skip": ("mesh", {**linear, "masked": "skip"},
                                                                [3, 3, 5, 7]),
        "lin_near": ("mesh", {**linear, "masked": "nearest"}, [3, 3, 5, 7]),
        "near": ("mesh", files, [3, nan, 5, 7]), "near_skip": ("mesh", {**files, "masked": "skip"},
                                                               [3, nan, 5, 7]),
        "near_near": ("mesh", {**files, "masked": "nearest"}, [3, 3, 5, 7]),
        # The value at the point 4 goes to those at 2 and 9, between which it lies.
        "con_skip": ("mesh", {**linear, "constraint": "conservative", "masked": "skip"},
                     [3, 0, 5 + 7 * 5 / 7, 7 * 2 / 7]),
        "reg": ("regrid", {"shape": [2], "method": "conservative"}, [nan, 6]),
        "reg_skip": ("regrid", {"shape": [2], "method": "conservative", "masked": "skip"}, [3, 6]),
        "reg_near": ("regrid", {"shape": [2], "method": "conservative", "masked": "nearest"}, [3, 6]),
        "fine": ("regrid", {"shape": [8]}, [nan, nan, nan, nan, nan, 5.5, 6.5, 7.5]),
        "fine_skip": ("regrid", {"shape": [8], "masked": "skip"}, [3, 3, 3, 5, 5, 5.5, 6.5, 7.5]),
    }
    components = {"a": "ligament.sources.npy"}
    conduits, settings = {"a.out": json.dumps([f"{name}.in" for name in cases])}, {"a.file": "values.npy"}
    for name, (kind, own, _) in cases.items():
        components |= {name: mapper(kind), f"{name}_sink": "ligament.sinks.jsonl"}
        conduits[f"{name}.out"] = f"{name}_sink.in"
        settings |= {f"{name}.{key}": value for key, value in own.items()}
    done = results(components, conduits, settings)
    for name, (*_, expected) in cases.items():
        one, two = done.data(f"{name}_sink.jsonl")
        assert one == two
        assert nan_as_numbers(one["array"]["data"]) == pytest.approx(expected, nan_ok=True, rel=1e-14), name
    log = (done.ran.directory / "manager.log").read_text()
    said = [line for line in log.splitlines() if "1 of the 4 values at time 0 are NaN" in line]
    # Each mapper that keeps values writes once, and not again for the second message.
    kept = [name for name, (_, own, _) in cases.items() if "masked" not in own]
    assert len(said) == len(kept) and all(any(f"{name}: 1 of" in line for line in said) for name in kept), log


def test_filling_masked_values_of_a_conservative_mapping_is_refused(failure, tmp_path):
    mesh(tmp_path)
    components = {"source": "ligament.sources.constant", "mapper": mapper("mesh"),
                  "sink": "ligament.sinks.discard"}
    conduits = {"source.out": "mapper.in", "mapper.out": "sink.in"}
    settings = {"source.values": [1.0] * 25, "mapper.from": "points.npy", "mapper.to": "others.csv",
                "mapper.constraint": "conservative", "mapper.masked": "nearest"}
    assert '"masked: skip" leaves masked values out' in failure(components, conduits, settings)[0]


RADIAL = {"mapper.method": "radial", "mapper.function": "compact-polynomial-c6", "mapper.support_radius": 2.0}


@pytest.mark.parametrize("settings, text", [
    ({"mapper.method": "radial"}, '"method: radial" needs "function"'),
    ({"mapper.function": "gaussian"}, '"function" has no effect with "method: nearest"'),
    ({"mapper.support_radius": 1.0}, '"support_radius" has no effect with "method: nearest"'),
    (RADIAL | {"mapper.support_radius": -1.0}, '"support_radius" is -1'),
    (RADIAL | {"mapper.shape_parameter": 1.0}, '"function: compact-polynomial-c6" needs "support_radius"'),
    (RADIAL | {"mapper.function": "thin-plate-splines"}, "has no radius and no shape"),
    (RADIAL | {"mapper.function": "multiquadrics"}, 'needs "shape_parameter"'),
    (RADIAL | {"mapper.function": "gaussian", "mapper.shape_parameter": 1.0}, "needs either"),
    (RADIAL | {"mapper.masked": "skip"}, '"masked: skip" cannot be had'),
    (RADIAL | {"mapper.constraint": "conservative", "mapper.polynomial": "off"}, "does not keep the sum"),
    (RADIAL | {"mapper.from": "twice.csv"}, "points 0 and 2 are both at"),
    (RADIAL | {"mapper.to": "away.csv"}, "within the support radius 2"),
])
def test_radial_functions_that_cannot_be_are_refused(failure, tmp_path, settings, text):
    mesh(tmp_path)
    (tmp_path / "twice.csv").write_text("0.0 0.0\n1.0 0.0\n0.0 0.0\n")
    (tmp_path / "away.csv").write_text("50.0 0.0\n60.0 0.0\n")
    components = {"source": "ligament.sources.constant", "mapper": mapper("mesh"),
                  "sink": "ligament.sinks.discard"}
    conduits = {"source.out": "mapper.in", "mapper.out": "sink.in"}
    files = {"source.values": [1.0] * 25, "mapper.from": "points.npy", "mapper.to": "others.csv"}
    said = failure(components, conduits, files | settings)
    assert text in " ".join(said[0].split()), said


def test_a_masked_value_is_filled_before_radial_functions_or_masks_all(results, tmp_path):
    mesh(tmp_path)
    points = np.load(tmp_path / "points.npy")
    values = np.where(np.arange(len(points)) == 7, np.nan, 3.0)
    components = {"source": "ligament.sources.jsonl", "mapper": mapper("mesh"), "filled": mapper("mesh"),
                  "sink": "ligament.sinks.jsonl", "other": "ligament.sinks.jsonl"}
    conduits = {"source.out": ["mapper.in", "filled.in"], "mapper.out": "sink.in", "filled.out": "other.in"}
    files = {"mapper.from": "points.npy", "mapper.to": "others.csv"}
    both = {name.replace("mapper", one): value for name, value in (files | RADIAL).items()
            for one in ("mapper", "filled")}
    done = results(components, conduits, both | {"filled.masked": "nearest", "other.file": "other.jsonl",
                                                 "source.file": messages(tmp_path, array(values))})
    assert np.isnan(np.array(done.data("sink.jsonl")[0]["array"]["data"], dtype=float)).all()
    found = np.array(done.data("other.jsonl")[0]["array"]["data"], dtype=float)
    np.testing.assert_allclose(found, 3.0, atol=1e-9)


def test_parts_of_an_array_have_its_unit_and_the_names_of_its_axes(results, tmp_path):
    given = array(np.arange(6.0).reshape(3, 2), unit="m", names=["y", "x"])
    components = {"source": "ligament.sources.jsonl", "spread": mapper("scatter"),
                  "part": mapper("duplicate, multiplicity: 2"), "all": mapper("gather"),
                  "sink": "ligament.sinks.jsonl"}
    conduits = {"source.out": "spread.in", "spread.out": "part.in", "part.out": "all.in", "all.out": "sink.in"}
    done = results(components, conduits, {"source.file": messages(tmp_path, given), "all.as": "join"})
    assert done.data("sink.jsonl") == [given]


# Submodels and mappers together, all of them in one process.

DECAY = """
instance = Instance({Operator.F_INIT: ["start"], Operator.S: ["rain"], Operator.O_I: ["level"],
                     Operator.O_F: ["end"]})
while instance.reuse_instance():
    start = instance.receive("start")
    level = start.data
    while True:
        try:
            rain = instance.receive("rain")
        except ClosedError:
            break
        level = level / 2 + rain.data
        instance.send("level", Message(rain.timestamp, rain.next_timestamp, level))
    instance.send("end", Message(start.timestamp, data=level))
"""
PORTS = "{f_init: start, o_i: level, s: rain, o_f: end}"


def tank(tmp_path, python_program):
    (tmp_path / "rain.csv").write_text("t,mm\n0,1\n1,2\n2,4\n")
    components = {"begin": "ligament.sources.constant", "rain": "ligament.sources.csv",
                  "tank": f"tank, ports: {PORTS}",
                  "levels": "ligament.sinks.csv", "end": "ligament.sinks.jsonl"}
    conduits = {"begin.out": "tank.start", "rain.out": "tank.rain", "tank.level": "levels.in",
                "tank.end": "end.in"}
    program = f"programs:\n  tank: {python_program('tank', DECAY)}\n"
    return components, conduits, {"begin.value": 8, "rain.file": "rain.csv"}, program


def test_a_submodel_lives_between_sources_and_sinks(results, tmp_path, python_program):
    components, conduits, settings, program = tank(tmp_path, python_program)
    done = results(components, conduits, settings, more=program)
    assert done.text("levels.csv") == "time,value\n0.0,5.0\n1.0,4.5\n2.0,6.25\n"
    assert done.data("end.jsonl") == [6.25]


def test_all_shipped_components_share_one_process_that_is_not_the_agent(results, tmp_path, python_program):
    components, conduits, settings, program = tank(tmp_path, python_program)
    done = results(components, conduits, settings, more=program)
    assert (done.folder / "instances").read_text().split() == ["begin", "rain", "levels", "end"]
    record = json.loads((done.ran.directory / "run.json").read_text())
    pids = {one["name"]: one.get("pid") for one in record["instances"]}
    shipped = {pid for name, pid in pids.items() if name != "tank" and pid is not None}
    assert len(shipped) <= 1 and pids["tank"] not in shipped


def test_shipped_components_run_under_python_too(tmp_path, python_program):
    from ligament import run as run_model

    components, conduits, settings, program = tank(tmp_path, python_program)
    file = tmp_path / "model.ymmsl"
    file.write_text(model(components, conduits, settings, program))
    result = run_model(str(file), run_dir=tmp_path / "under_python", show="nothing")
    assert result.state == "done"
    assert len(list((tmp_path / "under_python").rglob("levels.csv"))) == 1


# The error names the mistake.

WRONG_TABLES = {
    "malformed": ("0,1\n1,two\n", {}, ["in.csv:2", '"two" is no number']),
    "a hole": ("t,v\n0,1\n1,\n", {}, ["in.csv:3", 'the value of "v" is missing']),
    "a typo in the first row": ("0,1.o\n1,2\n", {}, ["in.csv:1", "the number 0", '"1.o"', "header: true"]),
    "a cut number": ("t,v\n0,1\n1,2.5", {}, ["in.csv:3", "ends within this row", "source-ends-early"]),
    "a cut quote": ('t,"v\n0,1\n', {}, ["in.csv:1", "a quote in this row does not end"]),
    "a quote with something behind it": ('t,v\n0,"1"5\n', {}, ["in.csv:2", "a quote"]),
    "a decimal comma": ("t;v\n0;1,5\n", {"source.separator": ";"},
                        ["in.csv:2", '"1,5" is no number', "decimal: comma"]),
    "a point among decimal commas": ("t;v\n0;1.5\n", {"source.separator": ";", "source.decimal": "comma"},
                                     ['"1.5" is no number']),
    "one name twice": ("t,v,v\n0,1,2\n", {"source.as": "map"}, ["in.csv:1", 'several columns "v"']),
    "a key of a map twice": ("t,a\n0,1\n", {"source.columns": "a a", "source.as": "map"},
                             ['"columns" names "a" twice']),
    "times with too many digits": ("t,v\n1700000000000000001,1\n", {},
                                   ["in.csv:2", "1700000000000000001 has more digits"]),
    "a date": ("t,v\n2020-01,1\n", {}, ["in.csv:2", '"2020-01" is no number']),
    "NaN of C": ("t,v\n0,-nan\n", {}, ["in.csv:2", 'the value of "v" is missing']),
    "a separator of two characters": ("0,1\n", {"source.separator": ", "},
                                      ['separator ", "', "shipped-setting-wrong"]),
    "a row too short": ("0,1,2\n1,3\n", {}, ["in.csv:2", "2 cells", "3"]),
    "times that go back": ("1,1\n0,2\n", {}, ["in.csv:2", "earlier"]),
    "no such column": ("t,v\n0,1\n", {"source.columns": "w"}, ["in.csv:1", 'no column "w"']),
    "the end comes early": ("0,1\n1,2\n", {"source.until": 5}, ["in.csv:2", "source-ends-early"]),
    "nothing": ("", {}, ["in.csv", "there is no message"]),
    "no file": (None, {}, ["in.csv cannot be read", "source-unreadable"]),
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_a_table_that_is_wrong_ends_the_run_with_component_file_and_line(failure, tmp_path, case):
    text, settings, words = WRONG_TABLES[case]
    if text is not None:
        (tmp_path / "in.csv").write_text(text)
    said, done = failure(two("csv", "csv"), JOINED, {"source.file": "in.csv", **settings})
    for word in ["source", *words]:
        assert word in said, said
    assert not list(done.folder.rglob("sink.csv"))


def test_inputs_that_are_staged_come_before_those_beside_the_model(run, tmp_path):
    (tmp_path / "in.csv").write_text("0,1\n")
    (tmp_path / "other.csv").write_text("0,2\n")
    ran = run(model(two("csv", "csv"), JOINED, {"source.file": "in.csv"},
                    more="ligament:\n  stage: {source: {in.csv: other.csv}}\n"))
    assert ran.status == 0, ran.text
    assert Results(ran).text("sink.csv") == "time,value\n0.0,2.0\n"


@pytest.mark.parametrize("kind, name, content, words", [
    ("jsonl", "in.jsonl", b'{"timestamp": 0, "data": 1}\n{"timestamp": 1, "da', ["in.jsonl:2", "ends early"]),
    ("jsonl", "in.jsonl", b'{"timestamp": 0, "data": {"array": {"data": [[1], [2, 3]]}}}',
     ["in.jsonl:1", "equally long"]),
    ("npy", "in.npy", b"PK\x03\x04something", ["in.npy", "x93NUMPY"]),
    ("vti", "in.vti", b"<VTKFile type='PolyData'>\n</VTKFile>", ["in.vti:1", "no VTK image data"]),
])
def test_files_that_are_malformed_are_named(failure, tmp_path, kind, name, content, words):
    (tmp_path / name).write_bytes(content)
    said, _ = failure(two(kind, "discard"), JOINED, {"source.file": name})
    for word in ["source", *words]:
        assert word in said, said


def test_what_has_no_end_is_no_source_of_image_data(failure):
    said, _ = failure(two("vti", "discard"), JOINED, {"source.file": "/dev/zero"})
    assert "source-unreadable" in said and "/dev/zero cannot be read: it is no regular file" in said, said


def test_an_array_file_that_is_cut_is_named(failure, tmp_path):
    np.save(tmp_path / "whole.npy", np.zeros((10, 10)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:-8])
    said, _ = failure(two("npy", "discard"), JOINED, {"source.file": "cut.npy"})
    assert "cut.npy ends early" in said and "800 bytes" in said and "792" in said, said


@pytest.mark.parametrize("kind", ["csv", "jsonl", "npy"])
def test_a_full_device_is_named_and_not_replaced(failure, kind):
    # These few messages are written when the sink is closed, so the error must be noticed then.
    said, _ = failure(two("constant", kind), JOINED,
                      {"source.value": 1, "source.step": 1, "source.until": 3, "sink.file": "/dev/full"})
    assert ("sink reported an error: /dev/full cannot be written: No space "
            "left") in said and "make room" in said, said
    assert Path("/dev/full").is_char_device()


def test_a_small_disk_that_is_full_is_named(run, ligament, tmp_path):
    (tmp_path / "model.ymmsl").write_text(model(two("constant", "csv"), JOINED, {
        "source.value": 1, "source.step": 1, "source.until": 100000,
        "sink.file": str(tmp_path / "small" / "out.csv")}))
    (tmp_path / "small").mkdir()
    script = f"mount -t tmpfs -o size=64k none {tmp_path}/small && {ligament} run {tmp_path}/model.ymmsl --run-dir {tmp_path}/run; " \
             f"echo status $?; ls {tmp_path}/small"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                          check=False)
    said = " ".join((done.stdout + done.stderr).split())
    assert "status 1" in said and "No space left on device" in said and "make room" in said, said
    assert said.endswith("out.csv.part") or "out.csv.part" in done.stdout and "out.csv\n" not in done.stdout


def test_a_run_that_is_killed_leaves_no_half_file(ligament, tmp_path):
    (tmp_path / "model.ymmsl").write_text(model(two("constant", "csv"), JOINED, {
        "source.value": 1, "source.step": 1, "source.until": 1e12}))
    process = subprocess.Popen([ligament, "run", "model.ymmsl", "--run-dir", "run"], cwd=tmp_path,
                               stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        while not [path for path in tmp_path.rglob("sink.csv.part") if path.stat().st_size > 0]:
            assert process.poll() is None, process.stdout.read()
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert not list(tmp_path.rglob("sink.csv"))


def test_shapes_that_do_not_go_together_are_named(failure, tmp_path):
    components = {"one": "ligament.sources.jsonl", "other": "ligament.sources.jsonl",
                  "less": mapper("difference"),
                  "sink": "ligament.sinks.discard"}
    conduits = {"one.out": "less.a", "other.out": "less.b", "less.out": "sink.in"}
    files = {"one.file": messages(tmp_path, [1.0], name="a.jsonl"),
             "other.file": messages(tmp_path, [1.0, 2.0], name="b.jsonl")}
    said, _ = failure(components, conduits, files)
    assert ("less: one has numbers with shape [2], and the other numbers with shape "
            "[1]") in said and "cannot-map" in said, said


def test_a_mesh_that_does_not_fit_is_named(failure, tmp_path):
    mesh(tmp_path)
    components = {"source": "ligament.sources.constant", "mapper": mapper("mesh"),
                  "sink": "ligament.sinks.discard"}
    conduits = {"source.out": "mapper.in", "mapper.out": "sink.in"}
    settings = {"source.values": [1, 2], "mapper.from": "points.npy", "mapper.to": "others.csv"}
    assert "25 points" in failure(components, conduits, settings)[0]
    (tmp_path / "bad.csv").write_text("0,1,6\n0,1,99\n")
    said, _ = failure(components, conduits, {**settings, "mapper.cells": "bad.csv", "mapper.method": "linear"})
    assert "bad-mesh" in said and "corner 99" in said and "mapper" in said, said


# The findings of the check.

@pytest.mark.parametrize("components, conduits, settings, words", [
    (two("cvs", "csv"), JOINED, {}, ["unknown-implementation", 'did you mean "ligament.sources.csv"?']),
    (two("csv", "csv"), JOINED, {}, ["shipped-setting",
                                     '"source" (ligament.sources.csv) needs the setting "file"']),
    (two("csv", "csv"), JOINED, {"source.file": "a", "source.holes": "skp"},
     ["shipped-setting", 'did you mean "skip"?']),
    (two("csv", "csv"), JOINED, {"source.file": 3}, ["setting-type"]),
    (two("constant", "csv"), {"source.outs": "sink.in"}, {"source.value": 1}, ["outs"]),
])
def test_the_check_knows_their_ports_and_settings(failure, components, conduits, settings, words):
    said, _ = failure(components, conduits, settings, status=2)
    for word in words:
        assert word in said, said


def test_the_check_of_a_model_of_shipped_components_says_nothing(ligament, tmp_path):
    file = tmp_path / "model.ymmsl"
    file.write_text(model(two("constant", "csv"), JOINED, {"source.value": 1, "source.begin": 0}))
    done = subprocess.run([ligament, "check", file], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and "warning" not in done.stdout + done.stderr, done.stdout + done.stderr
