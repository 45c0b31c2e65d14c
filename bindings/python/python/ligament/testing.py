"""Tests of one submodel alone: `play` starts it, sends it messages, and receives its answers.

The command `ligament play` does the same from a case file. This module is for tests that are code: with pytest,
unittest, or neither."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from . import _errors
from ._enums import Operator
from ._errors import ClosedError, RunError, TimeoutError, UsageError
from ._installed import program as command
from ._ligament import Message, Settings, _fault
from ._model import Model
from ._player import parts_of

_SUBMODEL, _PLAYER = "submodel", "player"
_GRACE = 10.0  # time for a run to end after it was told to, in s


def _outside() -> UsageError:
    return UsageError(_fault("bad-argument", "a submodel is played within a block: with play(...) as p:"))


def _check_time(timeout: float | None) -> None:
    if timeout is not None and not timeout >= 0:
        raise UsageError(_fault("bad-argument", f"a timeout cannot be {timeout} s"))


class play:  # noqa: N801  (used as a function)
    """Runs one submodel, with this test at the other end of its conduits.

    Args:
        program: The submodel: an executable, a Python file, or a list of executable and arguments. Names of
            files are those in the working directory of the test.
        f_init, o_i, s, o_f: The names of the submodel's ports of each operator; ``name[]`` is a vector port.
        settings: The run's settings.
        mpi: Number of MPI processes of the submodel, if it is an MPI program.
        execution_model: The launcher of these processes: "openmpi" (the default), "intelmpi" or "srunmpi".
        timeout: Longest time to wait for an answer, and at the end for the submodel, s; None means no limit.
        run_dir: The run directory. By default it is a temporary one, which is kept if the test
            fails.
        manual: If true, the submodel is not started, and its command is printed instead, for example for a
            debugger. Then there is no `program`.

    Raises:
        RunError: The submodel failed; the text has its last lines.
        TimeoutError: The submodel did not answer, or did not end, in time.

    >>> with play("./micro", f_init=["start"], o_f=["end"], settings={"k": 2.0}) as p:
    ...     p.send("start", Message(0.0, data=3.0))
    ...     assert p.receive("end").data == 6.0
