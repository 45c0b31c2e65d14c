"""The files of sinks, read again bit by bit by their sources, NumPy and pandas: drawn shapes, orders, types,
units, names, numbers that are not finite, and times from 1e-9 to 1e17. All cases of a seed are two runs: one
writes all files, one reads them."""

import json
import os
import pickle
import re
import xml.etree.ElementTree as ElementTree

import h5py
import netCDF4
import numpy as np
import pandas
import pytest
from test_shipped import model

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
# The types and shapes that each format can hold.
TYPES = {"csv": [bool, *INTEGERS, *FLOATS], "npy": [bool, *INTEGERS, *FLOATS, *COMPLEX],
         "vti": [bool, *INTEGERS, *FLOATS],
         "hdf5": [bool, *INTEGERS, *FLOATS, *COMPLEX], "netcdf": [*INTEGERS, *FLOATS],
         "jsonl": [bool, *INTEGERS, *FLOATS, *COMPLEX]}
SUFFIX = {"csv": "csv", "npy": "npy", "vti": "vti", "hdf5": "h5", "netcdf": "nc", "jsonl": "jsonl"}
PYTHONS = ("hdf5", "netcdf")
CASES = 8
SEEDS = [28, 2026] if "LIGAMENT_SERIES" in os.environ else [28]  # `make test-all` has both

# The two ends of all runs: the code that sends the messages, and the code that receives them again.
ENDS = """
import pickle
import numpy as np
from ligament import Array, Message

def lent(data):
    match data:
        case ("array", array, unit, names):
            return Array(array, names or None, unit) if unit or names else array
        case list():
            return [lent(one) for one in data]
        case dict():
            return {key: lent(one) for key, one in data.items()}
    return data

def give(name):
    for timestamp, data in pickle.load(open(f"{name}.given", "rb")):
        yield timestamp, lent(data)

def kept(data):
    match data:
        case Array():
            return "array", np.array(data.array), data.unit, list(data.names or [])
        case np.ndarray():
            return "array", np.array(data), None, []
        case list():
            return [kept(one) for one in data]
        case dict():
            return {key: kept(one) for key, one in data.items()}
    return data

class Take:
    def __init__(self, name):
        self.name, self.taken = name, []

    def __call__(self, message):
        self.taken.append((message.timestamp, message.next_timestamp, kept(message.data)))

    def finish(self):
        pickle.dump(self.taken, open(f"{self.name}.taken", "wb"))
"""


