"""Draws how two components divide an array among their ranks. Both draw the same, so each knows what it must
receive.

A part is ("block", start, shape), ("range", begin, end) or ("list", numbers)."""

import numpy as np


def split(draw, length, count):
    """Divides the range from 0 to `length` into `count` pieces, of which some may be empty."""
    cuts = sorted(int(cut) for cut in draw.integers(0, length + 1, count - 1))
    return list(zip([0, *cuts], [*cuts, length]))


def owners(draw, shape, ranks):
    """A part for each rank of the sender. Together they are the whole array, with each element once."""
    total = int(np.prod(shape))
    kind = draw.integers(3)
    if kind == 0:
        axis = int(draw.integers(len(shape)))
        parts = []
        for begin, end in split(draw, shape[axis], ranks):
            start, lengths = [0] * len(shape), list(shape)
            start[axis], lengths[axis] = begin, end - begin
            parts.append(("block", start, lengths))
        return parts
    if kind == 1:
        return [("range", *piece) for piece in split(draw, total, ranks)]
    order = draw.permutation(total)
    return [("list", order[begin:end]) for begin, end in split(draw, total, ranks)]


def wanted(draw, shape, ranks):
    """A part for each rank of the receiver. Parts may have gaps, and may share elements."""
    total = int(np.prod(shape))
    parts = []
    for _ in range(ranks):
        kind = draw.integers(3)
        if kind == 0:
            ends = [sorted(int(end) for end in draw.integers(0, length + 1, 2)) for length in shape]
            parts.append(("block", [begin for begin, _ in ends], [end - begin for begin, end in ends]))
        elif kind == 1:
            begin, end = sorted(int(end) for end in draw.integers(0, total + 1, 2))
            parts.append(("range", begin, end))
        else:
            parts.append(("list", draw.permutation(total)[:draw.integers(0, total + 1)]))
    return parts


def declare(instance, port, part):
    """Gives this rank's part to the library."""
    kind, *rest = part
    {"block": instance.map_block, "range": instance.map_range, "list": instance.map_list}[kind](port, *rest)


def elements(whole, part):
    """Returns the elements of a part, with NumPy alone."""
    kind, *rest = part
    if kind == "block":
        return whole[tuple(slice(begin, begin + length) for begin, length in zip(*rest))]
    if kind == "range":
        return whole.reshape(-1)[rest[0]:rest[1]]
    return whole.reshape(-1)[rest[0]]


def rounds(seed, senders, receivers, count=12):
    """For each round: the array with other values, sometimes of another type, and the new parts of both sides,
    or None if a side keeps its parts."""
    draw = np.random.default_rng(seed)
    shape = [int(length) for length in draw.integers(1, 7, draw.integers(1, 4))]
    yield shape
    for number in range(count):
        kind = ("float64", "int16", "complex128", "float32", "uint8")[draw.integers(5)]
        whole = (draw.integers(0, 200, shape) + number).astype(kind)
        order = "CF"[draw.integers(2)]
        mine = owners(draw, shape, senders) if number == 0 or draw.integers(3) == 0 else None
        theirs = wanted(draw, shape, receivers) if number == 0 or draw.integers(3) == 0 else None
        yield whole, order, mine, theirs