"""

    def __init__(
        self,
        program: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        *,
        f_init: Iterable[str] = (),
        o_i: Iterable[str] = (),
        s: Iterable[str] = (),
        o_f: Iterable[str] = (),
        settings: Settings | Mapping[str, Any] | None = None,
        mpi: int | None = None,
        execution_model: str | None = None,
        timeout: float | None = 60.0,
        run_dir: str | PathLike[str] | None = None,
        manual: bool = False,
    ) -> None:
        if (program is None) != manual or (isinstance(program, Sequence) and not program):
            raise UsageError(_fault("bad-argument", "give the submodel's program, or manual=True"))
        if mpi is not None and mpi < 1:
            raise UsageError(_fault("bad-argument", f"a submodel cannot have {mpi} MPI processes"))
        _check_time(timeout)
        ports = {"f_init": f_init, "o_i": o_i, "s": s, "o_f": o_f}
        for operator, names in ports.items():
            if isinstance(names, str):
                raise UsageError(_fault("bad-argument", f'give the ports as a list: {operator}=["{names}"]'))
        self._ports = {operator: list(names) for operator, names in ports.items()}
        self._program, self._manual, self._timeout = program, manual, timeout
        self._mpi, self._execution_model = mpi, execution_model
        self._settings = Settings(settings)
        self._wanted = None if run_dir is None else Path(run_dir).absolute()
        self._home: Path | None = None
        self._run: subprocess.Popen[bytes] | None = None
        self._player: Connection | None = None
        # Only one question may be under way, because answers carry no names.
        self._asking = threading.Lock()

    @property
    def directory(self) -> Path:
        """The run directory, within the block."""
        if self._wanted is None and self._home is None:
            raise _outside()
        return self._wanted or self._made() / "run"

    def send(self, port: str, message: Message, slot: int | None = None) -> None:
        """Sends a message to one of the submodel's receiving ports. It does not wait for the submodel."""
        self._ask("send", port, parts_of(message), slot)

    def receive(self, port: str, slot: int | None = None, timeout: float | None = None) -> Message:
        """Returns the next message of one of the submodel's sending ports.

        Args:
            timeout: Longest time to wait, s; by default, that of `play`.

        Raises:
            ClosedError: The submodel has ended, and sends no more messages.
        """
        _check_time(timeout)
        return Message(*self._ask("receive", port, slot, self._timeout if timeout is None else timeout))

    def poll(self, port: str, slot: int | None = None) -> bool:
        """True if a message of the submodel has arrived."""
        return bool(self._ask("poll", port, slot))

    def set_port_length(self, port: str, length: int) -> None:
        """Sets the number of slots of a vector port of the submodel, before the first message to it."""
        self._ask("set_port_length", port, length)

    def get_port_length(self, port: str) -> int:
        """The number of slots that the submodel has given to one of its sending ports."""
        return int(self._ask("get_port_length", port))

    def __enter__(self) -> Self:
        if self._home is not None:
            raise UsageError(_fault("bad-argument", "a submodel is played once: call play(...) for each block"))
        self._made()
        try:
            self._begin()
        except BaseException:
            self._stop()
            self._clear()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._leave(error)
        except BaseException:
            self._stop()
            raise
        finally:
            if self._player is not None:
                self._player.close()
                self._player = None

    def _leave(self, error: BaseException | None) -> None:
        """Called at the end of the block: ends the run, and raises its error."""
        if isinstance(error, ClosedError) and self._failed():
            raise RunError(self._why(), None) from error
        if error is not None:
            self._stop()
            print(f"run directory: {self.directory}", file=sys.stderr)
            return
        if self._player is None or self._player.closed:
            # A call was interrupted and the block went on: the player has ended, and so has the run.
            raise RunError(self._why(), None)
        with suppress(RunError):
            self._ask("finish")
        try:
            status = self._ended(self._timeout)
        except subprocess.TimeoutExpired:
            self._stop()
            text = f"the submodel did not end within {self._timeout} s of the last message"
            raise TimeoutError(f"{_fault('case-differs', text)}\nRun directory: {self.directory}") from None
        if status != 0:
            raise RunError(self._why(), None)
        self._clear()

    def _made(self) -> Path:
        """Makes the temporary directory, which only this user can read. It holds a socket, whose path must be
        short."""
        if self._home is None:
            self._home = Path(tempfile.mkdtemp(prefix="ligament-play-"))
            if len(os.fsencode(self._home)) > 80:
                self._home.rmdir()
                self._home = Path(tempfile.mkdtemp(prefix="ligament-play-", dir="/tmp"))
        return self._home

    def _begin(self) -> None:
        home = self._made()
        listener = Listener(str(home / "player"), "AF_UNIX")
        try:
            model = home / "model.ymmsl"
            self._model(home / "player").save(model)
            words = [str(command()), "run", str(model), "--quiet", "--run-dir", str(self.directory)]
            if self._manual:
                words += ["--manual", _SUBMODEL]
                how = f"ligament join {self.directory} {_SUBMODEL} -- PROGRAM"
                print(f"start the submodel: {how}", file=sys.stderr, flush=True)
            with (home / "errors").open("wb") as errors:
                self._run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
            waiting = listener._listener._socket  # type: ignore[attr-defined]
            waiting.settimeout(0.1)
            while self._player is None:
                try:
                    self._player = listener.accept()
                except OSError:
                    if self._run.poll() is not None:
                        raise RunError(self._why(), None) from None
        finally:
            listener.close()
        self._ask("begin", {name: list(ports) for name, ports in self._mirrored().items()})

    def _mirrored(self) -> dict[str, list[str]]:
        """The ports of the player: it sends on those on which the submodel receives."""
        return {
            Operator.O_I.name: self._ports["f_init"] + self._ports["s"],
            Operator.S.name: self._ports["o_i"] + self._ports["o_f"],
        }

    def _model(self, player: Path) -> Model:
        model = Model("play")
        if not self._manual:
            words = self._words()
            execution = self._execution_model or ("openmpi" if self._mpi else None)
            model.add_program(f"{_SUBMODEL}_program", words[0], words[1:], execution_model=execution)
        else:
            model.add_program(f"{_SUBMODEL}_program", execution_model="manual")
        model.add(_SUBMODEL, ports=self._ports, implementation=f"{_SUBMODEL}_program")
        model.add(_PLAYER, [sys.executable, "-m", "ligament._player", str(player)], ports=self._mirrored())
        for port in self._ports["f_init"] + self._ports["s"]:
            name = port.removesuffix("[]")
            model.connect(f"{_PLAYER}.{name}", f"{_SUBMODEL}.{name}")
        for port in self._ports["o_i"] + self._ports["o_f"]:
            name = port.removesuffix("[]")
            model.connect(f"{_SUBMODEL}.{name}", f"{_PLAYER}.{name}")
        if self._mpi:
            model.set_resources(_SUBMODEL, mpi_processes=self._mpi)
        model.settings.update(self._settings)
        return model

    def _words(self) -> list[str]:
        """The program and its arguments, with absolute paths, because the submodel works in a directory of its
        own."""
        given = self._program
        words = [fspath(given)] if isinstance(given,
                                              (str, PathLike)) else [fspath(word) for word in given or ()]
        if words and words[0].endswith(".py") and not os.access(words[0], os.X_OK):
            words.insert(0, sys.executable)
        program, *arguments = words
        if "/" in program:
            program = os.path.abspath(program)
        return [program, *(os.path.abspath(word) if os.path.isfile(word) else word for word in arguments)]

    def _ask(self, what: str, *arguments: Any) -> Any:
        """Asks the player to make a call."""
        player = self._player
        if player is None:
            raise _outside()
        if player.closed:
            text = ("a call to this submodel was interrupted, so that no other can be made; leave the block, "
                    "and play it again")
            raise UsageError(_fault("bad-argument", text))
        with self._asking:
            try:
                player.send((what, *arguments))
                error, answer = player.recv()
            except (EOFError, OSError):
                raise RunError(self._why(), None) from None
            except BaseException:
                # The answer may still come, and would be taken for the answer to another question.
                player.close()
                raise
        if error == "RunEndsError":
            raise RunError(self._why(), None)
        if error is not None:
            raise getattr(_errors, error, UsageError)(answer)
        return answer

    def _failed(self) -> bool:
        """Returns true if the submodel's conduits ended because it failed: the run then ends by itself."""
        try:
            return self._ended(1.0) != 0
        except subprocess.TimeoutExpired:
            return False

    def _ended(self, timeout: float | None) -> int:
        assert self._run is not None
        return self._run.wait(timeout)

    def _why(self) -> str:
        """Returns the run's report of its failure, after its end."""
        with suppress(subprocess.TimeoutExpired):
            self._ended(_GRACE)
        said = (self._made() / "errors").read_text(errors="replace").strip()
        return said or f"the run of the submodel ended; see {self.directory}"

    def _stop(self) -> None:
        if self._run is None or self._run.poll() is not None:
            return
        self._run.send_signal(signal.SIGINT)
        try:
            self._ended(_GRACE)
        except subprocess.TimeoutExpired:
            self._run.kill()
            self._run.wait()

    def _clear(self) -> None:
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
