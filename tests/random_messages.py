"""Random messages, and whole models through which they go, to hold filters and mappers against NumPy. All
random choices follow from a seed, which a failing test names: `LIGAMENT_SEED=7 pytest …` plays it again."""

import json
import os
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEED = int(os.environ.get("LIGAMENT_SEED", "28"))

# A component that sends the messages of one series; the setting `with` names the series.
SOURCE = """
import pickle
import numpy as np
from ligament import Array, Message

def series(number):
    drawn = __file__.replace("drawn_source.py", "drawn.pickle")
    for time, value, unit in pickle.load(open(drawn, "rb"))[int(number)]:
        yield time, value if unit is None else Array(value, unit=unit)
"""


@dataclass
class Series:
    """Messages of one shape and type: times, values, and the unit of each."""

    times: list
    values: list
    units: list

    def __len__(self):
        return len(self.times)

    @property
    def is_array(self):
        return isinstance(self.values[0], np.ndarray)

    @property
    def shape(self):
        return np.shape(self.values[0])

    @property
    def is_single(self):
        return self.is_array and self.values[0].dtype == np.float32

    def __str__(self):
        shown = zip(self.times, self.values, self.units)
        return "\n".join(f"  {time!r} {getattr(value, 'dtype', '')} {value!r} {unit}"
                         for time, value, unit in shown)


def numbers(dice, shape, kind):
    """Random numbers of a kind: ordinary, wide (of all sizes), large (at the end of the range), or odd (with
    NaN and infinities)."""
    ordinary = dice.normal(size=shape)
    if kind == "wide":
        return ordinary * 10.0 ** dice.uniform(-300, 300, shape)
    if kind == "large":
        return dice.choice([-1.7e308, 1.7e308, 1e300, 1e20, 1.0, -3.0], size=shape)
    if kind == "odd":
        odd = dice.choice([np.nan, np.nan, np.inf, -np.inf], size=shape)
        return np.where(dice.random(shape) < 0.3, odd, ordinary)
    return ordinary


def times(dice, count):
    """Times in ascending order, from 1e-9 to 1e17."""
    step = 10.0 ** dice.integers(-9, 16)
    begin = dice.choice([0.0, 1.0, 7.0]) * step
    return [float(begin + i * step) for i in range(count)]


def series(dice, shape=None, kind=None, dtype=None, units=None, count=None):
    """Random messages. A property that is given is not drawn."""
    if shape is None:
        shape = tuple(int(n) for n in dice.integers(1, 7, size=dice.choice([1, 1, 2, 2, 3])))
    kind = kind or dice.choice(["ordinary", "wide", "large", "odd"])
    dtype = dtype or dice.choice(["float64", "float64", "float64", "float32", "int32", "int64", "uint8"])
    count = count or int(dice.integers(2, 6))
    values = []
    for _ in range(count):
        if np.issubdtype(np.dtype(dtype), np.integer):
            value = dice.integers(0, 120, size=shape).astype(dtype)
        else:
            with np.errstate(over="ignore"):
                value = np.asarray(numbers(dice, shape,
                                           "ordinary" if dtype == "float32" and kind == "large" else kind))
                value = value.astype(dtype)
        value = np.asfortranarray(value) if dice.random() < 0.5 else np.ascontiguousarray(value)
        values.append(value)
    return Series(times(dice, count), values, units or [None] * count)


