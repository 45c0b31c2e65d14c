"""Questions to `performance.sqlite`."""

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

_MOMENTS = {"start": "start_time", "stop": "stop_time"}
_AGGREGATES = ("mean", "sum")


class ProfileDatabase:
    """The profile of a run. Use it as a context manager, which closes the file.

    Args:
        db_file: The file ``performance.sqlite`` of a run.
    """

    def __init__(self, db_file: str | Path) -> None:
        self._file = Path(db_file)
        if not self._file.is_file():
            raise FileNotFoundError(f"there is no profile {self._file}; muscle_manager writes it as a run ends")
        self._database = sqlite3.connect(f"{self._file.resolve().as_uri()}?mode=ro", uri=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def instance_stats(self) -> tuple[list[str], list[float], list[float], list[float]]:
        """Returns four lists of one length: the names of the instances, and for each the time (s) that it
        computed, that it sent and received, and that it waited for messages."""
        spans = self._by_instance("select instance, min(start_time), max(stop_time)")
        sums = {
            kind: self._by_instance("select instance, sum(stop_time - start_time)", kind)
            for kind in ("SEND", "RECEIVE", "RECEIVE_WAIT")
        }
        names = sorted(spans)
        waits = [_seconds(sums["RECEIVE_WAIT"], name) for name in names]
        transfers = [
            _seconds(sums["SEND"], name) + _seconds(sums["RECEIVE"], name) - wait
            for name, wait in zip(names, waits, strict=True)
        ]
        computed = [
            (spans[name][1] - spans[name][0]) * 1e-9 - transfer - wait
            for name, transfer, wait in zip(names, transfers, waits, strict=True)
        ]
        return names, computed, transfers, waits

    def resource_stats(self) -> dict[str, dict[str, float]]:
        """Returns for each core (``node:core``) the time (s) of each instance on it. A run of Ligament does not
        record cores, so its profile gives an empty dict."""
        names, computed, transfers, _ = self.instance_stats()
        active = {name: one + two for name, one, two in zip(names, computed, transfers, strict=True)}
        cores: dict[str, dict[str, float]] = {}
        rows = self._database.execute(
            "select node, core, name from assigned_cores join instances on instance_oid = instances.oid"
        )
        for node, core, name in rows:
            cores.setdefault(f"{node}:{core}", {})[name] = active.get(name, 0.0)
        return cores

    def time_taken(
        self,
        *,
        etype: str,
        instance: str | None = None,
        port: str | None = None,
        slot: int | None = None,
        time: str | None = "start",
        etype2: str | None = None,
        port2: str | None = None,
        slot2: int | None = None,
        time2: str | None = "stop",
        aggregate: str = "mean",
    ) -> float:
        """Returns the time (ns) from one moment to another one, over all events that fit.

        Args:
            etype: The kind of the event at which the time begins, such as "SEND".
            instance: The instance; ``%`` stands for any text.
            port: The port of the event.
            slot: The slot of the event.
            time: "start" or "stop": the moment of the event.
            etype2: The kind of the event at which the time ends; by default the same, as for the next two.
            port2: Its port.
            slot2: Its slot.
            time2: "start" or "stop".
            aggregate: "mean" or "sum".

        Raises:
            RuntimeError: There are not as many ends as beginnings, or none at all for a mean.
            ValueError: An argument has none of these values.
        """
        if aggregate not in _AGGREGATES:
            raise ValueError(f"the aggregate is one of {_AGGREGATES}, not {aggregate!r}")
        begins = self._moments(etype, instance, port, slot, time or "start")
        ends = self._moments(
            etype2 or etype, instance, port2 or port, slot if slot2 is None else slot2, time2 or "stop"
        )
        if len(begins) != len(ends):
            raise RuntimeError(f"{len(begins)} events begin, and {len(ends)} end: no time can be taken")
        if not begins:
            if aggregate == "sum":
                return 0.0
            raise RuntimeError(f"no event {etype} fits, so there is no mean")
        total = sum(ends) - sum(begins)
        return total if aggregate == "sum" else total / len(begins)

    def events(self, kinds: tuple[str, ...]) -> list[tuple[str, str, int, int]]:
        """Returns instance, kind, begin and end (ns since 1970) of all events of these kinds, by their begin.
        """
        marks = ", ".join("?" * len(kinds))
        question = f"select instance, type, start_time, stop_time from all_events where type in ({marks})"
        return self._database.execute(f"{question} order by start_time", kinds).fetchall()

    def _moments(
        self, kind: str, instance: str | None, port: str | None, slot: int | None, moment: str
    ) -> list[int]:
        if moment not in _MOMENTS:
            raise ValueError(f'a moment of an event is "start" or "stop", not {moment!r}')
        question, values = f"select {_MOMENTS[moment]} from all_events where type = ?", [kind]
        for column, comparison, value in (
            ("instance", "like", instance),
            ("port", "=", port),
            ("slot", "=", slot),
        ):
            if value is not None:
                question += f" and {column} {comparison} ?"
                values.append(value)
        return [row[0] for row in self._database.execute(question, values)]

    def _by_instance(self, columns: str, kind: str | None = None) -> dict[str, tuple]:
        chosen, values = ("", ()) if kind is None else (" where type = ?", (kind,))
        rows = self._database.execute(f"{columns} from all_events{chosen} group by instance", values)
        return {name: tuple(rest) for name, *rest in rows}


def _seconds(sums: dict[str, tuple], name: str) -> float:
    return sums.get(name, (0,))[0] * 1e-9
