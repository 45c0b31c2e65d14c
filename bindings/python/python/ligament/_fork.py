"""Python functions as components. Each of their instances is a forked process of the script. All of them are
forked from the calling thread before the run begins, and wait on a pipe for their environment. So they inherit
no descriptors and no threads of the runtime."""

import json
import logging
import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from . import _logging
from ._ligament import _die_with_parent, _raise_open_files


class Waiting:
    """Forked processes that wait until they are told which instance they are."""

    def __init__(self) -> None:
        self._pipes: dict[str, tuple[int, int]] = {}
        self._open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
        # One descriptor for each process that waits.
        _raise_open_files()

    def fork(self, instance: str, function: Callable[[], Any]) -> None:
        """Forks the process of an instance."""
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        with warnings.catch_warnings():
            # Libraries such as OpenBLAS have threads that do not survive a fork, and can handle it.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            os.close(writing)
            for _, other in self._pipes.values():
                os.close(other)
            resource.setrlimit(resource.RLIMIT_NOFILE, self._open_files)
            _child(parent, reading, function)
        os.close(reading)
        self._pipes[instance] = (pid, writing)

    def start(
        self,
        instance: str,
        environment: dict[str, str],
        directory: os.PathLike[str],
        output: os.PathLike[str],
        cores: list[int],
    ) -> int:
        """Gives a process its environment, and returns its number."""
        pid, writing = self._pipes.pop(instance)
        what = {"environment": environment, "directory": os.fspath(directory), "output": os.fspath(output),
                "cores": list(cores)}
        with open(writing, "w", encoding="utf-8") as pipe:
            json.dump(what, pipe)
        return pid

    def end(self) -> None:
        """Ends the processes that were not started."""
        while self._pipes:
            _, (pid, writing) = self._pipes.popitem()
            os.close(writing)
            os.waitpid(pid, 0)


def _child(parent: int, reading: int, function: Callable[[], Any]) -> NoReturn:
    """Runs a forked process from its start to its end. It never returns to the script."""
    status = 1
    try:
        if not _die_with_parent(parent):
            os._exit(1)
        # The process has a group of its own: Ctrl-C is for the script, which ends the run in order.
        os.setpgid(0, 0)
        with open(reading, encoding="utf-8") as pipe:
            told = pipe.read()
        if not told:
            os._exit(0)
        status = _live(json.loads(told), function)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _live(what: dict[str, Any], function: Callable[[], Any]) -> int:
    os.environ.update(what["environment"])
    os.chdir(what["directory"])
    if what["cores"]:
        os.sched_setaffinity(0, what["cores"])
    output = os.open(what["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.close(nothing)
    # The streams are flushed even if the script has replaced them, as notebooks do.
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _logging.forget()
    try:
        function()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        if status:
            _logging.report(leaving)
        else:
            _logging.sign_off()
        return status
    except BaseException as error:
        traceback.print_exc()
        _logging.report(error)
        return 1
    _logging.sign_off()
    logging.shutdown()
    return 0
