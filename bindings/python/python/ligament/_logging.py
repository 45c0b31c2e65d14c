"""Python's `logging`, forwarded to the run's log; and the reason of an uncaught exception, told to the run."""

import atexit
import logging
import os
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._enums import LogLevel
from ._ligament import _fault

if TYPE_CHECKING:
    from ._instance import Instance

_instances: "weakref.WeakSet[Instance]" = weakref.WeakSet()
_installed = False
_MOST_KEPT = 1000


class RunLogHandler(logging.Handler):
    """Forwards records to the log of the run that an instance takes part in.

    Records that come while the instance is in the middle of a call, from other threads say, are kept and
    written with the next one.
"""

    def __init__(self, instance: Callable[[], Any]) -> None:
        """`instance` gives the instance whose lines these are, as a weak reference does."""
        super().__init__()
        self._instance = instance
        self._kept: deque[tuple[LogLevel, str]] = deque(maxlen=_MOST_KEPT)
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._kept.append((LogLevel.from_python(record.levelno), self.format(record)))
            self.flush()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Writes what has been kept, if the instance is free."""
        instance = self._instance()
        if instance is None:
            return
        while self._kept:
            level, text = self._kept[0]
            if not instance._try_log(level, text):
                return
            self._kept.popleft()


_OWN = os.path.dirname(__file__) + os.sep
# The records of others that Ligament causes: an array of a received message may not be changed.
_OF_OTHERS = (
    ("read-only-array", "assignment destination is read-only"),
    ("read-only-array", "output array is read-only"),
    ("read-only-array", "sort array is read-only"),
)


def describe(error: BaseException) -> str:
    """An exception as the run is told it: what it is, then the line of the user's that it comes from."""
    what = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    while frames and frames[-1].filename.startswith((_OWN, "<frozen importlib")):
        frames.pop()
    if frames:
        last = frames[-1]
        what = f"{what} ({last.filename}:{last.lineno}, in {last.name})"
    codes = (code for code, text in _OF_OTHERS if text in what)
    return _fault(next(codes, ""), what)


def is_good_end(error: BaseException) -> bool:
    """True if this is how a program leaves that has done its work: ``sys.exit(0)``."""
    return isinstance(error, SystemExit) and not error.code


def report(error: BaseException) -> None:
    """Ends the run of every instance of this process that has not ended, because of this exception."""
    for instance in list(_instances):
        try:
            instance.error_shutdown(describe(error))
        except Exception as second:
            text = _fault("signing-off-failed", f"ligament: the run could not be told of the error: {second}")
            print(text, file=sys.stderr)


def watch(instance: "Instance") -> None:
    """Reports uncaught exceptions for this instance, and signs it off when the program ends with exit status
    0."""
    global _installed
    _instances.add(instance)
    if _installed:
        return
    _installed = True
    before = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        report(error)
        before(kind, error, trace)

    sys.excepthook = excepthook
    atexit.register(leave)
    # A child that this process forks is not the instance: its exceptions and its end are its own.
    os.register_at_fork(after_in_child=forget)


def forget() -> None:
    """In a forked process: the instances, and their places in Python's logging, are the parent's."""
    for handler in list(logging.getLogger().handlers):
        if isinstance(handler, RunLogHandler):
            logging.getLogger().removeHandler(handler)
    _instances.clear()


def leave() -> None:
    """The program ends, with a status that is not known yet: every instance that has not ended waits for it."""
    _end_each(lambda instance: instance._leave())


def sign_off() -> None:
    """Signs off every instance of this process that has not ended."""
    _end_each(lambda instance: instance.finish())


def _end_each(end: "Callable[[Instance], None]") -> None:
    for instance in list(_instances):
        try:
            instance._log_handler.flush()
            end(instance)
        except Exception as error:
            print(_fault("signing-off-failed", f"ligament: signing off: {error}"), file=sys.stderr)
