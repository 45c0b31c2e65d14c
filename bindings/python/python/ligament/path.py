"""A path between two programs without a model. One end listens, the other one opens; both send and receive.

Messages have any length, arrive once and in order, are encrypted, and survive connections that break. Both ends
need the same key, a file that only its owner can read:

    from ligament import path
    path.make_key("path.key")                          # once; then copy it to the other site
    one = path.listen("path.key", ":7000")             # here
    other = path.open("path.key", "login.site.org:7000")  # there

Any object with a contiguous buffer can be sent: bytes, a NumPy array, a memoryview. A received message is a
memoryview of bytes that belong to the receiver: `numpy.frombuffer(view)` makes an array of it without a copy.
Times are in seconds; None means no limit. Ctrl-C ends every wait.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._errors import UsageError
from ._ligament import _fault, _make_path_key, _Path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Buffer = bytes | bytearray | memoryview | NDArray[Any]

__all__ = ["Path", "Request", "Statistics", "cycle", "listen", "make_key", "meet", "open"]


def make_key(file: str | os.PathLike[str]) -> None:
    """Makes a new key in a new file that only its owner can read.

    Raises TransportError if the file cannot be written, or if it exists: it may hold a key that is in use.
"""
    _make_path_key(os.fspath(file))


@dataclass(frozen=True)
class Statistics:
    """The traffic of a path so far."""

    sent: int
    """Number of messages sent since the path was made; the next field is their bytes."""
    sent_bytes: int
    received: int
    """Number of messages received since the path was made; the next field is their bytes."""
    received_bytes: int
    under_way: int
    """Number of bytes that were sent and not yet received at the other end."""
    cuts: int
    """Number of times that all connections were lost."""
    connected: bool
    """True if there is a connection now."""


def _bytes(data: Buffer) -> memoryview:
    """Returns the bytes of an object, without a copy."""
    view = memoryview(data)
    # The names of fields are between colons.
    if "O" in re.sub(":[^:]*:", "", view.format):
        raise TypeError("an array of objects has no bytes of its own; send numbers, or pickle.dumps(…)")
    if not view.c_contiguous:
        raise BufferError(
            "what is sent or received into has to be in one piece; numpy.ascontiguousarray copies it")
    # A view without bytes cannot be cast, but can receive an empty message.
    return view.cast("B") if view.nbytes else memoryview(bytearray())


class Request:
    """A request under way: a message that is being sent or received."""

    def __init__(self, path: Path, number: int, receives: bool) -> None:
        self._path, self._number, self._receives = path, number, receives

    def test(self) -> bool:
        """Returns true if the request is done: the sent message has arrived, or a message has come."""
        return self._path._core.test(self._number)

    def wait(self, timeout: float | None = None) -> memoryview | None:
        """Waits until the request is done, and ends it. Returns the received message, or None if it sends.

        Raises TimeoutError if it is not done within this time; the request then goes on.
        """
        came = self._path._core.wait(self._number, timeout)
        return memoryview(came) if self._receives else None

    def wait_into(self, place: Buffer, timeout: float | None = None) -> int:
        """Does the same into a buffer of the caller. Returns the length of the message in bytes.

        Raises UnexpectedError if the message is longer than the buffer; the request then stays.
        """
        return self._path._core.wait_into(self._number, _bytes(place), timeout)

    def cancel(self) -> None:
        """Withdraws a request for a message. The next request gets the message that has come for it."""
        self._path._core.cancel(self._number)


class Path:
    """One end of a path; `listen` and `open` make one. Several threads may use it at once.

    As a context manager it is closed at the end of the block, when everything that was sent has arrived.
    """

    def __init__(self, core: _Path) -> None:
        self._core = core
        self._closed = False

    @property
    def addresses(self) -> list[str]:
        """The address of the listening end, as HOST:PORT; empty at the other end."""
        return self._core.addresses()

    def wait_connected(self, timeout: float | None = None) -> None:
        """Waits until there is a connection. Not needed before a send or receive."""
        self._core.wait_connected(timeout)

    def send(self, data: Buffer, timeout: float | None = None) -> None:
        """Sends a message. Returns when `data` may be changed again, which is before the message has arrived.

        Raises TimeoutError if there was no room in the window; nothing is sent then.
        """
        self._core.send(_bytes(data), timeout)

    def isend(self, data: Buffer) -> Request:
        """Begins to send a message without a copy. `data` must stay unchanged until the request is done."""
        return Request(self, self._core.isend(_bytes(data)), False)

    def receive(self, timeout: float | None = None) -> memoryview:
        """Receives the next message, of any length.

        Raises TimeoutError if no message came, and ClosedError if the other end has closed the path and no
        message is left.
