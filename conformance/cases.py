"""The table of cases for all languages: values of every kind, and the ways to handle each of them."""

import struct
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ligament import Array

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
          "float64",
          "complex64", "complex128")
SHAPES = ((), (0,), (1,), (7,), (3, 4), (3, 0, 2), (2, 3, 4), (2, 3, 2, 2))
LARGE = (1024, 1024)


@dataclass
class Case:
    """A message, its handling in a driver, and the expected result. Without `expected`, the result must equal
    the message."""

    name: str
    way: str
    make: Any
    how: dict = field(default_factory=dict)
    settings: dict | None = None
    expected: Any = None

    def told(self):
        """Returns the order for the drivers."""
        return {"case": self.name, "way": self.way, **self.how}


def bits(dtype, shape, order="C", seed=0):
    """Returns an array of random bits. Floats then include denormals, infinities, and NaNs with payloads."""
    kind = np.dtype(dtype)
    generator = np.random.default_rng([seed, DTYPES.index(dtype)])
    count = int(np.prod(shape, dtype=int))
    if dtype == "bool":
        flat = generator.integers(0, 2, count).astype(bool)
    else:
        flat = np.frombuffer(generator.bytes(count * kind.itemsize), kind).copy()
    return np.asarray(flat.reshape(shape), order=order)


def number(pattern):
    """Returns the float64 with these bits."""
    return struct.unpack("<d", struct.pack("<Q", pattern))[0]


PAYLOAD = number(0x7FF8_0000_DEAD_BEEF)
EVERY_PLANE = "A\0é€\u2028\ufeff\uffff𝄞\U0010ffff naïve ✓ עברית"

SCALARS = {
    "none": None, "true": True, "false": False, "zero": 0, "minus one": -1, "smallest integer": -(2**63),
    "largest integer": 2**63 - 1, "beyond int64": 2**63, "largest unsigned": 2**64 - 1, "0.0": 0.0,
    "-0.0": -0.0,
    "infinity": float("inf"), "a payload": PAYLOAD, "a denormal": number(1),
    "largest number": number(0x7FEF_FFFF_FFFF_FFFF),
    "complex": complex(-0.0, 1.5), "a complex payload": complex(PAYLOAD, number(0x8000_0000_0000_0001)),
    "no text": "", "every plane": EVERY_PLANE, "a long text": "ℓ" * 100_000, "no bytes": b"",
    "all bytes": bytes(range(256)), "many bytes": bytes(range(256)) * 4096, "no list": [], "no map": {},
}


def deep(levels):
    value = "the end"
    for level in range(levels):
        value = [value, level] if level % 2 else {"level": level, "in": value}
    return value


def tree():
    """Returns a map with a value of every kind, nested in lists and maps."""
    return {
        "scalars": list(SCALARS.values()),
        "": {"ключ": [[], {}, [[]], [{"x": None}]]},
        "arrays": {dtype: bits(dtype, (2, 3), order="F" if at % 2 else "C") for at, dtype in enumerate(DTYPES)},
        "named": Array(bits("float64", (2, 3)), names=["x", "y"], unit="mol/m³"),
        "one element": bits("complex64", ()),
        "wide": {f"key {n}": n for n in range(500)},
        "deep": deep(40),
    }


def values():
    for name, value in SCALARS.items():
        yield Case(f"value: {name}", "value", lambda value=value: value)
    yield Case("value: a tree", "value", tree)
    yield Case("value: a named array", "value", lambda: Array(bits("int32", (2, 2)), names=["i", "j"],
                                                              unit="K"))


def arrays():
    for dtype in DTYPES:
        for shape in SHAPES:
            for order in "CF" if len(shape) > 1 else "C":
                yield Case(f"array: {dtype} {shape} {order}", "array", partial(bits, dtype, shape, order))
        yield Case(f"array: {dtype} {LARGE}", "array", partial(bits, dtype, LARGE))
        for shape, order in (((5,), "C"), ((3, 4), "C"), ((2, 3, 4), "F")):
            made = partial(bits, dtype, shape, order, seed=1)
            yield Case(f"strided: {dtype} {shape}", "strided", made)
            yield Case(f"loan: {dtype} {shape}", "loan", made)
            for wanted in "CF" if len(shape) > 1 else "C":
                how = {"dtype": dtype, "shape": list(shape), "order": wanted}
                yield Case(f"into: {dtype} {shape} {order} as {wanted}", "into", made, how)
        yield Case(f"value: {dtype} array", "value", partial(bits, dtype, (3, 2)))
    yield Case("array: 8 dimensions", "array", partial(bits, "int16", (2,) * 8))
    # A loan above 64 KiB is read in place. A copied message above 64 KiB goes in pieces.
    yield Case("loan: large", "loan", partial(bits, "float64", (128, 200)))
    yield Case("into: large", "into", partial(bits, "float64", (512, 512)),
               {"dtype": "float64", "shape": [512, 512], "order": "C"})


def ways_to_receive():
    yield Case("any: a number", "any", lambda: 0.5)
    yield Case("any: an array", "any", partial(bits, "float64", (3, 4)))
    yield Case("default: a text", "default", lambda: "a text",
               expected={"came": "a text", "otherwise": "nothing came"})


def settings():
    rows = (("bool", True), ("int", -(2**63)), ("float", number(1)), ("string", EVERY_PLANE.replace("\0", "")),
            ("int_list", [1, -2, 3]), ("float_list", [0.5, -0.0]), ("float_grid", [[1.0, 2.0], [], [3.5]]))
    for kind, value in rows:
        yield Case(f"setting: {kind}", "setting", lambda: None, {"name": "overlaid", "type": kind},
                   {"overlaid": value}, value)


@dataclass
class Mistake:
    """A call that must fail: the expected status, and the words that the error text must contain."""

    call: str
    status: str
    named: tuple


MISTAKES = (
    Mistake("send_unknown_port", "usage", ("nowhere",)),
    Mistake("receive_unknown_port", "usage", ("nowhere",)),
    Mistake("send_on_receiving_port", "usage", ("case",)),
    Mistake("setting_unset", "setting_unset", ("absent",)),
    Mistake("setting_type", "setting_type", ("text",)),
    Mistake("into_wrong_shape", "unexpected", ('port "case" from referee.case', "[3]", "[5]")),
    Mistake("into_wrong_type", "unexpected", ('port "case" from referee.case', "float64", "int32")),
    Mistake("array_wrong_shape", "unexpected", ('port "case" from referee.case', "[3]", "[4]")),
    Mistake("array_wrong_type", "unexpected", ('port "case" from referee.case', "float64", "int32")),
    Mistake("send_not_a_time", "usage", ("case_",)),
)


def mistakes():
    for row in MISTAKES:
        yield Case(f"error: {row.call}", "error", lambda: np.arange(3.0), {"call": row.call}, expected=row)


def all_cases():
    return [*values(), *arrays(), *ways_to_receive(), *settings(), *mistakes()]
