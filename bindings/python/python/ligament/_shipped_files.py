"""Sources and sinks for HDF5 and NetCDF files, with the packages h5py and netCDF4, which are imported when they
are needed. A file that is written has the ending `.part` until all of it is on the disk."""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ._instance import Instance
from ._ligament import Array, Message, shown_time
from ._shipped import SourceMessage, Times, input_path, wrong

# Seconds in a unit of time, by its names in the CF conventions (section 4.4).
_SECONDS = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hr": 3600.0,
            "hour": 3600.0,
            "d": 86400.0, "day": 86400.0}  # fmt: skip

# Attributes by which a variable says which of its values are missing (CF conventions, section 2.5.1).
_MISSING = {"_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"}


def package(instance: Instance, name: str) -> ModuleType:
    """Imports a package that is not installed everywhere."""
    try:
        return import_module(name)
    except ImportError as error:
        what = instance.get_setting("ligament_implementation", "str")
        text = f"{what} needs the Python package {name}, which {sys.executable} cannot import: {error}"
        raise wrong(
            "python-package-missing", f"{text}; install it: {sys.executable} -m pip install {name}") from None


def _opened(name: str, how: Any) -> tuple[Any, Path]:
    path = input_path(name)
    try:
        if not path.is_file():
            raise OSError("it is no regular file" if path.exists() else "No such file or directory")
        return how(path), path
    except (OSError, RuntimeError) as error:
        raise wrong("source-unreadable", f"{path} cannot be read: {error}") from None


def _read(place: str, part: Any, index: Any) -> Any:
    try:
        return part[index]
    except (OSError, RuntimeError) as error:
        raise wrong("malformed-source", f"{place} cannot be read: {error}") from None


def _rows(instance: Instance, array: Any, place: str, times: Any) -> Iterator[tuple[float, Any, str]]:
    """Yields each part along the first axis, with its time; or the whole."""
    if instance.get_setting("whole", "bool", False) or not array.shape:
        yield (times(0, place), _read(place, array, ...), place)
        return
    for number in range(array.shape[0]):
        here = f"{place}[{number}]"
        yield (times(number, here), _read(here, array, number), here)


def _times_in(instance: Instance, array: Any, name: str, scale: float = 1.0) -> Any:
    """Returns the times in the file, in s."""

    def at(number: int, place: str) -> float:
        if len(array.shape) != 1 or number >= array.shape[0]:
            shape = list(array.shape)
            raise wrong("malformed-source",
                        f'{place}: the times "{name}" have shape {shape}, and each message needs one')
        read = _read(place, array, number)
        time = float(read)
        # The values are compared as whole numbers of Python, which are exact.
        if array.dtype.kind in "iu" and not np.ma.is_masked(read) and int(time) != int(read):
            text = f"the time {int(read)} has more digits than a float64 holds, which makes {int(time)} of it"
            raise wrong("malformed-source",
                        f"{place}: {text}; write times in a longer unit, or count them from a later moment")
        return time * scale

    return at


def _unit_of(units: Any) -> str:
    """Returns the text of an attribute `units`; an empty text if there is none."""
    if isinstance(units, np.ndarray) and units.size == 1:
        units = units.item()
    if isinstance(units, bytes):
        units = units.decode(errors="replace")
    return units.strip() if isinstance(units, str) else ""


def _time_scale(instance: Instance, units: str, place: str) -> float:
    """Returns the length of a file's unit of time, such as `hours since 2000-01-01`, in the model's unit. It is
    1 if the file has no unit, or the model's unit."""
    # Without a unit, or with the model's unit, times need no conversion.
    unit = (units.split() or [""])[0]
    if unit in ("", instance.get_setting("ligament_time_unit", "str", "s")):
        return 1.0
    scale = _SECONDS.get(unit.lower().rstrip("s") or "s")
    if scale is None:
        raise wrong("malformed-source", f'{place}: "{units}" is no unit of time that has one length')
    return scale / instance.get_setting("ligament_time_unit_in_seconds", "float", 1.0)


def hdf5_gives(instance: Instance) -> Iterator[SourceMessage]:
    """Yields the parts of a dataset along its first axis."""
    h5py = package(instance, "h5py")
    file, path = _opened(instance.get_setting("file", "str"), lambda path: h5py.File(path, "r"))
    with file:
        found: list[str] = []
        file.visititems(lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) else None)
        wanted, time = instance.get_setting("dataset", "str", None), instance.get_setting("time", "str", None)
        if time is None and "time" in found and wanted != "time" and not _times_are_set(instance):
            time = "time"
        if wanted is None:
            others = [name for name in found if name != time]
            if len(others) != 1:
                raise _which(path, "dataset", others)
            wanted = others[0]
        dataset = _named(path, file, "dataset", wanted, found)
        times, unit = Times(instance).at, _unit_of(dataset.attrs.get("units"))
        if time is not None:
            array = _named(path, file, "time", time, found)
            scale = _time_scale(instance, _unit_of(array.attrs.get("units")), f"{path}: {time}")
            times = _times_in(instance, array, time, scale)
        for at, data, place in _rows(instance, dataset, f"{path}: {wanted}", times):
            yield SourceMessage(at, _value(data, unit), place)


