"""Forwards Python's `logging` to the run's log, and tells the run the reason of an uncaught exception."""

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
_MAX_QUEUED_LINES = 1000


class RunLogHandler(logging.Handler):
    """Forwards records to the log of an instance's run.

    A record that comes during a call of the instance, for example from another thread, is stored, and written
    with the next record.
"""

    def __init__(self, instance: Callable[[], Any]) -> None:
        """`instance` is a weak reference to the instance that writes the lines."""
        super().__init__()
        self._instance = instance
        self._kept: deque[tuple[LogLevel, str]] = deque(maxlen=_MAX_QUEUED_LINES)
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._kept.append((LogLevel.from_python(record.levelno), self.format(record)))
            self.flush()
        except Exception:
            self.handleError(record)

    def flush(self) -> None:
        """Writes the stored records, if no call uses the instance."""
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
    """Describes an exception for the run: its class and text, then the line of the user's code that raised
    it."""
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
    """Returns true if the exception is the regular end of a program: ``sys.exit(0)``."""
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
    """Reports uncaught exceptions for this instance, and signs it off if the program ends with exit status
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
    # A forked child is not the instance: its exceptions and its end are its own.
    os.register_at_fork(after_in_child=forget)


def forget() -> None:
    """Runs in a forked child: the instances, and their handlers in Python's logging, belong to the parent."""
    for handler in list(logging.getLogger().handlers):
        if isinstance(handler, RunLogHandler):
            logging.getLogger().removeHandler(handler)
    _instances.clear()


def leave() -> None:
    """Called at the end of the program, whose status is not known yet: the instances that have not ended wait
    for it."""
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