"""
        return memoryview(self._core.receive(timeout))

    def receive_into(self, place: Buffer, timeout: float | None = None) -> int:
        """Receives the next message into a buffer, such as a NumPy array. Returns its length in bytes.

        Raises UnexpectedError if the message is longer than the buffer; the message then stays.
        """
        return self._core.receive_into(_bytes(place), timeout)

    def ireceive(self) -> Request:
        """Begins to receive the next message for which there is no request yet."""
        return Request(self, self._core.ireceive(), True)

    def probe(self, timeout: float | None = None) -> int:
        """Waits for the next message, and returns its length in bytes. The message stays, to be received."""
        return self._core.probe(timeout)

    def send_receive(self, data: Buffer, timeout: float | None = None) -> memoryview:
        """Sends a message and receives one at the same time.

        Raises TimeoutError if no message came; `data` was sent nevertheless.
        """
        return memoryview(self._core.send_receive(_bytes(data), timeout))

    def barrier(self, timeout: float | None = None) -> None:
        """Waits until the other end also calls `barrier`.

        After a TimeoutError, the next call waits for the same barrier.
        """
        self._core.barrier(timeout)

    def set_pace(self, pace: int) -> None:
        """Changes the maximum rate at which this end sends over a long distance, in bytes/s; 0: no maximum."""
        if not 0 <= pace < 1 << 63:
            raise UsageError(_fault("path-misused", f"pace is a number of bytes in a second, not {pace}"))
        self._core.set_pace(pace)

    @property
    def statistics(self) -> Statistics:
        """The traffic so far."""
        return Statistics(*self._core.statistics())

    def close(self, timeout: float | None = None) -> None:
        """Waits until everything that was sent has arrived, and ends the path.

        Raises TimeoutError if it has not arrived; the path is ended nevertheless. The other end raises
        ClosedError when it has received everything. A second close does nothing.
"""
        if self._closed:
            return
        self._closed = True
        try:
            self._core.wait_sent(timeout)
        except BaseException:
            self._core.free()
            raise
        self._core.close()

    def __enter__(self) -> Path:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True
            self._core.free()

    def __repr__(self) -> str:
        return repr(self._core)


def _options(
    streams: int,
    encrypt: bool,
    window: int,
    patience: float,
    compress: bool,
    longest: int,
    relays: Iterable[str | os.PathLike[str]],
    pace: int,
) -> tuple[int, bool, int, float, bool, int, list[str], int]:
    if not 0 <= streams <= 256:
        raise UsageError(_fault("path-misused", f"a path has 1 to 256 streams, not {streams}"))
    for name, value, unit in (("window", window, ""), ("longest", longest, ""), ("pace", pace, " in a second")):
        if not 0 <= value < 1 << 63:
            raise UsageError(_fault("path-misused", f"{name} is a number of bytes{unit}, not {value}"))
    if not patience > 0:
        raise UsageError(_fault("path-misused", f"patience is a time in seconds, more than 0, not {patience}"))
    if isinstance(relays, (str, os.PathLike)):
        relays = [relays]
    return streams, encrypt, window, patience, compress, longest, [os.fspath(relay) for relay in relays], pace


def listen(
    key: str | os.PathLike[str],
    at: str = ":0",
    *,
    streams: int = 0,
    encrypt: bool = True,
    window: int = 64 << 20,
    patience: float = 60.0,
    compress: bool = True,
    longest: int = 1 << 40,
    relays: Iterable[str | os.PathLike[str]] = (),
    pace: int = 0,
) -> Path:
    """Listens at HOST:PORT, or at :PORT on all interfaces. Port 0 takes any free port.

    Returns at once; messages that are sent before there is a connection wait. `window`: number of bytes that
    may be under way. `patience`: time after which a path without a connection is lost (s). `longest`: longest
    message that is accepted (bytes). `relays`: files of relays, the nearest first; both ends give the same one
    as the last. `pace`: maximum rate at which this end sends over a long distance (bytes/s); 0: no maximum.

    Raises UsageError if the address, the key or an option is not valid, TransportError if the port is taken.
"""
    options = _options(streams, encrypt, window, patience, compress, longest, relays, pace)
    return Path(_Path.listen(os.fspath(key), at, options))


def open(
    key: str | os.PathLike[str],
    to: str | Iterable[str] = (),
    *,
    streams: int = 0,
    encrypt: bool = True,
    window: int = 64 << 20,
    patience: float = 60.0,
    compress: bool = True,
    longest: int = 1 << 40,
    relays: Iterable[str | os.PathLike[str]] = (),
    pace: int = 0,
) -> Path:
    """Opens a path to an end that listens, or will listen, at one of these addresses (HOST:PORT), or at the
    last relay.

    Returns at once. `streams`: number of connections, 1 to 256; 0: as many as the link needs. Otherwise as
    `listen`.
"""
    options = _options(streams, encrypt, window, patience, compress, longest, relays, pace)
    addresses = [to] if isinstance(to, str) else list(to)
    return Path(_Path.open(os.fspath(key), addresses, options))


def meet(
    key: str | os.PathLike[str],
    at: str,
    *,
    streams: int = 0,
    encrypt: bool = True,
    window: int = 64 << 20,
    patience: float = 60.0,
    compress: bool = True,
    longest: int = 1 << 40,
    relays: Iterable[str | os.PathLike[str]] = (),
    pace: int = 0,
) -> Path:
    """Begins a path whose two ends make the same call, with the address (HOST:PORT) of one of them.

    That end listens, unless another program there already does so. Returns at once. Otherwise as `listen` and
    `open`.
"""
    options = _options(streams, encrypt, window, patience, compress, longest, relays, pace)
    return Path(_Path.meet(os.fspath(key), at, options))


def cycle(source: Path, target: Path, timeout: float | None = None) -> int:
    """Receives a message from one path and sends it on over another. Returns its length in bytes. Waits, as
    `Path.send` does, while the other path has no room."""
    message = source.receive(timeout)
    target.send(message, timeout)
    return message.nbytes
