"""The messages of an instance, as lines of a file that is compared."""

import numpy as np
from libmuscle import Grid
from ymmsl import Settings


def shown(value):
    """A text that is the same for equal values, with the types of numbers."""
    if isinstance(value, Grid):
        array = value.array
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        return f"Grid({array.dtype} {array.shape} {order} {array.tolist()} {value.indexes})"
    if isinstance(value, Settings):
        return f"Settings({sorted((str(name), item) for name, item in value.items())})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {shown(item)}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, np.ndarray):
        return f"array({value.dtype} {value.tolist()})"
    return repr(value)


class Record:
    """The record of one instance: `NAME.record` in the working directory."""

    def __init__(self, instance):
        self.file = open(f"{instance._instance_id}.record", "w", buffering=1)

    def write(self, text):
        print(text, file=self.file)

    def message(self, what, port, slot, message):
        settings = "" if message.settings is None else f" {shown(message.settings)}"
        self.write(f"{what} {port} {slot} {message.timestamp!r} {message.next_timestamp!r}"
                   f" {shown(message.data)}{settings}")

    def send(self, instance, port, message, slot=None):
        self.message("send", port, slot, message)
        instance.send(port, message, slot)

    def receive(self, instance, port, slot=None, **how):
        message = instance.receive(port, slot, **how)
        self.message("receive", port, slot, message)
        return message
