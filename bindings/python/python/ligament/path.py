"""A path between two programs without a model: one end listens, the other one opens, both send and receive.

Messages have any length, arrive once and in order, are encrypted, and survive connections that break. Both ends
need the same key, a file that only its owner can read:

    from ligament import path
    path.make_key("path.key")                          # once; then copy it to the other site
    one = path.listen("path.key", ":7000")             # here
    other = path.open("path.key", "login.site.org:7000")  # there

What is sent is anything that has a buffer: bytes, a NumPy array in one piece, a memoryview. What is received is
a memoryview of its bytes, which belong to whoever received it: `numpy.frombuffer(view)` makes an array of it
without a copy. Times are in seconds; None is as long as it takes. Ctrl-C ends every wait.
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

    Raises TransportError if it cannot be written, or if there is a file of this name: it may hold a key that is
    in use.
"""
    _make_path_key(os.fspath(file))


@dataclass(frozen=True)
class Statistics:
    """What has passed over a path."""

    sent: int
    """Messages sent, ever, and their bytes."""
    sent_bytes: int
    received: int
    """Messages received, ever, and their bytes."""
    received_bytes: int
    under_way: int
    """Bytes sent that were not received there yet."""
    cuts: int
    """How often all connections were lost."""
    connected: bool
    """Whether there is a connection now."""


def _bytes(data: Buffer) -> memoryview:
    """The bytes of an object, without a copy."""
    view = memoryview(data)
    # Names of fields stand between colons.
    if "O" in re.sub(":[^:]*:", "", view.format):
        raise TypeError("an array of objects has no bytes of its own; send numbers, or pickle.dumps(…)")
    if not view.c_contiguous:
        raise BufferError(
            "what is sent or received into has to be in one piece; numpy.ascontiguousarray copies it")
    # A view without bytes cannot be cast, and is a place for a message all the same.
    return view.cast("B") if view.nbytes else memoryview(bytearray())


class Request:
    """Something that was begun and is not over: a message that is sent or received."""

    def __init__(self, path: Path, number: int, receives: bool) -> None:
        self._path, self._number, self._receives = path, number, receives

    def test(self) -> bool:
        """Whether it is done: what was sent has arrived there, or a message has come."""
        return self._path._core.test(self._number)

    def wait(self, timeout: float | None = None) -> memoryview | None:
        """Waits until it is done, and ends it: the message that came, or None of one that was sent.

        Raises TimeoutError if it is not done within this time; then it goes on.
        """
        came = self._path._core.wait(self._number, timeout)
        return memoryview(came) if self._receives else None

    def wait_into(self, place: Buffer, timeout: float | None = None) -> int:
        """The same, into a buffer of the caller's; the length of what came (bytes).

        Raises UnexpectedError if it is longer than the buffer; then it stays.
        """
        return self._path._core.wait_into(self._number, _bytes(place), timeout)

    def cancel(self) -> None:
        """Gives up a request for a message; one that came for it is the next one again."""
        self._path._core.cancel(self._number)


class Path:
    """One end of a path; `listen` and `open` make one. Any number of threads may use it at once.

    As a context manager it is closed at the end: everything that was sent has arrived then.
    """

    def __init__(self, core: _Path) -> None:
        self._core = core
        self._closed = False

    @property
    def addresses(self) -> list[str]:
        """Where the listening end can be reached, as HOST:PORT; empty at the other end."""
        return self._core.addresses()

    def wait_connected(self, timeout: float | None = None) -> None:
        """Waits until there is a connection. Not needed before sending or receiving."""
        self._core.wait_connected(timeout)

    def send(self, data: Buffer, timeout: float | None = None) -> None:
        """Sends a message. Returns when `data` may be changed again, before it has arrived there.

        Raises TimeoutError if there was no room in the window; then nothing is sent.
        """
        self._core.send(_bytes(data), timeout)

    def isend(self, data: Buffer) -> Request:
        """Begins to send a message, without a copy: leave `data` alone until the request is done."""
        return Request(self, self._core.isend(_bytes(data)), False)

    def receive(self, timeout: float | None = None) -> memoryview:
        """Receives the next message, of whatever length.

        Raises TimeoutError if none came, ClosedError if the other end has closed and all of its messages were
        received.
"""
        return memoryview(self._core.receive(timeout))

    def receive_into(self, place: Buffer, timeout: float | None = None) -> int:
        """Receives the next message into a buffer, such as a NumPy array; its length (bytes).

        Raises UnexpectedError if it is longer than the buffer; then it stays.
        """
        return self._core.receive_into(_bytes(place), timeout)

    def ireceive(self) -> Request:
        """Begins to receive the next message that nobody has asked for yet."""
        return Request(self, self._core.ireceive(), True)

    def probe(self, timeout: float | None = None) -> int:
        """Waits for the next message; its length (bytes). It stays, to be received."""
        return self._core.probe(timeout)

    def send_receive(self, data: Buffer, timeout: float | None = None) -> memoryview:
        """Sends a message and receives one, both at once.

        Raises TimeoutError if none came; `data` was sent all the same.
        """
        return memoryview(self._core.send_receive(_bytes(data), timeout))

    def barrier(self, timeout: float | None = None) -> None:
        """Waits until the other end calls it as well.

        If that took too long, the next call waits for the same barrier.
        """
        self._core.barrier(timeout)

    def set_pace(self, pace: int) -> None:
        """Changes how many bytes in a second this end sends over a long way, at most; 0: as fast as it goes."""
        if not 0 <= pace < 1 << 63:
            raise UsageError(_fault("path-misused", f"pace is a number of bytes in a second, not {pace}"))
        self._core.set_pace(pace)

    @property
    def statistics(self) -> Statistics:
        """What has passed."""
        return Statistics(*self._core.statistics())

    def close(self, timeout: float | None = None) -> None:
        """Waits until everything that was sent has arrived, and ends the path.

        Raises TimeoutError if it has not arrived; the path is ended all the same. The other end raises
        ClosedError when it has received everything. Closing it again does nothing.
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
    """Makes the end that listens: at HOST:PORT, or :PORT on all interfaces; port 0 is any that is free.

    Returns at once; what is sent before the other end is there waits. `window`: bytes that may be under way.
    `patience`: for how long the path may be without a connection before it is lost (s). `longest`: the longest
    message that is accepted (bytes). `relays`: files of relays, the nearest first; both ends name the same one
    last. `pace`: bytes in a second that this end sends over a long way, at most; 0: as fast as it goes.

    Raises UsageError if the address, the key or an option makes no sense, TransportError if the port is taken.
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
    """Opens a path to the end that listens, or will, at one of these addresses (HOST:PORT), or at the last
    relay.

    Returns at once. `streams`: connections, 1 to 256; 0: as many as the link needs. All else is as for
    `listen`. """
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

    That one listens, unless another program there does so already. Returns at once. All else is as for `listen`
    and `open`.
"""
    options = _options(streams, encrypt, window, patience, compress, longest, relays, pace)
    return Path(_Path.meet(os.fspath(key), at, options))


def cycle(source: Path, target: Path, timeout: float | None = None) -> int:
    """Receives a message from one path and sends it on by another one; its length (bytes).

    Waits, as `Path.send` does, while the other one has no room.
    """
    message = source.receive(timeout)
    target.send(message, timeout)
    return message.nbytes
