"""One instance for all ranks of an MPI program, with mpi4py (https://mpi4py.readthedocs.io).

    from ligament.mpi import Instance

    instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["end"]})
    while instance.reuse_instance():
        start = instance.receive_all("start")       # the message, on all ranks
        ...
        if instance.root:
            instance.root.send("end", Message(start.timestamp, data=result))

Rank 0 speaks for all ranks. The calls of this class are collective: all ranks make them together, and all get
the same result or the same error. Rank 0 makes all other calls, through `root`, which is None on the other
ranks. While rank 0 waits for a message, the others sleep: each time for a tenth of the time that they have
waited, and at most 10 ms. Between two sleeps they let MPI make progress.

If a rank makes another call than rank 0, or ends before the instance is over (by an exception, for example),
the program ends on all ranks, because the others would wait for ever. `ligament status` names the ranks that
are missing from a call.
"""

from __future__ import annotations

import atexit
import fcntl
import mmap
import os
import stat
import sys
import termios
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import Instance as _Single
from ._errors import Error, UsageError
from ._ligament import Message

__all__ = ["Instance"]

# The longest sleep between two looks, in s, and the time for which a rank looks before its first sleep, in s.
_SLEEP, _LOOKS = 0.01, 0.0002
# The first number that rank 0 sends: the result of the call, and if an array follows.
_DONE, _ARRAY, _FAILED = 0, 1, 2
# The numbers of the calls, the same as in ligament_mpi.h for those that it has.
_CALLS = [
    "nothing", "create", "reuse_instance", "receive", "receive_into", "finish", "free", "receive_all",
    "get_setting",
    "steer", "resuming", "load_snapshot", "should_init", "should_save_snapshot", "save_snapshot",
    "should_save_final_snapshot", "save_final_snapshot", "snapshot_directory",
]
# Rank 0's message about a call, and the call's number.
_OUTCOME = np.dtype([("outcome", "i8"), ("call", "i8"), ("bytes", "i8"), ("port", "S40")])
# The layout of the page that ligament_mpi.h describes: a word, and a line for each rank.
_WORD = np.dtype(
    [("calls", "u4"), ("sleepers", "u4"), ("token", "V16"), ("version", "u4"), ("ranks", "u4"),
     ("unused", "V32")]
)
_LINE = np.dtype(
    [("calls", "u4"), ("call", "u4"), ("process", "u4"), ("is_in", "u4"), ("since", "u8"), ("port", "S40")]
)
_VERSION, _ROOM = 1, 4096
_EACH_RANK = (
    'the model says under "ranks:" that each rank of this instance speaks for itself; make an instance of the '
    'ordinary '
    'kind on every rank, or take it out of "ranks:"'
)