def draw_numbers(rng, dtype, shape):
    """Random numbers of a type, including its first and last ones, and numbers that are not finite."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "c":
        real = np.zeros(0, dtype).real.dtype
        parts = np.stack([draw_numbers(rng, real, shape), draw_numbers(rng, real, shape)], axis=-1)
        return np.ascontiguousarray(parts).view(dtype)[..., 0]
    if dtype.kind in "iu":
        first, last = np.iinfo(dtype).min, np.iinfo(dtype).max
        drawn = rng.integers(first, last, shape, dtype=dtype, endpoint=True)
        odd = np.array([first, last, 0, last - 1], dtype)
    else:
        info = np.finfo(dtype)
        drawn = (rng.choice([-1.0, 1.0], shape) * 10.0 ** rng.uniform(-37, 38,
                                                                      shape) * rng.random(shape)).astype(dtype)
        odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.1, info.max, info.smallest_subnormal, 2.0**53, 1e17,
                        -1e-9], dtype)
    return np.where(rng.random(shape) < 0.3, rng.choice(odd, shape), drawn)


def draw_times(rng):
    """A few times that rise."""
    first = 10.0 ** rng.uniform(-9, 17)
    return np.unique(first + first * 10.0 ** rng.uniform(-9, 1) * np.arange(rng.integers(1, 5))).tolist()


def draw_shape(rng, least=0, smallest=1):
    return tuple(rng.integers(smallest, 5, rng.integers(least, 4)).tolist())


def draw_array(rng, dtype, shape, unit=None, names=()):
    order = rng.choice(["C", "F"])
    return "array", np.array(draw_numbers(rng, dtype, shape), order=order), unit, list(names)


def draw_key(rng, number):
    """A name with special characters."""
    return f"{number}" + "".join(rng.choice(list("ab,;\"'(#|\t\nä <&NaN"), 4)) + "."


def draw_value(rng, depth=0):
    """Any value that a message can hold."""
    kinds = ["none", "bool", "int", "uint", "float", "complex", "text", "bytes", "array", "list", "map"]
    kind = rng.choice(kinds if depth < 2 else kinds[:-2])
    match kind:
        case "none":
            return None
        case "bool":
            return bool(rng.integers(2))
        case "int":
            return int(draw_numbers(rng, np.int64, ()))
        case "uint":
            return 2**63 + int(rng.integers(0, 2**62))
        case "float":
            return float(draw_numbers(rng, float, ()))
        case "complex":
            return complex(draw_numbers(rng, complex, ()))
        case "text":
            return str(rng.choice(["", "NaN", "-Infinity", 'a "NaN" \\', "\u202eä\n", "null"]))
        case "bytes":
            return rng.bytes(rng.integers(0, 5))
        case "array":
            shape = draw_shape(rng, 1)
            names = [f"axis {at}" for at in range(len(shape))] if rng.random() < 0.5 else []
            return draw_array(rng, rng.choice(TYPES["jsonl"]), shape, rng.choice([None, "K", 'km"']), names)
        case "list":
            return [draw_value(rng, depth + 1) for _ in range(rng.integers(0, 3))]
        case "map":
            keys = rng.choice(["float", "array", "uint", "NaN", "a b", ""], rng.integers(0, 4), replace=False)
            return {str(key): draw_value(rng, depth + 1) for key in keys}


class Case:
    """Messages for a sink, and its further settings."""

    def __init__(self, rng, kind, number):
        self.kind, self.name = kind, f"{kind}{number}"
        self.times = draw_times(rng)
        self.dtype = np.dtype(rng.choice(TYPES[kind]))
        self.sink, self.source = {}, {}
        self.unit = None if kind == "jsonl" else rng.choice([None, "K"])
        getattr(self, f"draw_{kind}", self.draw_equal)(rng)
        self.messages = list(zip(self.times, self.data, strict=True))

    def draw_equal(self, rng):
        shape = draw_shape(rng, self.kind == "vti", self.kind != "npy")
        self.data = [draw_array(rng, self.dtype, shape, self.unit) for _ in self.times]

    def draw_vti(self, rng):
        self.draw_equal(rng)
        name = draw_key(rng, 1)
        self.sink = {"array": name, "origin": [1e-9, -0.1], "spacing": [1e17, 0.25, 3.0]}
        self.source = {"array": name, "times": self.times}

    def draw_npy(self, rng):
        self.draw_equal(rng)
        self.source = {"times": self.times}

    def draw_jsonl(self, rng):
        self.data = [draw_value(rng) for _ in self.times]

    def draw_csv(self, rng):
        separator = str(rng.choice([",", ";", "tab", "space", "|"]))
        self.separator = {"tab": "\t", "space": " "}.get(separator, separator)
        whole = {"b": "int64", "i": "int64", "u": "uint64"}.get(self.dtype.kind)
        self.sink = {"separator": separator}
        self.source = {"separator": separator, **({"dtype": whole} if whole else {"holes": "nan"})}
        self.read_as = np.dtype(whole or float)
        if rng.random() < 0.4:
            shape = draw_shape(rng)
            self.data = [draw_array(rng, self.dtype, shape, self.unit) for _ in self.times]
            count = int(np.prod(shape))
            self.names = ["value"] if count == 1 else [f"value{i}" for i in range(count)]
            return
        # Maps with their keys in different orders.
        keys = [draw_key(rng, number) for number in range(rng.integers(1, 4))]
        keys = [key.replace("\n", "") for key in keys] if separator == "space" else keys
        shapes = {key: draw_shape(rng) for key in keys}
        self.data = []
        for _ in self.times:
            order = rng.permutation(keys).tolist() if self.data else keys
            self.data.append({key: draw_array(rng, self.dtype, shapes[key], self.unit) for key in order})
        counts = {key: int(np.prod(shapes[key])) for key in keys}
        self.names = [f"{key}{i}" if counts[key] > 1 else key for key in keys for i in range(counts[key])]
        self.source["as"] = "map"

    def row(self, data):
        """The numbers of a row of a table."""
        parts = [data[key] for key in self.data[0]] if isinstance(data, dict) else [data]
        return np.concatenate([np.ravel(array) for _, array, *_ in parts]).astype(self.read_as)

    def array(self, data):
        return np.array(data[1], order="C")


def bits(numbers):
    """Returns the bits of numbers in the order of C; all NaNs count as equal."""
    numbers = np.array(numbers, order="C")
    parts = numbers.view(
        np.zeros(0, numbers.dtype).real.dtype) if numbers.dtype.kind == "c" and numbers.ndim else numbers
    if parts.dtype.kind == "f":
        parts = np.where(np.isnan(parts), np.array(np.nan, parts.dtype), parts)
    return numbers.dtype.str, numbers.shape, parts.tobytes()


def comparable(data):
    """A value that is equal to another if all bits and types are equal."""
    match data:
        case ("array", array, unit, names):
            return "array", bits(array), unit, names
        case list():
            return [comparable(one) for one in data]
        case dict():
            return {key: comparable(one) for key, one in data.items()}
        case complex():
            return "complex", bits(data.real), bits(data.imag)
        case float():
            return "float", bits(data)
    return type(data), data


def check_csv(case, path, taken):
    rows = np.array([case.row(data) for data in case.data])
    table = pandas.read_csv(path, sep=case.separator, index_col=False)
    assert list(table.columns) == ["time", *case.names]
    assert bits(table["time"]) == bits(case.times)
    for at in range(len(case.names)):
        assert bits(table.iloc[:, at + 1].to_numpy().astype(case.read_as)) == bits(rows[:, at])
        assert table.dtypes.iloc[at + 1].kind in ("f" if case.read_as.kind == "f" else "iu")
    for row, (_, _, data) in zip(rows, taken, strict=True):
        if isinstance(data, dict):
            assert [*data] == case.names
            data = [*data.values()]
        assert bits(np.atleast_1d(data[1] if isinstance(data, tuple) else np.array(data,
                                                                                   case.read_as))) == bits(row)


def check_npy(case, path, taken):
    arrays = np.array([case.array(data) for data in case.data])
    assert bits(np.load(path)) == bits(arrays) and bits(np.load(path.with_suffix(".times.npy"))) == bits(
        case.times)
    check_arrays(arrays, taken)


def check_units(case, taken):
    """The unit comes back; a number without a unit is no array."""
    assert [data[2] if isinstance(data, tuple) else None for _, _, data in taken] == [case.unit] * len(taken)


def check_arrays(arrays, taken):
    for array, (_, _, data) in zip(arrays, taken, strict=True):
        # A single number comes back as one.
        assert bits(data[1] if isinstance(data, tuple) else np.array(data, array.dtype)) == bits(array)


def check_hdf5(case, path, taken):
    arrays = np.array([case.array(data) for data in case.data])
    with h5py.File(path) as file:
        assert bits(file["data"][...]) == bits(arrays) and bits(file["time"][...]) == bits(case.times)
        assert file["data"].attrs.get("units") == case.unit
    check_arrays(arrays, taken)
    check_units(case, taken)


def check_netcdf(case, path, taken):
    arrays = np.array([case.array(data) for data in case.data])
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        assert bits(file["data"][...]) == bits(arrays) and bits(file["time"][...]) == bits(case.times)
        assert getattr(file["data"], "units", None) == case.unit
    check_arrays(arrays, taken)
    check_units(case, taken)


def check_vti(case, path, taken):
    listed = ElementTree.parse(path.parent / f"{case.name}_sink.pvd").findall(".//DataSet")
    assert [float(one.get("timestep")) for one in listed] == case.times
    for number, (data, (_, _, came)) in enumerate(zip(case.data, taken, strict=True)):
        array = data[1].view(np.uint8) if data[1].dtype == bool else data[1]
        # The axis that runs fastest in memory is x, the last one.
        array = array if array.flags.c_contiguous else array.T
        content = (path.parent / listed[number].get("file")).read_bytes()
        start = content.index(b"_", content.index(b"<AppendedData")) + 1
        size = int.from_bytes(content[start:start + 8], "little")
        xml = ElementTree.fromstring(content[:start] + content[start + 8 + size:])
        points, image = xml.find(".//DataArray"), xml.find("ImageData")
        assert points.get("Name") == case.sink["array"] and points.get("type").lower() == array.dtype.name
        assert [float(one) for one in image.get("Origin").split()] == [1e-9, -0.1, 0]
        assert [float(one) for one in image.get("Spacing").split()] == [1e17, 0.25, 3]
        extent = [int(one) + 1 for one in image.get("WholeExtent").split()[1::2]]
        assert extent == [*reversed(array.shape), 1, 1][:3]
        assert content[start + 8:start + 8 + size] == array.tobytes()
        shape = list(array.shape)
        while len(shape) > 1 and shape[0] == 1:
            shape.pop(0)
        assert bits(came[1]) == bits(array.reshape(shape))


def check_jsonl(case, path, taken):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert bits([line["timestamp"] for line in lines]) == bits(case.times)
    for data, line, (_, _, came) in zip(case.data, lines, taken, strict=True):
        assert comparable(came) == comparable(data)
        if isinstance(data, float):
            assert comparable(line["data"]) == comparable(data)
        if isinstance(data, tuple) and data[1].dtype.kind != "c":
            assert bits(np.array(line["data"]["array"]["data"], data[1].dtype)) == bits(data[1].ravel())


def check_times(case, taken):
    assert [one[:2] for one in taken] == list(zip(case.times, [*case.times[1:], None], strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_sinks_write_their_sources_numpy_and_pandas_read(run, tmp_path, seed):
    rng = np.random.default_rng(seed)
    cases = [Case(rng, kind, number) for kind in TYPES for number in range(CASES)]
    (tmp_path / "ends.py").write_text(ENDS)
    components, conduits, settings, files = {}, {}, {}, {}
    for case in cases:
        with open(tmp_path / f"{case.name}.given", "wb") as file:
            pickle.dump(case.messages, file)
        sink = f"{case.name}_sink"
        components |= {case.name: "ligament.sources.python", sink: f"ligament.sinks.{case.kind}"}
        conduits |= {f"{case.name}.out": f"{sink}.in"}
        settings |= {f"{case.name}.function": "ends.py:give", f"{case.name}.with": str(tmp_path / case.name)}
        settings |= {f"{sink}.{key}": value for key, value in case.sink.items()}
    ran = run(model(components, conduits, settings))
    assert ran.status == 0, f"seed {seed}: {ran.text}"
    components, conduits, settings = {}, {}, {}
    for case in cases:
        process = "python" if case.kind in PYTHONS else "shipped"
        number = "-{n}" if case.kind == "vti" else ""
        path = ran.directory / f"light/ligament.{process}/workdir/{case.name}_sink{number}.{SUFFIX[case.kind]}"
        files[case.name] = path
        back = f"{case.name}_back"
        components |= {case.name: f"ligament.sources.{case.kind}", back: "ligament.sinks.python"}
        conduits |= {f"{case.name}.out": f"{back}.in"}
        settings |= {f"{case.name}.file": str(path), f"{back}.function": "ends.py:Take",
                     f"{back}.with": str(tmp_path / case.name)}
        settings |= {f"{case.name}.{key}": value for key, value in case.source.items()}
    ran = run(model(components, conduits, settings))
    assert ran.status == 0, f"seed {seed}: {ran.text}"
    for case in cases:
        try:
            with open(tmp_path / f"{case.name}.taken", "rb") as file:
                taken = pickle.load(file)
            check_times(case, taken)
            globals()[f"check_{case.kind}"](case, files[case.name], taken)
        except Exception as error:
            error.add_note(re.sub(r"\s+", " ", f"seed {seed}: {case.name}, {case.dtype}: {case.messages}"))
            raise
