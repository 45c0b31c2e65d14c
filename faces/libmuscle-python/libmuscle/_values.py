"""Values of messages and settings, from the types of this face to Ligament's, and back."""

from typing import Any

import ligament
import numpy as np
from ymmsl.v0_2 import Settings

from libmuscle.communicator import Message
from libmuscle.grid import Grid

_new, _ndarray = object.__new__, np.ndarray
# A value of one of these types is the same on both sides.
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, bytearray, np.ndarray})


def to_ligament(value: Any) -> Any:
    """Returns the value that Ligament sends for this one."""
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, Grid):
        return _of_grid(value)
    if isinstance(value, np.ndarray):
        return _without_mask(value)
    if isinstance(value, memoryview):
        return value.tobytes()  # also one of numbers, which Ligament would send as an array
    if isinstance(value, Settings):
        return settings_to_ligament(value)
    if isinstance(value, dict):
        return {key: to_ligament(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_ligament(item) for item in value]
    return value


def _of_grid(grid: Grid) -> Any:
    array = _without_mask(grid.array)
    if grid.indexes is None or len(grid.indexes) == 0:
        return array
    if isinstance(grid.indexes, str) or not all(isinstance(name, str) for name in grid.indexes):
        raise TypeError(f"the names of a grid's indexes are a list of texts, not {grid.indexes!r}")
    return ligament.Array(array, grid.indexes)


def _without_mask(array: Any) -> Any:
    """Returns the array as MUSCLE 3 sends it: the fill value stands for each element that is masked."""
    return array.filled() if isinstance(array, np.ma.MaskedArray) else array


def from_ligament(value: Any) -> Any:
    """Returns the value that a program of MUSCLE 3 expects for one that Ligament has received. An array is a
    `Grid`."""
    kind = type(value)
    if kind is np.ndarray:
        return Grid(value)
    if kind in PLAIN:
        return value
    if kind is ligament.Array:
        return Grid(value.array, value.names)
    if kind is ligament.Settings:
        return settings_from_ligament(value)
    if kind is dict:
        return {key: from_ligament(item) for key, item in value.items()}
    if kind is list:
        return [from_ligament(item) for item in value]
    return value


def settings_to_ligament(settings: Settings) -> ligament.Settings:
    """Returns the same settings in Ligament's type."""
    return ligament.Settings({str(name): value for name, value in settings.items()})


def settings_from_ligament(settings: ligament.Settings | None) -> Settings:
    """Returns the same settings in yMMSL's type; none at all for None."""
    return Settings() if settings is None else Settings(settings.as_dict())


def message_from_ligament(got: ligament.Message) -> Message:
    """Returns the message as a program of MUSCLE 3 expects it, without its overlay."""
    # The constructors would check again what Ligament has checked, and each message would pay for it.
    message = _new(Message)
    message.timestamp = got.timestamp
    message.next_timestamp = got.next_timestamp
    data = got.data
    if type(data) is _ndarray:
        grid = message.data = _new(Grid)
        grid.array = data
        grid.indexes = None
    else:
        message.data = data if data is None else from_ligament(data)
    message.settings = None
    return message


def message_to_ligament(message: Message) -> ligament.Message:
    """Returns the message in Ligament's type."""
    data, settings = message.data, message.settings
    if type(data) not in PLAIN:
        data = to_ligament(data)
    if settings is None:
        return ligament.Message(message.timestamp, message.next_timestamp, data)
    return ligament.Message(message.timestamp, message.next_timestamp, data, settings_to_ligament(settings))


# A checkpoint of Ligament holds no overlay of its message. A state with one is saved as a dict of these two.
_STATE, _OVERLAY = "libmuscle:state", "libmuscle:settings"


def state_to_ligament(message: Message) -> ligament.Message:
    """Returns the message that is saved for one with a code's state."""
    converted = message_to_ligament(message)
    if message.settings:
        converted.data = {_STATE: converted.data, _OVERLAY: converted.settings}
    converted.settings = None
    return converted


def state_from_ligament(got: ligament.Message) -> Message:
    """Returns the message that was saved; its settings are never None, as in MUSCLE 3."""
    overlay = None
    if type(got.data) is dict and got.data.keys() == {_STATE, _OVERLAY}:
        overlay = got.data[_OVERLAY]
        got.data = got.data[_STATE]
    message = message_from_ligament(got)
    message.settings = settings_from_ligament(overlay)
    return message
