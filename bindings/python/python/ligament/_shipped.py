"""The process of a run's sources, sinks and mappers that are written in Python: `python -m ligament._shipped`.
Each of them is a light component, and a setting names its kind. `crates/model` (`shipped.rs`) has their names
and settings, docs/reference/shipped.md explains them, and `crates/coupling` has the other ones. This file has
those that call a Python function of the user; `_shipped_files` has those for files that need other packages."""

import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from ._enums import InstanceFlags, Operator
from ._errors import Error, UsageError
from ._instance import Instance
from ._ligament import Message, TimeSeries, _fault, after_steps, shown_time
from ._mapper import Mapper, Messages, connected
from ._submodel import Submodel, run_light


def wrong(code: str, text: str) -> UsageError:
    """An error that ends the run."""
    return UsageError(_fault(code, text))


def input_path(name: str) -> Path:
    """Returns the file that a setting names: in the working directory, which has the staged inputs, else beside
    the model file."""
    here = Path(name)
    return here if here.is_absolute() or here.exists() else Path(os.environ.get("LIGAMENT_MODEL_DIR",
                                                                                "")) / name


@dataclass
class SourceMessage:
    """A message of a source, and a text that names its origin."""

    timestamp: float
    data: Any
    place: str
    next_timestamp: float | None = None


class Times:
    """The times of messages without times of their own: those of the setting `times`, or `begin` and `step`, or
    0, 1, 2, …."""

    def __init__(self, instance: Instance) -> None:
        self._listed = instance.get_setting("times", "[float]", None)
        self._begin = instance.get_setting("begin", "float", 0.0)
        self._step = instance.get_setting("step", "float", 1.0)
        if self._step != 0.0 and self._begin + self._step == self._begin:
            step, begin = abs(self._step), shown_time(self._begin)
            text = f'"step" is {step:g}, and {begin} and {begin} + {step:g} are the same number'
            raise wrong("shipped-setting-wrong", f"{text}: give a longer step, or times that begin near 0")

    def at(self, number: int, place: str) -> float:
        """Returns the time of the message with this number, from 0 on, in s."""
        if self._listed is None:
            return after_steps(self._begin, self._step, number)
        if number >= len(self._listed):
            raise wrong("shipped-setting-wrong",
                        f'{place}: "times" has {len(self._listed)} numbers, and there are more messages')
        return float(self._listed[number])


class Source(Submodel):
    """A source: sends messages in order, in one pass. The next timestamp of a message is the timestamp of the
    next one."""

    def __init__(self, instance: Instance, given: Iterator[SourceMessage], whence: str) -> None:
        self._given, self._place = given, whence
        self._until: float | None = instance.get_setting("until", "float", None)
        self._ahead: SourceMessage | None = None
        self._times = TimeSeries()
        # The number of messages that were sent, and the time of the last one.
        self._sent, self._at = 0, 0.0

    def _read(self, before: SourceMessage | None) -> SourceMessage | None:
        given, until = next(self._given, None), self._until
        if given is not None:
            self._place = given.place
        if given is not None and not math.isfinite(given.timestamp):
            raise wrong("malformed-source", f"{self._place}: {given.timestamp} is no time")
        is_earlier = given is not None and self._times.goes_on(given.timestamp)
        is_before = self._times.is_before
        if given is not None and until is not None and is_before(until, given.timestamp):
            given = None
        elif given is None and before is not None and until is not None and is_before(before.timestamp, until):
            last = shown_time(before.timestamp)
            text = f'{self._place}: the last message is of time {last}, and "until" says {shown_time(until)}'
            raise wrong("source-ends-early", text)
        if given is None and before is None:
            raise wrong("source-ends-early", f"{self._place}: there is no message")
        if given is not None and before is not None and is_earlier:
            times = (f"the time {shown_time(given.timestamp)} is earlier than {shown_time(before.timestamp)}, "
                     f"the one before it")
            raise wrong("malformed-source", f"{self._place}: {times}")
        return given

    def _take_next(self) -> SourceMessage | None:
        """Takes the message that is sent next, and reads the one after it."""
        now = self._ahead
        if now is not None:
            self._ahead = self._read(now)
            self._sent, self._at = self._sent + 1, now.timestamp
        return now

    def initialise(self, instance: Instance) -> None:
        self._ahead = self._read(None)

    def is_done(self) -> bool:
        return self._ahead is None

    def model_time(self) -> float:
        return self._at

    def save(self, instance: Instance) -> None:
        """Saves the number of messages that were sent, since they can be read again."""
        instance.save_snapshot(Message(self._at, None, self._sent))

    def restore(self, instance: Instance) -> None:
        sent = instance.load_snapshot().data
        if sent == 0:
            return
        self._ahead = self._read(None)
        while self._sent < sent:
            if self._take_next() is None:
                text = f"there are {self._sent} messages, and the run that is resumed had sent {sent}"
                raise wrong("source-ends-early", f"{self._place}: {text}")

    def observe(self, instance: Instance) -> None:
        now = self._take_next()
        if now is None:
            return
        # The next time may be meant to equal the earlier one, but be a little less because of rounding in sums.
        following = None if self._ahead is None else max(self._ahead.timestamp, now.timestamp)
        next_timestamp = following if now.next_timestamp is None else now.next_timestamp
        try:
            message = Message(now.timestamp, next_timestamp, now.data)
            for port in connected(instance, Operator.O_I):
                slots = range(instance.get_port_length(port)) if instance.is_vector_port(port) else [None]
                for slot in slots:
                    instance.send(port, message, slot)
        except Error as error:
            error.args = (f"{now.place}: {error}",)
            raise

    def solve(self, instance: Instance) -> None:
        pass

    def observe_final(self, instance: Instance) -> None:
        # A run that resumes at the end of the pass begins another one.
        self._sent = 0


