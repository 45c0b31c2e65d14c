"""The exceptions that Ligament raises. All are `Error`. Those for which Python has an exception are also of
that class."""

import builtins
from typing import Any


class Error(RuntimeError):
    """Any error that Ligament has found."""

    def __str__(self) -> str:
        # KeyError, which is a base of some of these classes, would show its text in quotes.
        return str(self.args[0]) if len(self.args) == 1 else Exception.__str__(self)


class RegistrationError(Error):
    """There is no run to join, or the run refused this instance."""


class UsageError(Error):
    """The code used the library in a way that cannot work: an unknown port, a call at the wrong moment."""


class UnsendableError(UsageError, TypeError):
    """A value is of a type that messages cannot hold."""


class UnexpectedError(Error):
    """A message is not what the caller asked for: another type, another shape."""


class ClosedError(Error):
    """The conduit has ended: no more messages will arrive on this port."""


class TimeoutError(Error, builtins.TimeoutError):
    """No message arrived within the time allowed."""


class SettingError(Error):
    """A setting cannot be read or made."""


class SettingUnsetError(SettingError, KeyError):
    """The setting is not set for this instance."""


class SettingTypeError(SettingError, TypeError):
    """The setting's value is of another type."""


class OutOfMemoryError(Error, MemoryError):
    """The run has too little memory to store the message."""


class RunEndsError(Error):
    """The run is ending, for the reason given."""


class TransportError(Error):
    """The operating system failed, or another process sent wrong data."""


class ModelError(Error):
    """A model cannot be built, read or run. `problems` lists all problems that a check has found."""

    def __init__(self, text: str, problems: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        self.problems = list(problems)


class RunError(Error):
    """A run failed. The text begins with the reason; `result` has the rest."""

    def __init__(self, text: str, result: object = None) -> None:
        super().__init__(text)
        self.result = result
