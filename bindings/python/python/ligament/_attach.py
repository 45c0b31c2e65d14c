"""Looks at a run that goes on, from a notebook or a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from ._errors import RunEndsError
from ._ligament import _standing, _Tapping


@dataclass(frozen=True)
class TappedValue:
    """A value that a port has sent.

    Attributes:
        timestamp: The model time of the message, s.
        next_timestamp: The model time of the sender's next message, s, or None.
        slot: The slot of a vector port, else None.
        number: Number of messages that the port has sent since the view began, including this one.
        data: The value: a read-only NumPy array, a number, a text, a list, a dict, None. A histogram is a dict
            with `least` and `greatest` (None if no element is finite), `counts`, and `others`, the number of
            elements that are not finite.
"""

    timestamp: float
    next_timestamp: float | None
    slot: int | None
    number: int
    data: Any


class TappedPort:
    """A view of the latest values of a port; `AttachedRun.port` makes it.

    It is an iterator over the values that come, a context manager, and an array of the next value for NumPy.
    The instance copies a value if the view has asked for one, at its next send. It never waits for the view, so
    the view does not get every value.
"""

    def __init__(self, name: str, tapping: _Tapping) -> None:
        self.name = name
        self._tapping = tapping

    def next(self, timeout: float | None = None) -> TappedValue:
        """Returns the next value that is sent.

        Args:
            timeout: Longest time to wait, s; None waits without a limit.

        Raises:
            TimeoutError: No value was sent within that time.
            RunEndsError: No more values will be sent.
            UnexpectedError: The value does not fit the request: it is larger than `room`, or does not have the
                key, axis or index. The next value may fit.
"""
        shown, why = self._tapping.next(timeout)
        if shown is None:
            raise RunEndsError(why)
        return TappedValue(*shown)

    @property
    def value(self) -> Any:
        """Returns the next value that is sent, without its times."""
        return self.next().data

    def __iter__(self) -> Iterator[TappedValue]:
        return self

    def __next__(self) -> TappedValue:
        try:
            return self.next()
        except RunEndsError:
            raise StopIteration from None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        return numpy.array(self.value, dtype=dtype)

    def close(self) -> None:
        """Ends the view of the port: no more values are copied for it."""
        self._tapping.close()

    def __enter__(self) -> TappedPort:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<TappedPort {self.name}>"


class AttachedRun:
    """A run that goes on; `attach` makes it."""

    def __init__(self, run: str) -> None:
        self._run = run
        _standing(run)

    def status(self) -> dict[str, Any]:
        """The status of the run: `run`, and during the run `instances` and `conduits`, each by its number, as
        text."""
        told: dict[str, Any] = json.loads(_standing(self._run))
        return told

    @property
    def state(self) -> str:
        """`running`, or the way in which the run ended."""
        state: str = self.status()["run"]["state"]
        return state

    @property
    def ports(self) -> list[str]:
        """The ports that can be viewed now: `INSTANCE.PORT` for each port on which a running instance sends."""
        instances = self.status().get("instances", {}).values()
        return [f"{one['name']}.{port}" for one in instances for port in one.get("sends", [])]

    def port(
        self,
        name: str,
        slice: str = "",
        *,
        thin: int = 1,
        histogram: int = 0,
        key: str | Sequence[str] = (),
        room: int | None = None,
    ) -> TappedPort:
        """Makes a view of the values that a port sends. The port need not be connected.

        Args:
            name: The port: `macro.state_out`, `micro[3].out`, or `macro.out[2]` for a slot of a vector port.
            slice: The part of an array to take, in NumPy's notation: `"0"`, `"::2, 5:10"`.
            thin: Take only every `thin`-th element of an array along each axis.
            histogram: Number of bars of a histogram of the elements (at most 4096); 0 for the elements
                themselves.
            key: Take the value under this key of a dict, or under these keys of dicts inside each other.
            room: Size of the largest value that can be viewed, bytes; None for 64 MiB, at most 1 GiB.

        Raises:
            UsageError: There is no such port, the instance has not joined the run yet, or the run is over.
"""
        keys = [key] if isinstance(key, str) else list(key)
        return TappedPort(name, _Tapping(self._run, name, slice, thin, histogram, keys, room))

    def __getitem__(self, name: str) -> TappedPort:
        return self.port(name)

    def __repr__(self) -> str:
        return f"<AttachedRun {self._run}>"


def attach(run: str | PathLike[str] = "latest") -> AttachedRun:
    """Attaches to a run on this machine, to watch it without disturbing it.

    Args:
        run: Its directory, its name under ./runs, or `latest`.

    Raises:
        Error: There is no such run, or it does not answer.

    Example::

        run = ligament.attach("latest")
        for shown in run.port("macro.state_out", "::4, ::4"):
            plt.imshow(shown.data)
    """
    return AttachedRun(fspath(run))