def netcdf_gives(instance: Instance) -> Iterator[SourceMessage]:
    """Yields the parts of a variable along its first axis."""
    netcdf = package(instance, "netCDF4")
    file, path = _opened(instance.get_setting("file", "str"), lambda path: netcdf.Dataset(path, "r"))
    holes = instance.get_setting("holes", "str", "error")
    with file:
        known = file.variables
        wanted = instance.get_setting("variable", "str", None)
        if wanted is None:
            others = [name for name in known if name not in file.dimensions]
            if len(others) != 1:
                raise _which(path, "variable", others)
            wanted = others[0]
        variable = _named(path, known, "variable", wanted, list(known))
        time = instance.get_setting("time", "str", None)
        first = variable.dimensions[0] if variable.dimensions else ""
        if time is None and first in known and first != wanted and not _times_are_set(instance):
            time = first
        times = Times(instance).at
        if time is not None:
            array = _named(path, known, "time", time, list(known))
            scale = _time_scale(instance, _unit_of(getattr(array, "units", None)), f"{path}: {time}")
            times = _times_in(instance, array, time, scale)
        unit = _unit_of(getattr(variable, "units", None))
        if variable.get_fill_value() is None and not _MISSING & set(variable.ncattrs()):
            # The file was written without filling, so a number that equals a default of the format is a value.
            variable.set_auto_mask(False)
        for at, data, place in _rows(instance, variable, f"{path}: {wanted}", times):
            if holes == "nan":
                data = np.ma.filled(_with_nan(data, place), np.nan)
            elif np.ma.is_masked(data):
                text = "values are missing here; set \"holes: nan\" to send them as no numbers"
                raise wrong("malformed-source", f"{place}: {text}")
            yield SourceMessage(at, _value(np.ma.getdata(data), unit), place)


def _with_nan(data: Any, place: str) -> Any:
    """The type of the message: one that has NaN, if any value may be missing."""
    if data.dtype.kind == "f":
        return data
    made = data.astype(float)
    # The values are compared as whole numbers of Python, which are exact.
    if [int(one) for one in np.ma.compressed(made)] != [int(one) for one in np.ma.compressed(data)]:
        text = "with \"holes: nan\" whole numbers become float64, which does not hold all digits of these"
        raise wrong("malformed-source", f"{place}: {text}")
    return made


def _times_are_set(instance: Instance) -> bool:
    return any(instance.get_setting(name, None, None) is not None for name in ("times", "begin", "step"))


def _value(data: Any, unit: str) -> Any:
    """Returns a single number, or an array. A single number has no unit, so a number with a unit becomes an
    array without axes."""
    if unit and getattr(data, "dtype", np.dtype(object)).kind in "biufc":
        return Array(data, unit=unit)
    return data.item() if isinstance(data, np.generic) or np.ndim(data) == 0 else data


def _which(path: Path, setting: str, there: list[str]) -> Exception:
    names = ", ".join(there) or "none"
    return wrong("shipped-setting-wrong",
                 f'{path} does not have just one {setting}; name it under "{setting}": there is {names}')


def _named(path: Path, file: Any, setting: str, name: str, there: list[str]) -> Any:
    if name not in there:
        raise wrong("malformed-source",
                    f'{path} has no "{name}" (setting "{setting}"); there is {", ".join(there) or "none"}')
    return file[name]


class _WholeFile:
    """A file that gets its name when all of it is on the disk."""

    _being_written: set[Path] = set()

    def __init__(self, instance: Instance, suffix: str) -> None:
        name = instance.get_setting("file", "str", "{instance}" + suffix).replace("{instance}", instance.name)
        self.path = Path(name)
        self.part = Path(f"{name}.part")
        if self.part.absolute() in self._being_written:
            text = (f'{name} is being written by another sink; put {{instance}} into the name under "file", or '
                    f'give each its own')
            raise wrong("file-not-written", text)
        self._being_written.add(self.part.absolute())
        self.guard(self._begin)

    def _begin(self) -> None:
        """Creates the file, in place of one of an earlier run. A link is not followed."""
        self.part.parent.mkdir(parents=True, exist_ok=True)
        if self.part.is_symlink() or (self.part.exists() and not self.part.is_file()):
            raise OSError("it is there already, and is no file that a run has left; remove it")
        self.part.unlink(missing_ok=True)
        os.close(os.open(self.part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))

    def guard(self, write: Any) -> Any:
        """Calls a function; an error names the file that cannot be written."""
        try:
            return write()
        except (OSError, RuntimeError) as error:
            text = f"{self.part} cannot be written: {error}"
            raise wrong("file-not-written", f'{text}; make room there, or give another "file"') from None

    def finish(self) -> None:
        """Gives the file its name."""
        with open(self.part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self.part, self.path)
        self._being_written.discard(self.part.absolute())


