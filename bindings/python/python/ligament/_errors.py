"""The exceptions that Ligament raises. All are `Error`; those that Python has a word for are that as well."""

import builtins
from typing import Any


class Error(RuntimeError):
    """Anything that Ligament found wrong."""

    def __str__(self) -> str:
        # KeyError, among the bases of some, would show its text in quotes.
        return str(self.args[0]) if len(self.args) == 1 else Exception.__str__(self)


class RegistrationError(Error):
    """There is no run to take part in, or it refused this instance."""


class UsageError(Error):
    """The library was used in a way that cannot work: an unknown port, a call at the wrong moment."""


class UnsendableError(UsageError, TypeError):
    """A value is of a type that messages cannot hold."""


class UnexpectedError(Error):
    """A message is not what was asked for: another type, another shape."""


class ClosedError(Error):
    """The conduit has ended: nothing more will come on this port."""


class TimeoutError(Error, builtins.TimeoutError):
    """Nothing came within the time allowed."""


class SettingError(Error):
    """A setting cannot be had or made."""


class SettingUnsetError(SettingError, KeyError):
    """The setting is not set for this instance."""


class SettingTypeError(SettingError, TypeError):
    """The setting's value is of another type."""


class OutOfMemoryError(Error, MemoryError):
    """The message cannot be stored: not enough memory in the run."""


class RunEndsError(Error):
    """The run is ending, for the reason given."""


class TransportError(Error):
    """The system, or data from another process, failed."""


class ModelError(Error):
    """A model cannot be built, read or run.

    `problems` lists everything that is wrong, where a check has found it.
    """

    def __init__(self, text: str, problems: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        self.problems = list(problems)


class RunError(Error):
    """A run failed. The text begins with the reason; `result` tells the rest."""

    def __init__(self, text: str, result: object = None) -> None:
        super().__init__(text)
        self.result = result
