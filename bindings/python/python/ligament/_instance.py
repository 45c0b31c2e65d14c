"""The instance: a simulation code joins a run with it."""

import logging
import operator
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy

from . import _logging
from ._enums import InstanceFlags, LogLevel, Operator, operator_name
from ._errors import SettingUnsetError, UsageError
from ._ligament import _fault, _Instance

_TYPES: dict[Any, str] = {int: "int", float: "float", bool: "bool", str: "str"}
_UNSET: Any = object()


class Instance(_Instance):
    """An instance of a component in a running model.

    Args:
        ports: The ports by operator; ``name[]`` is a vector port. Without them, the model's are used.
        flags: Unusual behaviour of the instance.
        ranks: Number of processes that are one instance together; 0 if not given. While the instance computes,
            `ranks` times `threads` cores count as busy, and instances that wait for it do not spin on them. If
            neither number is given, those under ``resources:`` in the model count.
        threads: Number of threads of each process; 0 if not given.

    Raises:
        RegistrationError: There is no run, or the ports do not fit the model.

    An uncaught exception ends the run, with its text as the reason. Records of Python's `logging` go to the
    run's log as well. As a context manager, an instance signs off at the end of the block, or ends the run if
    the block has raised an exception.
"""

    def __new__(
        cls,
        ports: Mapping[Operator | str, Iterable[str]] | None = None,
        flags: InstanceFlags = InstanceFlags.NONE,
        ranks: int = 0,
        threads: int = 0,
    ) -> Self:
        declared = None
        if ports is not None:
            declared = [(operator_name(operator), name) for operator, names in ports.items() for name in names]
        return super().__new__(cls, declared, flags.value, None, ranks, threads)

    def __init__(
        self,
        ports: Mapping[Operator | str, Iterable[str]] | None = None,
        flags: InstanceFlags = InstanceFlags.NONE,
        ranks: int = 0,
        threads: int = 0,
    ) -> None:
        self._log_handler = _logging.RunLogHandler(weakref.ref(self))
        logging.getLogger().addHandler(self._log_handler)
        _logging.watch(self)

    def get_setting(self, name: str, type: str | type | None = None, default: Any = _UNSET) -> Any:
        """Returns the value of a setting for this instance, with the overlay applied.

        If several names fit, the longest one wins.

        Args:
            name: The setting's name, without this component's.
            type: "int", "float", "bool", "str", "[int]", "[float]" or "[[float]]"; a whole number is accepted
                as a float. None accepts any type.
            default: The value to return if the setting is not set.

        Raises:
            SettingUnsetError: The setting is not set (a KeyError).
            SettingTypeError: The value is of another type (a TypeError).
"""
        value = self._setting(name, _TYPES.get(type, type))
        if value is not None:
            return value
        if default is _UNSET:
            raise SettingUnsetError(self._why_unset(name))
        return default

    def list_ports(self) -> dict[Operator, list[str]]:
        """Returns the names of the ports by operator."""
        return {Operator(operator): names for operator, names in self._ports()}

    def map_block(self, port: str, start: Sequence[int], shape: Sequence[int]) -> None:
        """Says that this rank has a block of the port's array, until the next map of the port.

        Args:
            port: A port that has `array:` under `exchange:` in the model.
            start: The index of the block's first element in each dimension of the array, from 0 on.
            shape: The block's length in each dimension. Messages of the port have this shape.

        Raises:
            UsageError: The port has no array, or the block is not within the array.
        """
        self._map_block(port, _counts("start", start), _counts("shape", shape))

    def map_range(self, port: str, begin: int, end: int) -> None:
        """Says that this rank has the elements `begin` to `end` (not included) of the port's array.

        The elements are numbered from 0, so that the last index of the array runs fastest. Messages of the
        port have the shape (end - begin,).

        Raises:
            UsageError: The port has no array, or the range is not within the array.
        """
        begin, end = _counts("begin, end", (begin, end))
        self._map_range(port, begin, end)

    def map_list(self, port: str, numbers: Any) -> None:
        """Says that this rank has the elements of the port's array with these numbers, in this order.

        Args:
            port: A port that has `array:` under `exchange:` in the model.
            numbers: n integers, such as a NumPy array of shape (n,). The elements are numbered from 0, so that
                the last index of the array runs fastest. Messages of the port have the shape (n,).

        Raises:
            UsageError: The port has no array, or a number is not within the array or occurs twice.
        """
        numbers = numpy.asarray(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            what = f"an array of {numbers.dtype} with the shape {numbers.shape}"
            raise UsageError(_fault("bad-map", f"the numbers of a map are a list of integers, not {what}"))
        self._map_list(port, numpy.ascontiguousarray(numbers, dtype=numpy.int64))

    def insert_events(self, port: str, times: Any, ids: Any) -> None:
        """Sends events on a port that has `events:` under `exchange:` in the model.

        Args:
            port: The port.
            times: n floats, in the unit of the model's times: between `time()` and the next tick.
            ids: n integers, from 0 on, below the number in the model.

        Raises:
            UsageError: The port carries no events, or one of the times or ids is not possible; none is sent.
        """
        times, ids = numpy.asarray(times, dtype=numpy.float64), numpy.asarray(ids)
        if ids.size and ids.dtype.kind not in "iu" or ids.ndim != 1 or times.shape != ids.shape:
            what = f"times of the shape {times.shape} and ids of {ids.dtype} of the shape {ids.shape}"
            why = f'port "{port}": events have n times and n integers as ids, not {what}'
            raise UsageError(_fault("bad-event", why))
        if ids.size and not (-(2**31) <= ids.min() and ids.max() < 2**31):
            wrong = ids[(ids < -(2**31)) | (ids >= 2**31)][0]
            what = f'port "{port}": an event has the id {wrong}, and ids are below 2^31'
            raise UsageError(_fault("bad-event", what))
        ids = numpy.ascontiguousarray(ids, dtype=numpy.int32)
        self._insert_events(port, numpy.ascontiguousarray(times), ids)

    def events(self, port: str) -> tuple[Any, Any]:
        """Returns the events that have been delivered on a port up to now and that the code has not read.

        Call it after each `tick`. Events of a single sender are read-only views of its memory.

        Returns:
            The times, an array of float64 of shape (n,), in the unit of the model's times, and the ids, an
            array of int32 of shape (n,). They have no order.

        Raises:
            UsageError: The port carries no events, or the model gives this component no tick.
        """
        batches = self._events(port)
        if len(batches) == 1:
            return batches[0]
        times, ids = [times for times, _ in batches], [ids for _, ids in batches]
        empty = numpy.empty(0), numpy.empty(0, dtype=numpy.int32)
        return (numpy.concatenate(times), numpy.concatenate(ids)) if batches else empty

    def log(self, level: LogLevel, text: str) -> None:
        """Writes a line to the run's log, if the model's log level lets lines of this level pass."""
        if not self._try_log(level, text):
            busy = _fault(
                "in-another-call",
                f"instance {self.name} is in the middle of another call, so it cannot log; use logging",
            )
            raise UsageError(busy)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or _logging.is_good_end(error):
            self.finish()
        else:
            self.error_shutdown(_logging.describe(error))
        logging.getLogger().removeHandler(self._log_handler)

    def finish(self) -> None:
        """Ends all conduits on which this instance sends, and signs off. A program does this by itself when it
        ends."""
        self._log_handler.flush()
        super().finish()

    def __repr__(self) -> str:
        return f"<Instance {self.name}>"


def _counts(what: str, numbers: Iterable[int]) -> list[int]:
    """Returns the numbers, which are indices or lengths, as a list."""
    try:
        counts = [operator.index(number) for number in numbers]
    except TypeError:
        counts = None
    if counts is None or any(not 0 <= count < 1 << 63 for count in counts):
        text = f"{what} of a map must be whole numbers of at least 0, not {numbers}"
        raise UsageError(_fault("bad-map", text))
    return counts