class _Table(ABC):
    """Messages one after the other along a first axis that grows, and their times."""

    def __init__(self, instance: Instance, suffix: str, setting: str) -> None:
        self._whole = _WholeFile(instance, suffix)
        self._name: str = instance.get_setting(setting, "str", "data")
        if self._name == "time":
            raise wrong("shipped-setting-wrong", f'"{setting}" cannot be "time", which has the times')
        self._unit: str | None = instance.get_setting("ligament_time_unit", "str", None)
        self._count, self._like, self._data_unit = 0, (np.dtype(float), (0,)), None
        self._file = self._whole.guard(lambda: self.open(self._whole.part))

    def take(self, message: Message) -> None:
        """Adds a message."""
        data, time = np.asarray(getattr(message.data, "array", message.data)), shown_time(message.timestamp)
        unit: str | None = getattr(message.data, "unit", None)
        if data.dtype.kind not in "biufc" or not self.fits(data.dtype):
            text = (f"the message at time {time} holds {data.dtype}, and only numbers of the file's types can "
                    f"be written")
            raise wrong("sink-refuses", text)
        if self._count == 0:
            self._like, self._data_unit = (data.dtype, data.shape), unit
            self._whole.guard(lambda: self.begin(data))
        elif self._like != (data.dtype, data.shape):
            text = (
                f"the message at time {time} is an array of {data.dtype} with shape {list(data.shape)}, and "
                f"those "
                f"before it of {self._like[0]} with shape {list(self._like[1])}; one array holds equal ones "
                f"only"
            )
            raise wrong("sink-refuses", text)
        elif self._data_unit != unit:
            words = [f'the unit "{one}"' if one else "no unit" for one in (unit, self._data_unit)]
            text = f"the message at time {time} has {words[0]}, and those before it have {words[1]}"
            raise wrong("sink-refuses", f'{text}; let the filter "unit" convert them')
        self._whole.guard(lambda: self.add(message.timestamp, data))
        self._count += 1

    def close(self) -> None:
        """Ends the file."""
        self._whole.guard(self._file.close)
        self._whole.guard(self._whole.finish)

    def fits(self, dtype: Any) -> bool:
        """Returns true if the format has such elements."""
        return True

    @abstractmethod
    def open(self, part: Path) -> Any:
        """Creates the file."""

    @abstractmethod
    def begin(self, data: Any) -> None:
        """Makes room for arrays like this one."""

    @abstractmethod
    def add(self, time: float, data: Any) -> None:
        """Writes a message."""


class Hdf5(_Table):
    """A dataset with all messages, and a dataset `time`."""

    def __init__(self, instance: Instance) -> None:
        self._h5py = package(instance, "h5py")
        super().__init__(instance, ".h5", "dataset")

    def open(self, part: Path) -> Any:
        return self._h5py.File(part, "w")

    def begin(self, data: Any) -> None:
        make = self._file.create_dataset
        self._data = make(self._name, (0, *data.shape), data.dtype, maxshape=(None, *data.shape), chunks=True)
        self._times = make("time", (0,), "f8", maxshape=(None,), chunks=True)
        if self._unit is not None:
            self._times.attrs["units"] = self._unit
        if self._data_unit:
            self._data.attrs["units"] = self._data_unit

    def add(self, time: float, data: Any) -> None:
        for dataset, value in ((self._data, data), (self._times, time)):
            dataset.resize(self._count + 1, axis=0)
            dataset[self._count] = value


class NetCdf(_Table):
    """A variable with all messages along the dimension `time`, and a variable `time`."""

    def __init__(self, instance: Instance) -> None:
        self._netcdf = package(instance, "netCDF4")
        super().__init__(instance, ".nc", "variable")

    def fits(self, dtype: Any) -> bool:
        return dtype.kind in "iuf"

    def open(self, part: Path) -> Any:
        return self._netcdf.Dataset(part, "w")

    def begin(self, data: Any) -> None:
        file = self._file
        file.createDimension("time", None)
        self._times = file.createVariable("time", "f8", ("time",))
        if self._unit is not None:
            self._times.units = self._unit
        axes = [f"{self._name}_{axis}" for axis in range(data.ndim)]
        for axis, extent in zip(axes, data.shape, strict=True):
            file.createDimension(axis, extent)
        self._data = file.createVariable(self._name, data.dtype, ("time", *axes), fill_value=False)
        if self._data_unit:
            self._data.units = self._data_unit

    def add(self, time: float, data: Any) -> None:
        self._data[self._count], self._times[self._count] = data, time