class Model:
    """A model that is being made: sources of series, and sinks that record their messages. All of it is one
    run."""

    def __init__(self):
        self.components, self.conduits, self.filters, self.settings, self.series = {}, {}, {}, {}, []

    def source(self, one):
        """Returns the port of a source that sends a series."""
        name = f"s{len(self.series)}"
        self.components[name] = "ligament.sources.python"
        self.settings |= {f"{name}.function": "drawn_source.py:series", f"{name}.with": str(len(self.series))}
        self.series.append(one)
        return f"{name}.out"

    def component(self, name, implementation, settings, more=""):
        """Adds a component with settings of its own."""
        self.components[name] = implementation + more
        self.settings |= {f"{name}.{key}": value for key, value in settings.items()}
        return name

    def join(self, sender, receiver, filters=()):
        """Adds a conduit."""
        self.conduits.setdefault(sender, []).append(receiver)
        if filters:
            self.filters[f"{sender} -> {receiver}"] = list(filters)

    def sink(self, sender, filters=()):
        """Adds a sink that receives through filters, and returns its name."""
        name = f"k{sum(what == 'ligament.sinks.jsonl' for what in self.components.values())}"
        self.components[name] = "ligament.sinks.jsonl"
        self.join(sender, f"{name}.in", filters)
        return name

    def text(self):
        lines = ["ymmsl_version: v0.2", "models:", "  drawn:", "    components:"]
        lines += [f"      {name}: {{implementation: {what}}}" for name, what in self.components.items()]
        lines += ["    conduits:", *(f"      {sender}: {json.dumps(to)}"
                                     for sender, to in self.conduits.items())]
        lines += ["settings:", *(f"  {name}: {json.dumps(value)}" for name, value in self.settings.items())]
        if self.filters:
            lines += ["ligament:", "  filters:"]
            lines += [f"    {conduit}: {json.dumps(filters)}" for conduit, filters in self.filters.items()]
        return "\n".join(lines) + "\n"

    def results(self, run, folder):
        """Runs the model. Returns a function that gives the messages of a sink: time, value and unit of
        each."""
        Path(folder, "drawn_source.py").write_text(SOURCE)
        drawn = [list(zip(one.times, one.values, one.units)) for one in self.series]
        Path(folder, "drawn.pickle").write_bytes(pickle.dumps(drawn))
        done = run(self.text())
        assert done.status == 0, f"seed {SEED}: {done.text}"
        files = {path.stem: path for path in (done.directory / "light").rglob("*.jsonl")}
        return lambda name: [came(json.loads(line)) for line in files[name].read_text().splitlines()]


def came(line):
    value, unit = line["data"], None
    if isinstance(value, dict) and "array" in value:
        array = value["array"]
        unit = array.get("unit")
        value = np.array([number(x) for x in array["data"]], array["dtype"]).reshape(array["shape"])
    elif isinstance(value, dict) and set(value) == {"timestamps", "values"}:
        value = {key: came({"timestamp": 0, "data": item})[1] for key, item in value.items()}
    elif isinstance(value, list):
        value = [came({"timestamp": 0, "data": item})[1] for item in value]
    else:
        value = number(value)
    return line["timestamp"], value, unit


def number(value):
    """Reads a number of JSON, where NaN and infinities are texts, by themselves or in a map of one entry."""
    if isinstance(value, dict):
        [value] = value.values()
    return float(value) if isinstance(value, str) else value


def wide(values):
    """The comparison uses a precision in which numbers do not overflow on the way."""
    return np.asarray(values).astype(np.longdouble)


def narrow(values, single=False):
    """The numbers as doubles, or in single precision if they fit."""
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(np.float32 if single else np.float64)


def agree(found, expected, size=None, single=False):
    """Returns true if the numbers are the expected ones: NaN for NaN, infinity for infinity, and all others
    equal up to a few last digits of `size`, the size of the numbers from which they were computed."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return False
    with np.errstate(all="ignore"):
        found, expected = wide(found), wide(expected)
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        largest = np.maximum(np.abs(expected), 0 if size is None else wide(size))
        close = np.abs(found - expected) <= (2e-6 if single else 1e-13) * largest
        # A result at the end of the range may be rounded to infinity.
        limit = wide(np.finfo(np.float32 if single else np.float64).max)
        rounded = (np.abs(expected) >= limit * (1 - 1e-7 if single else 1 - 1e-13)) & (np.abs(found) >= limit)
    return bool(np.all(same | (np.isfinite(expected) & np.isfinite(found) & close) | rounded))
