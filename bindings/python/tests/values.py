"""Values of every type that a message can hold, and a comparison that is strict about types."""

import numpy as np

import ligament

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip

PLAIN = [
    None, True, False, 0, -1, 2**62, -(2**63), 2**63, 2**64 - 1, 0.0, -1.5, float("inf"), 1e-300, 2 + 3j, "",
    "text",
    "naïve ✓ \0 end", b"", b"short", bytes(range(256)) * 5, [], [1, "two", None, [3.0, [True]]], {},
    {"a": 1, "b": {"c": [b"x", {"d": None}]}, "": 2},
]  # fmt: skip


def array_of(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Returns an array of random numbers."""
    rng = np.random.default_rng(seed)
    if shape == ():
        return array_of(dtype, (1,), seed).reshape(())
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype.startswith("complex"):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


def shapes() -> list[tuple[int, ...]]:
    """Shapes of 0 to 8 dimensions, some of them without elements."""
    return [(), *[(2,) * ndim for ndim in range(1, 9)], (1,), (7,), (3, 4), (100, 30), (0,), (3, 0, 2),
            (300, 300)]


def same(a, b) -> bool:
    """Returns true if two values are equal and have the same types throughout."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, ligament.Array) and isinstance(b, ligament.Array):
        return a.names == b.names and a.unit == b.unit and same(a.array, b.array)
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return a == b