class Instance:
    """An instance that all ranks of a communicator form together. Making one is collective.

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
        self._part = _Part(self._comm)
        self.root: _Single | None = None
        self.root = self._together("create", lambda: _for_all(_Single(ports, **options)), tell=False)

    @property
    def comm(self) -> Any:
        """The communicator of all ranks, which belongs to this instance."""
        return self._comm

    def reuse_instance(self) -> bool:
        """Returns true, on all ranks, if the code is to go through its execution loop once more. Collective;
        otherwise as `ligament.Instance.reuse_instance`."""
        again = self._together("reuse_instance", lambda: self.root.reuse_instance())
        self._part.goes_on = again
        return again

    def receive(self, port: str, slot: int | None = None, **options: Any) -> Message | None:
        """Receives a message on rank 0, and returns None on the others. Collective; otherwise as
        `ligament.Instance.receive`."""
        return self._together("receive", lambda: self.root.receive(port, slot, **options), port, tell=False)

    def receive_all(self, port: str, slot: int | None = None, **options: Any) -> Message:
        """Receives a message on all ranks. Arrays of numbers are read-only; on rank 0 they are views.
        Collective; otherwise as `ligament.Instance.receive`."""
        return self._together("receive_all", lambda: self.root.receive(port, slot, **options), port)

    def receive_into(self, port: str, array: Any, slot: int | None = None, **options: Any) -> Message:
        """Receives an array into the array of each rank. All have the same type and shape, and are contiguous.
        Collective; otherwise as `ligament.Instance.receive_into`."""

        def call() -> tuple[float, float | None]:
            message = self.root.receive_into(port, array, slot, **options)
            return message.timestamp, message.next_timestamp

        times = self._together("receive_into", call, port, np.asarray(array).nbytes)
        self._comm.Bcast(array, root=0)
        return Message(*times, array)

    def steer(self, time: float) -> bool:
        """Returns true, on all ranks, if settings have changed. The time, in s, is rank 0's. Collective;
        otherwise as `ligament.Instance.steer`."""
        return self._together("steer", lambda: self.root.steer(time))

    def resuming(self) -> bool:
        """Returns true, on all ranks, in the first pass after the run was resumed. Collective; otherwise as
        `ligament.Instance.resuming`."""
        return self._together("resuming", lambda: self.root.resuming())

    def load_snapshot(self) -> Message | None:
        """Loads the saved message on rank 0, and returns None on the others. Rank 0 gives them what they need
        of it. Collective; otherwise as `ligament.Instance.load_snapshot`."""
        return self._together("load_snapshot", lambda: self.root.load_snapshot(), tell=False)

    def should_init(self) -> bool:
        """Returns true, on all ranks, if the code must set its state from its F_INIT messages. Collective;
        otherwise as `ligament.Instance.should_init`."""
        return self._together("should_init", lambda: self.root.should_init())

    def should_save_snapshot(self, time: float) -> bool:
        """Returns true, on all ranks, if the code must save its state. The time, in s, is rank 0's. Collective;
        otherwise as `ligament.Instance.should_save_snapshot`."""
        return self._together("should_save_snapshot", lambda: self.root.should_save_snapshot(time))

    def save_snapshot(self, message: Message | None = None) -> None:
        """Saves rank 0's message; those of the other ranks do not count. Rank 0 gathers their parts before, or
        they write files in `snapshot_directory`. Collective; otherwise as `ligament.Instance.save_snapshot`."""
        self._together("save_snapshot", lambda: self.root.save_snapshot(message))

    def should_save_final_snapshot(self) -> bool:
        """Returns true, on all ranks, if the code must save its state at the end of a pass. Collective;
        otherwise as `ligament.Instance.should_save_final_snapshot`."""
        return self._together("should_save_final_snapshot", lambda: self.root.should_save_final_snapshot())

    def save_final_snapshot(self, message: Message | None = None) -> None:
        """Saves rank 0's message at the end of a pass. Collective; otherwise as `save_snapshot`."""
        self._together("save_final_snapshot", lambda: self.root.save_final_snapshot(message))

    def snapshot_directory(self) -> Path:
        """The directory for files of the code's own beside the message of a checkpoint, the same on all ranks.
        Collective; otherwise as `ligament.Instance.snapshot_directory`."""
        return self._together("snapshot_directory", lambda: self.root.snapshot_directory())

    def get_setting(self, name: str, *options: Any) -> Any:
        """A setting, on all ranks. Collective; otherwise as `ligament.Instance.get_setting`."""
        return self._together("get_setting", lambda: self.root.get_setting(name, *options), name)

    def finish(self) -> None:
        """Ends the instance. Collective; otherwise as `ligament.Instance.finish`."""
        self._together("finish", lambda: self.root.finish())
        self._part.goes_on = False

    def _together(self, name: str, call: Any, port: str = "", size: int = 0, tell: bool = True) -> Any:
        """Makes rank 0's call, and returns its result on all ranks; with `tell=False`, None on the others. An
        error is raised on all ranks. `name`, `port` and `size` (bytes) must be the same on all ranks."""
        own = self._part.enter(name, port, size)
        try:
            return self._meet(own, call, tell)
        except Error:
            self._part.goes_on = False
            raise
        finally:
            self._part.say(False)

    def _meet(self, own: tuple[int, int, bytes], call: Any, tell: bool) -> Any:
        outcome = np.zeros(1, _OUTCOME)
        if self._comm.rank != 0:
            self._await(self._comm.Ibcast(outcome.view(np.uint8), root=0))
            came, *told = outcome[0].item()
            self._part.compare(own, tuple(told))
            return self._hear(came)
        result = error = None
        try:
            result = call()
        except Error as failure:
            error = failure
        as_array = tell and _is_plain(result)
        outcome[0] = (_FAILED if error else _ARRAY if as_array else _DONE, *own)
        self._comm.Ibcast(outcome.view(np.uint8), root=0).Wait()
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


