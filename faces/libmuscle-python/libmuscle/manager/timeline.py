"""Reads the timeline of a run (docs/reference/timeline.md) as events of MUSCLE 3's profile."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from libmuscle.profiling import ProfileEventType

# The kinds of events that an interval with this activity is. `slots` and `memory` are waits of a sender.
_KINDS = {
    "message": (ProfileEventType.RECEIVE, ProfileEventType.RECEIVE_WAIT),
    "any": (ProfileEventType.RECEIVE, ProfileEventType.RECEIVE_WAIT),
    "receive": (ProfileEventType.RECEIVE, ProfileEventType.RECEIVE_TRANSFER),
    "send": (ProfileEventType.SEND,),
    "room": (ProfileEventType.SEND,),
    "slots": (ProfileEventType.SEND,),
    "memory": (ProfileEventType.SEND,),
}


class Event(NamedTuple):
    """One event. Times are in ns since 1970, UTC."""

    instance: str
    kind: ProfileEventType
    start: int
    stop: int
    port: str | None = None
    model_time: float | None = None


class _Cause(NamedTuple):
    activity: str
    port: str | None


def start_of(header: dict[str, object]) -> int:
    """Returns the time of day of the timeline's time 0, in ns since 1970."""
    started = datetime.fromisoformat(str(header["started"]))
    return int(started.timestamp()) * 1_000_000_000 + started.microsecond * 1000


class Timeline:
    """The timeline of one run: its instances, and their events in the file's order."""

    def __init__(self, path: Path) -> None:
        """Opens the file of a run.

        Raises:
            RuntimeError: It is not a timeline that this version can read.
        """
        self._path = path
        with open(path, encoding="utf-8") as file:
            if file.readline().split() != ["ligament", "timeline", "1"]:
                raise RuntimeError(f"{path}: line 1: this is not a timeline of version 1")
            self._start = start_of(json.loads(file.readline()))
        self.instances: dict[str, str] = {}
        for fields in self._lines("i"):
            self.instances[fields[0]] = fields[2]

    def _lines(self, kinds: str) -> Iterator[list[str]]:
        with open(self._path, encoding="utf-8") as file:
            for number, line in enumerate(file):
                if number > 1 and line.endswith("\n") and line[0] in kinds:
                    fields = line.split()
                    yield fields[1:] if len(kinds) == 1 else fields

    def events(self) -> Iterator[Event]:
        """Yields all events. A period, which stands for many intervals, is one event as long as its share."""
        causes: dict[str, _Cause] = {}
        now: dict[str, int] = {}
        for kind, *fields in self._lines("cbxpe"):
            if kind == "c":
                causes[fields[0]] = _Cause(fields[2], None if fields[3] == "-" else fields[3])
                continue
            number = fields[0]
            name = self.instances[number]
            if kind == "b":
                now[number] = self._start + int(fields[1])
                for moment in (ProfileEventType.REGISTER, ProfileEventType.CONNECT):
                    yield Event(name, moment, now[number], now[number])
            elif kind == "e":
                end = self._start + int(fields[1])
                for moment in (ProfileEventType.DISCONNECT_WAIT, ProfileEventType.DEREGISTER):
                    yield Event(name, moment, end, end)
            else:
                begin = now[number] + (int(fields[1]) if kind == "x" else 0)
                length = int(fields[2]) if kind == "x" else int(fields[1])
                now[number] = begin + length
                cause = causes.get(fields[3] if kind == "x" else fields[2])
                stop = begin + (length if kind == "x" else _share(length, fields[3]))
                yield from _of_interval(name, cause, begin, stop, fields[-1])


def _share(length: int, share: str) -> int:
    return int(share) if share != "-" else length


def _of_interval(
    name: str, cause: _Cause | None, begin: int, stop: int, model_time: str
) -> Iterator[Event]:
    if cause is None:
        return
    port = cause.port and cause.port.rpartition(".")[2]
    time = None if model_time == "-" else float(model_time)
    for kind in _KINDS.get(cause.activity, ()):
        yield Event(name, kind, begin, stop, port, time)