class Taker(Protocol):
    """The target of a sink's messages."""

    def take(self, message: Message) -> None:
        """Takes the next message."""

    def close(self) -> None:
        """Called after the last message."""


class Sink(Submodel):
    """A sink: takes messages until its conduit ends."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker

    def initialise(self, instance: Instance) -> None:
        for port in connected(instance, Operator.F_INIT):
            slots = range(instance.get_port_length(port)) if instance.is_vector_port(port) else [None]
            for slot in slots:
                self._taker.take(instance.receive(port, slot))

    def is_done(self) -> bool:
        return True

    def observe(self, instance: Instance) -> None:
        pass

    def solve(self, instance: Instance) -> None:
        pass

    def observe_final(self, instance: Instance) -> None:
        pass

    def _ligament_finish(self, instance: Instance) -> None:
        """Called after the last pass, unless an error ends the instance."""
        self._taker.close()


class SinkWithState(Sink):
    """A sink that calls an object of a class with functions for its state."""

    def __init__(self, taker: Taker, owner: Any) -> None:
        super().__init__(taker)
        self._owner = owner

    def save(self, instance: Instance) -> None:
        self._owner.save(instance)

    def restore(self, instance: Instance) -> None:
        self._owner.restore(instance)


_modules: dict[Path, ModuleType] = {}


def module_of(path: Path) -> ModuleType:
    """Returns the module of a file, which is run once. It can import files beside it."""
    path = path.resolve()
    if path in _modules:
        return _modules[path]
    if not path.is_file():
        raise wrong("source-unreadable", f"{path} cannot be read: it is no file")
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_{len(_modules)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise wrong("shipped-setting-wrong", f"{path} is no file of Python's: its name does not end in .py")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    _modules[path] = module
    return module


@dataclass
class Function:
    """Returns a function or class of the user, and a text that names its place."""

    call: Callable[..., Any]
    place: str
    arguments: tuple[str, ...]


def function_of(instance: Instance) -> Function:
    """Returns the object that the settings `function` and `with` name."""
    text = instance.get_setting("function", "str")
    file, _, name = text.rpartition(":")
    if not file:
        raise wrong("shipped-setting-wrong",
                    f'"function" is "{text}"; write the file and the function: "file.py:function"')
    path = input_path(file)
    found: Any = module_of(path)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise wrong(
            "shipped-setting-wrong", f'"function" is "{text}", and {path} has no function or class "{name}"')
    code = getattr(found, "__code__", None)
    place = f"{path}:{code.co_firstlineno}" if code else str(path)
    argument = instance.get_setting("with", "str", None)
    return Function(found, place, () if argument is None else (argument,))


def function_gives(instance: Instance) -> Iterator[SourceMessage]:
    """A source that calls a Python function, which gives messages, pairs of time and value, or values."""
    function, times = function_of(instance), Times(instance)
    made = function.call(*function.arguments)
    try:
        iterator = iter(made)
    except TypeError:
        text = (f"{function.place}: the function gave something of type {type(made).__name__}, and not one "
                f"message after the other")
        raise wrong("malformed-source", f"{text}; write yield, or give a list") from None
    for number, one in enumerate(iterator):
        frame = getattr(iterator, "gi_frame", None)
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else function.place
        if isinstance(one, Message):
            yield SourceMessage(one.timestamp, one.data, place, one.next_timestamp)
        elif isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], Real):
            yield SourceMessage(float(one[0]), one[1], place)
        else:
            yield SourceMessage(times.at(number, place), one, place)


# Flags of a class whose objects are not saved.
NO_STATE = InstanceFlags.KEEPS_NO_STATE_FOR_NEXT_USE | InstanceFlags.STATE_NOT_REQUIRED_FOR_NEXT_USE


def note_flags(instance: Instance, owner: Any) -> None:
    """Tells the instance that a function keeps nothing, or an object whose class says so by its `flags`."""
    if owner is None or getattr(owner, "flags", InstanceFlags.NONE) & NO_STATE:
        instance._keeps_no_state()


class FunctionTakes:
    """A sink that calls a Python function with each message. If it is an object of a class, its method `finish`
    is called at the end."""

    def __init__(self, instance: Instance) -> None:
        function = function_of(instance)
        self._take, self._arguments = function.call, function.arguments
        # The object, if the setting names a class.
        self._owner: Any = None
        if isinstance(function.call, type):
            self._take, self._arguments = function.call(*function.arguments), ()
            self._owner = self._take
            if not callable(self._take):
                name = function.call.__name__
                raise wrong("shipped-setting-wrong",
                            f"{function.place}: an object of the class {name} cannot be called")

    def sink(self, instance: Instance) -> Sink:
        """Returns the sink. A function keeps nothing, and an object what its class says."""
        note_flags(instance, self._owner)
        saves = getattr(self._owner, "flags", InstanceFlags.NONE) & InstanceFlags.USES_CHECKPOINT_API
        return SinkWithState(self, self._owner) if saves else Sink(self)

    def take(self, message: Message) -> None:
        self._take(message, *self._arguments)

    def close(self) -> None:
        finish = getattr(self._take, "finish", None)
        if callable(finish):
            finish()


class FunctionMaps(Mapper):
    """A mapper that calls a Python function."""

    def __init__(self, call: Callable[[Messages], Mapping[str, Any]]) -> None:
        self._call = call

    def map(self, messages: Messages) -> Mapping[str, Any]:
        return self._call(messages)


def mapper_of(instance: Instance) -> Mapper:
    """Returns the mapper that the setting `function` names: a class that extends `Mapper`, or a function like
    its `map`."""
    function = function_of(instance)
    if not isinstance(function.call, type):
        note_flags(instance, None)
        return FunctionMaps(function.call)
    name = function.call.__name__
    if not issubclass(function.call, Mapper):
        text = (f"{function.place}: the class {name} is no mapper; let it extend ligament.Mapper, or name a "
                f"function")
        raise wrong("shipped-setting-wrong", text)
    for operator, declared in ((Operator.F_INIT, function.call.inputs), (Operator.O_F, function.call.outputs)):
        known = None if declared is None else [one.removesuffix("[]") for one in declared]
        for port in connected(instance, operator):
            if known is not None and port not in known:
                theirs = ", ".join(known) or "none"
                text = (f'the model joins "{port}" ({operator.name}) to it, and {function.place}, class '
                        f'{name}, has {theirs}')
                raise wrong("shipped-setting-wrong", text)
    mapper: Mapper = function.call(instance)
    note_flags(instance, mapper)
    return mapper


def make(instance: Instance) -> Submodel:
    """Makes the submodel of an instance, of the kind that the model names."""
    what = instance.get_setting("ligament_implementation", "str")
    if what == "ligament.sources.python":
        return Source(instance, function_gives(instance), instance.get_setting("function", "str"))
    if what == "ligament.sinks.python":
        return FunctionTakes(instance).sink(instance)
    if what == "ligament.mappers.python":
        return mapper_of(instance)
    from . import _shipped_files as files

    if what == "ligament.sources.hdf5":
        return Source(instance, files.hdf5_gives(instance), instance.get_setting("file", "str"))
    if what == "ligament.sources.netcdf":
        return Source(instance, files.netcdf_gives(instance), instance.get_setting("file", "str"))
    # A sink of files begins new ones.
    note_flags(instance, None)
    if what == "ligament.sinks.hdf5":
        return Sink(files.Hdf5(instance))
    if what == "ligament.sinks.netcdf":
        return Sink(files.NetCdf(instance))
    text = f'there is no shipped component "{what}" in this version of Ligament (ligament_implementation)'
    raise wrong("shipped-setting-wrong", text)


if __name__ == "__main__":
    run_light(make, flags=InstanceFlags.USES_CHECKPOINT_API)
