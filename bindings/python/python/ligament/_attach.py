"""Looking at a run that goes on, from a notebook or a script of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from ._errors import RunEndsError
from ._ligament import _standing, _Tapping


@dataclass(frozen=True)
class Shown:
    """A value that a port has sent.

    Attributes:
        timestamp: The model time of the message, s.
        next_timestamp: The model time of the sender's next message, s, or None.
        slot: The slot of a vector port, else None.
        number: How many messages the port had sent since it is looked at, with this one.
        data: The value: a read-only NumPy array, a number, a text, a list, a dict, None. Of a histogram a dict
            with `least` and `greatest` (None if no element is finite), `counts`, and `others`, the number of
            elements that are not finite.
"""

    timestamp: float
    next_timestamp: float | None
    slot: int | None
    number: int
    data: Any


class TappedPort:
    """A port whose latest values are looked at; `AttachedRun.port` makes it.

    It is an iterator over the values that come, a context manager, and an array of the next value for NumPy.
    The instance copies a value when it is asked for, with its next send, and never waits for whoever looks:
    values in between are not shown.
"""

    def __init__(self, name: str, tapping: _Tapping) -> None:
        self.name = name
        self._tapping = tapping

    def next(self, timeout: float | None = None) -> Shown:
        """The next value that is sent.

        Args:
            timeout: How long to wait, s; None for as long as it takes.

        Raises:
            TimeoutError: Nothing was sent within that time.
            RunEndsError: Nothing will be sent any more.
            UnexpectedError: What was sent cannot be shown as it was asked for: it is larger than there is room
                for, or has not the key, axis or index. The next value may be another.
"""
        shown, why = self._tapping.next(timeout)
        if shown is None:
            raise RunEndsError(why)
        return Shown(*shown)

    @property
    def value(self) -> Any:
        """The next value that is sent, without its times."""
        return self.next().data

    def __iter__(self) -> Iterator[Shown]:
        return self

    def __next__(self) -> Shown:
        try:
            return self.next()
        except RunEndsError:
            raise StopIteration from None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy

        return numpy.array(self.value, dtype=dtype)

    def close(self) -> None:
        """Lets go of the port: nothing more is copied for this."""
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
        """How the run stands now: `run`, and while it is under way `instances` and `conduits`, each by a
        number, as text."""
        told: dict[str, Any] = json.loads(_standing(self._run))
        return told

    @property
    def state(self) -> str:
        """`running`, or how it ended."""
        state: str = self.status()["run"]["state"]
        return state

    @property
    def ports(self) -> list[str]:
        """The ports that can be looked at now: `INSTANCE.PORT` for each on which an instance sends that takes
        part."""
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
        """Looks at what a port sends, whether it is connected or not.

        Args:
            name: The port: `macro.state_out`, `micro[3].out`, or `macro.out[2]` for a slot of a vector port.
            slice: Of an array, take this: `"0"`, `"::2, 5:10"`, as NumPy would.
            thin: Of an array, take every so many-th element along each axis.
            histogram: How many elements are how large, in so many bars (at most 4096); 0 for the elements
                themselves.
            key: Of a dict, take what stands under this key, or under these keys of dicts inside each other.
            room: For how large a value there is to be room, bytes; None for 64 MiB, at most 1 GiB.

        Raises:
            UsageError: There is no such port, the instance does not take part yet, or the run is not under way.
"""
        keys = [key] if isinstance(key, str) else list(key)
        return TappedPort(name, _Tapping(self._run, name, slice, thin, histogram, keys, room))

    def __getitem__(self, name: str) -> TappedPort:
        return self.port(name)

    def __repr__(self) -> str:
        return f"<AttachedRun {self._run}>"


def attach(run: str | PathLike[str] = "latest") -> AttachedRun:
    """Looks at a run on this machine while it goes on, without disturbing it.

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
