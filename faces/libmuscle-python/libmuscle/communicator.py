"""The message as programs see it."""

from typing import Any

from ymmsl.v0_2 import Settings


class Message:
    """A message to be sent, or that was received.

    Attributes:
        timestamp: The model time (s) for which the data is valid.
        next_timestamp: The model time (s) of the next message on this port, or None.
        data: Numbers, texts, lists, dicts, NumPy arrays, `Grid` or `Settings`; or None.
        settings: The overlay that goes with the message, or None.
    """

    def __init__(
        self,
        timestamp: float,
        next_timestamp: float | None = None,
        data: Any = None,
        settings: Settings | None = None,
    ) -> None:
        self.timestamp = float(timestamp)
        self.next_timestamp = None if next_timestamp is None else float(next_timestamp)
        self.data = data
        self.settings = settings
