"""One instance for all ranks of an MPI program, with mpi4py (https://mpi4py.readthedocs.io).

    from ligament.mpi import Instance

    instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
    while instance.reuse_instance():
        start = instance.receive_all("start")       # the message, on all ranks
        ...
        if instance.root:
            instance.root.send("end", Message(start.timestamp, data=result))

Rank 0 speaks for all. What concerns all ranks is collective: all call it together, and all get the same result or the same
error. Everything else is rank 0's, through `root`, which is None on the other ranks. While rank 0 waits for a message the
others sleep, for a tenth of the time that they have waited and at most 10 ms, and let MPI go on in between.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from . import Instance as _Single
from ._errors import Error
from ._ligament import Message

__all__ = ["Instance"]

# The longest sleep between two looks, in seconds, and how long a rank looks on before its first.
_SLEEP, _LOOKS = 0.01, 0.0002
# What rank 0 tells first: whether the call went well, and whether an array follows.
_DONE, _ARRAY, _FAILED = 0, 1, 2


class Instance:
    """An instance of which each rank of a communicator is a part. Making one is collective.

    Args:
        ports: as for `ligament.Instance`; only those of rank 0 count.
        comm: the communicator, `MPI.COMM_WORLD` if none is given. It is duplicated.
        **options: as for `ligament.Instance`.

    Raises:
        RegistrationError: there is no run, or it refused the instance; on all ranks.
    """

    def __init__(self, ports: Any = None, comm: Any = None, **options: Any) -> None:
        from mpi4py import MPI

        self._comm = (comm or MPI.COMM_WORLD).Dup()
        self.root: _Single | None = None
        self.root = self._together(lambda: _Single(ports, **options), tell=False)

    @property
    def comm(self) -> Any:
        """The communicator of all ranks, which is this instance's own."""
        return self._comm

    def reuse_instance(self) -> bool:
        """Whether to go through the execution loop (again), on all ranks. Collective; otherwise as
        `ligament.Instance.reuse_instance`."""
        return self._together(lambda: self.root.reuse_instance())

    def receive(self, port: str, slot: int | None = None, **options: Any) -> Message | None:
        """Receives a message, which rank 0 gets, and the others None. Collective; otherwise as `ligament.Instance.receive`."""
        return self._together(lambda: self.root.receive(port, slot, **options), tell=False)

    def receive_all(self, port: str, slot: int | None = None, **options: Any) -> Message:
        """Receives a message, which all ranks get. Arrays of numbers are read-only; on rank 0 they are views. Collective;
        otherwise as `ligament.Instance.receive`."""
        return self._together(lambda: self.root.receive(port, slot, **options))

    def receive_into(self, port: str, array: Any, slot: int | None = None, **options: Any) -> Message:
        """Receives an array into that of each rank, which all have the same type and shape and lie together. Collective;
        otherwise as `ligament.Instance.receive_into`."""

        def call() -> tuple[float, float | None]:
            message = self.root.receive_into(port, array, slot, **options)
            return message.timestamp, message.next_timestamp

        times = self._together(call)
        self._comm.Bcast(array, root=0)
        return Message(*times, array)

    def get_setting(self, name: str, *options: Any) -> Any:
        """A setting, on all ranks. Collective; otherwise as `ligament.Instance.get_setting`."""
        return self._together(lambda: self.root.get_setting(name, *options))

    def finish(self) -> None:
        """Ends the instance. Collective; otherwise as `ligament.Instance.finish`."""
        self._together(lambda: self.root.finish())

    def _together(self, call: Any, tell: bool = True) -> Any:
        """What rank 0's call gives; on the other ranks the same, or None if that is not told. An error is everybody's."""
        outcome = np.zeros(1, dtype=np.int64)
        if self._comm.rank != 0:
            self._await(self._comm.Ibcast(outcome, root=0))
            return self._hear(int(outcome[0]))
        result = error = None
        try:
            result = call()
        except Error as failure:
            error = failure
        as_array = tell and _is_plain(result)
        outcome[0] = _FAILED if error else _ARRAY if as_array else _DONE
        self._comm.Ibcast(outcome, root=0).Wait()
        if error:
            self._comm.bcast((type(error), str(error)), root=0)
            raise error
        if as_array:
            data = np.ascontiguousarray(result.data)
            self._comm.bcast((result.timestamp, result.next_timestamp, data.shape, data.dtype), root=0)
            self._comm.Bcast(data, root=0)
        else:
            self._comm.bcast(_told(result) if tell else None, root=0)
        return result

    def _hear(self, outcome: int) -> Any:
        told = self._comm.bcast(None, root=0)
        if outcome == _FAILED:
            kind, text = told
            raise kind(text)
        if outcome == _ARRAY:
            timestamp, next_timestamp, shape, dtype = told
            data = np.empty(shape, dtype)
            self._comm.Bcast(data, root=0)
            data.flags.writeable = False
            return Message(timestamp, next_timestamp, data)
        return Message(*told[1]) if isinstance(told, tuple) and told[0] is Message else told

    @staticmethod
    def _await(request: Any) -> None:
        began = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - began
            time.sleep(min(waited / 10, _SLEEP) if waited > _LOOKS else 0)


def _is_plain(result: Any) -> bool:
    """Whether this is a message with an array that MPI can send as it is."""
    data = getattr(result, "data", None)
    return isinstance(result, Message) and isinstance(data, np.ndarray) and data.dtype.kind in "iufc" and data.size > 0


def _told(result: Any) -> Any:
    """What is pickled for the other ranks."""
    if isinstance(result, Message):
        return (Message, (result.timestamp, result.next_timestamp, result.data))
    return result