class _Part:
    """The part of a rank in an instance. `goes_on` is true while the other ranks count on it."""

    def __init__(self, comm: Any) -> None:
        self.goes_on = False
        self._comm = comm
        self._calls = 0
        self._line = _line_of(comm)
        atexit.register(self._at_exit)

    def enter(self, name: str, port: str, size: int) -> tuple[int, int, bytes]:
        """Enters a collective call."""
        own = (_CALLS.index(name), size, str(port).encode()[:39])
        self._calls += 1
        self.goes_on = True
        if self._line is not None:
            self._line["port"], self._line["call"] = own[2], own[0]
        self.say(True)
        return own

    def say(self, is_in: bool) -> None:
        """Writes for viewers of the run the number of this rank's calls, and if it is in the last one."""
        if self._line is not None:
            self._line["since"], self._line["is_in"] = time.time_ns(), is_in
            self._line["calls"] = self._calls

    def compare(self, own: tuple[Any, ...], told: tuple[Any, ...]) -> None:
        """Ends the program if rank 0's call differs from this rank's."""
        if told != own:
            self._give_up(
                f"calls {_in_words(own)} as the collective call {self._calls}, where rank 0 calls "
                f"{_in_words(told)}; "
                "all ranks must make the same calls in the same order, for the same port, and give memory of "
                "the same "
                "size"
            )

    def _at_exit(self) -> None:
        # Called before mpi4py calls MPI_Finalize, in which a rank waits for the others.
        from mpi4py import MPI

        if self.goes_on and self._comm.size > 1 and not MPI.Is_finalized():
            self._give_up("ends before the instance is done; all ranks end it first")

    def _give_up(self, why: str) -> None:
        sys.stdout.flush()
        print(f"ligament: rank {self._comm.rank} {why}", file=sys.stderr, flush=True)
        _be_heard(1)
        _be_heard(2)
        self._comm.Abort(1)


def _be_heard(output: int) -> None:
    """Waits until the launcher has read the output, at most a second: MPICH's launcher loses unread output at
    Abort."""
    try:
        if not stat.S_ISFIFO(os.fstat(output).st_mode):
            return
        for _ in range(1000):
            if not any(fcntl.ioctl(output, termios.FIONREAD, bytes(4))):
                return
            time.sleep(0.001)
    except OSError:
        return


def _line_of(comm: Any) -> Any:
    """Maps this rank's line of a memory that rank 0 makes and the agent reads; None if there is no such memory.
    Collective."""
    room = -(-(_WORD.itemsize + comm.size * _LINE.itemsize) // _ROOM) * _ROOM
    file, place = -1, None
    try:
        if comm.rank == 0:
            token = os.urandom(16)
            # The descriptor stays open until the process ends.
            file = os.memfd_create("ligament-mpi")
            os.truncate(file, room)
            word = np.zeros(1, _WORD)
            word[0] = (0, 0, token, _VERSION, comm.size, b"")
            os.pwrite(file, word.tobytes(), 0)
            place = (os.getpid(), file, token)
    except OSError:
        file = -1
    place = comm.bcast(place, root=0)
    try:
        if comm.rank != 0 and place:
            file = os.open(f"/proc/{place[0]}/fd/{place[1]}", os.O_RDWR | os.O_CLOEXEC)
            # On another node, the descriptor may belong to another process.
            if os.fstat(file).st_size != room or os.pread(file, 16, 8) != place[2]:
                return None
        if file < 0:
            return None
        line = np.frombuffer(mmap.mmap(file, room), _LINE, comm.size, _WORD.itemsize)[comm.rank : comm.rank + 1]
    except OSError:
        return None
    finally:
        if comm.rank != 0 and file >= 0:
            os.close(file)
    line["process"] = os.getpid()
    return line


def _in_words(call: tuple[Any, ...]) -> str:
    return f"{_CALLS[call[0]]}({call[2].decode(errors='replace')!r}) for {call[1]} bytes"


def _for_all(instance: _Single) -> _Single:
    """Makes the instance, unless the model says that each rank speaks for itself."""
    if instance.ranks > 1:
        instance.error_shutdown(_EACH_RANK)
        raise UsageError(_EACH_RANK)
    return instance


def _is_plain(result: Any) -> bool:
    """Returns true if this is a message with an array that MPI can send without pickling it."""
    data = getattr(result, "data", None)
    return isinstance(result, Message) and isinstance(
        data, np.ndarray) and data.dtype.kind in "iufc" and data.size > 0


def _told(result: Any) -> Any:
    """Returns the parts that are pickled for the other ranks."""
    if isinstance(result, Message):
        return (Message, (result.timestamp, result.next_timestamp, result.data))
    return result
