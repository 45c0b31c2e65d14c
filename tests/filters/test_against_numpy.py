"""Each computing filter is held against NumPy: random messages go through random filters, all in one run.
Shapes, memory orders, types, units, NaN, infinities, the ends of the range of numbers, and times from 1e-9 to
1e17 are drawn."""

import os
from itertools import product

import numpy as np
from random_messages import SEED, Model, agree, narrow, series, wide

SERIES = int(os.environ.get("LIGAMENT_SERIES", "24"))  # `make test-all` has more

# An expression of a number, the time, and the first index; and the same in NumPy.
EXPRESSIONS = [
    ("2 * x + 1", lambda x, t, i: 2 * x + 1),
    ("max(x, 0)", lambda x, t, i: np.maximum(x, 0)),
    ("max(min(x, 1), -1)", lambda x, t, i: np.clip(x, -1, 1)),
    ("min(x, t, 2)", lambda x, t, i: np.minimum(np.minimum(x, t), 2)),
    ("sqrt(abs(x)) - floor(x)", lambda x, t, i: np.sqrt(np.abs(x)) - np.floor(x)),
    ("round(x / 3)", lambda x, t, i: np.rint(x / 3)),
    ("x > 0", lambda x, t, i: np.where(np.isnan(x), np.nan, x > 0)),
    ("where(x <= i, x, -x)", lambda x, t, i: np.where(np.isnan(x), np.nan, np.where(x <= i, x, -x))),
    ("where(isnan(x), 7, x ** 2)", lambda x, t, i: np.where(np.isnan(x), 7, x * x)),
    ("x > 1 or x < -1", lambda x, t, i: np.where(np.isnan(x), np.nan, np.abs(x) > 1)),
]
# For each unit: another one, and the conversion to it.
UNITS = {"m": ("km", 1 / 1000, 0), "km/h": ("m/s", 1 / 3.6, 0), "degC": ("K", 1, 273.15),
         "delta_degF": ("K", 5 / 9, 0)}


def axes_of(shape):
    return [None, *range(len(shape))]


def weights(old, new, method, points):
    """The shares of the old points in each new point along an axis."""
    made = np.zeros((new, old))
    for i in range(new):
        if method == "conservative":
            for j in range(old):
                made[i, j] = max(0, min((i + 1) * old, (j + 1) * new) - max(i * old, j * new)) / old
            continue
        if points == "cells":
            place = (i + 0.5) * old / new - 0.5
        else:
            place = (old - 1) / 2 if new == 1 else i * (old - 1) / (new - 1)
        if method == "nearest":
            exact = (2 * i + 1) * old // (2 * new) if points == "cells" else int(np.floor(place + 0.5))
            made[i, min(exact, old - 1)] = 1
        elif old == 1:
            made[i, 0] = 1
        else:
            first = int(np.clip(np.floor(place), 0, old - 2))
            made[i, first], made[i, first + 1] = 1 - (place - first), place - first
    return made


def along(values, axis, shares):
    """Returns the values at new points along an axis. An old value without a share does not count, even if it
    is NaN."""
    values = np.moveaxis(wide(values), axis, 0)
    rows = [sum((share * value for share, value in zip(row, values) if share != 0)) for row in shares]
    return np.moveaxis(np.array(rows), 0, axis)


# Each of these functions draws a filter for a series, and returns the expected messages: time, numbers, and the
# size of the numbers from which they were computed.

def multiply(dice, one):
    by = float(dice.choice([2.5, -1e-3, 1e40, 1e-40]))
    # A filter refuses numbers that single precision cannot hold.
    too_large = [np.isfinite(x) & ~np.isfinite((wide(x) * by).astype(np.float32)) for x in one.values]
    by = -1e-3 if one.is_single and np.any(too_large) else by
    return {"multiply": by}, [(t, wide(x) * by, None) for t, x in zip(one.times, one.values)]


def unit(dice, one):
    to, factor, offset = UNITS[one.units[0]]
    size = 273.15 if offset else None
    return {"unit": to}, [(t, wide(x) * wide(factor) + wide(offset), size) for t, x in zip(one.times,
                                                                                           one.values)]


def threshold(dice, one):
    value = float(np.round(dice.normal(), 1))
    below, above = dice.choice([0.0, -5.0]), dice.choice([9.0, 1e10])
    form = {"value": value, "below": float(below), "above": float(above)}
    limit = np.float32(value) if one.is_single else value
    expected = [np.where(np.isnan(x), np.nan, np.where(x < limit, below, above)) for x in one.values]
    return {"threshold": form}, [(t, x, None) for t, x in zip(one.times, expected)]


def expression(dice, one):
    text, function = EXPRESSIONS[dice.integers(len(EXPRESSIONS))]
    indices = [np.indices(x.shape)[0] for x in one.values]
    made = [function(x.astype(np.float64), t, i) for t, x, i in zip(one.times, one.values, indices)]
    return {"expression": text}, [(t, x, None) for t, x in zip(one.times, made)]


def cut(dice, one):
    axis = int(dice.integers(len(one.shape)))
    extent = one.shape[axis]
    text, index = [("::2", slice(None, None, 2)), ("1:", slice(1, None)), (":-1", slice(None, -1)), ("-1", -1),
                   (f"{extent - 1}", extent - 1)][dice.integers(5)]
    ranges = ", ".join([":"] * axis + [text])
    return {"slice": ranges}, [(t, x[(slice(None),) * axis + (index,)], None) for t, x in zip(one.times,
                                                                                              one.values)]


def reduce(dice, one):
    to = str(dice.choice(["mean", "min", "max", "sum", "norm"]))
    axis = axes_of(one.shape)[dice.integers(len(one.shape) + 1)]
    functions = {"mean": np.mean, "min": np.min, "max": np.max, "sum": np.sum,
                 "norm": lambda x, axis: np.sqrt(np.sum(x * x, axis=axis))}
    rows = []
    for t, x in zip(one.times, one.values):
        with np.errstate(all="ignore"):
            x = wide(x)
            sizes = np.max(np.where(np.isfinite(x), np.abs(x), 0), axis=axis)
            rows.append((t, functions[to](x, axis=axis), sizes * (1 if to != "sum" else x.size)))
    return {"reduce": {"to": to} | ({} if axis is None else {"axis": axis})}, rows


def interpolate_space(dice, one):
    parts, axis = int(dice.integers(1, 4)), int(dice.integers(len(one.shape)))
    old = one.shape[axis]
    shares = weights(old, (old - 1) * parts + 1, "linear", "nodes")
    rows = [(t, along(x, axis, shares), size_of(x)) for t, x in zip(one.times, one.values)]
    return {"interpolate_space": {"parts": parts, "axis": axis}}, rows


def resample(dice, one):
    shape = [int(n) for n in dice.integers(1, 9, size=len(one.shape))]
    method, points = [("linear", "cells"), ("linear", "nodes"), ("nearest", "cells"),
                      ("conservative", "cells")][dice.integers(4)]
    skips = dice.random() < 0.5
    rows = []
    for t, x in zip(one.times, one.values):
        made, known, share = wide(x), np.where(np.isnan(x), 0, wide(x)), np.where(np.isnan(x), 0.0, 1.0)
        for axis, (old, new) in enumerate(zip(one.shape, shape)):
            shares = weights(old, new, method, points)
            made = along(made, axis, shares)
            # Next to masked values there is no line that could be continued.
            inner = np.clip(shares, 0, None)
            inner /= inner.sum(axis=1, keepdims=True)
            outer = (shares < 0).any(axis=1)
            inner[outer] = shares[outer] > 0
            known, share = along(known, axis, inner), along(share, axis, inner)
        if skips:
            with np.errstate(all="ignore"):
                made = np.where(np.isnan(made) & (share > 0), known / share, made)
        rows.append((t, made, 3 * size_of(x)))
    return {"resample": {"shape": shape, "method": method, "points": points,
                         "masked": "skip" if skips else "keep"}}, rows


def size_of(values):
    finite = np.abs(wide(values))[np.isfinite(values)]
    return finite.max() if finite.size else 0


def in_first_unit(one):
    """The values in the unit of the first message."""
    factors = {None: 1, "m": 1, "km": 1000}
    return [wide(x) * factors[unit] / wide(factors[one.units[0]]) for x, unit in zip(one.values, one.units)]


def moving_average(dice, one):
    n = int(dice.integers(1, 5))
    values = in_first_unit(one)
    rows = []
    for k, t in enumerate(one.times):
        within = values[max(0, k + 1 - n):k + 1]
        rows.append((t, np.mean(within, axis=0), np.max([size_of(x) for x in within])))
    return {"moving_average": n}, rows


def interpolate_time(dice, one):
    parts = int(dice.integers(1, 5))
    factors = {None: 1, "m": 1, "km": 1000}
    rows = []
    for k, (t, x) in enumerate(zip(one.times, one.values)):
        for part in range(1, parts) if k else ():
            at, share = one.times[k - 1], part / parts
            before = wide(one.values[k - 1]) * factors[one.units[k - 1]] / wide(factors[one.units[k]])
            made = before * (1 - share) + wide(x) * share
            rows.append((at + (t - at) * part / parts, made, max(size_of(before), size_of(x))))
        rows.append((t, wide(x), None))
    return {"interpolate_time": parts}, rows


def kind(dice, one):
    whole = np.issubdtype(one.values[0].dtype, np.integer)
    to = str(dice.choice(["float64", "int64", "uint8"])) if whole else "float64"
    return {"type": to}, [(t, x.astype(to), None) for t, x in zip(one.times, one.values)]


def compress(dice, one):
    return {"compress": str(dice.choice(["lz4", "zstd"]))}, [(t, x, None) for t, x in zip(one.times,
                                                                                          one.values)]


def chunks(dice, one):
    return [{"chunk": int(dice.integers(1, 4))}, "dechunk"], [(t, x, None) for t, x in zip(one.times,
                                                                                           one.values)]


def every(dice, one):
    n = int(dice.integers(1, 4))
    return {"every": n}, [(t, x, None) for t, x in zip(one.times, one.values)][::n]


def blocked(dice, one):
    """The time is between two messages, and close to neither."""
    at = int(dice.integers(1, len(one)))
    limit = (one.times[at - 1] + one.times[at]) / 2
    rows = [(t, x, None) for t, x in zip(one.times, one.values)]
    return ({"block_until": limit}, rows[at:]) if dice.random() < 0.5 else ({"block_after": limit}, rows[:at])


def stretched(dice, one):
    factor, offset = float(dice.choice([86400.0, 1e-3, 0.1])), float(dice.choice([0.0, 3600.0, -1.0]))
    rows = [(t * factor + offset, x, None) for t, x in zip(one.times, one.values)]
    return [{"time_factor": factor}, {"time_offset": offset}], rows


FILTERS = [multiply, threshold, expression, cut, reduce, interpolate_space, resample, moving_average,
           interpolate_time, kind,
           compress, chunks, every, blocked, stretched]


def test_filters_give_what_numpy_gives(run, tmp_path):
    dice = np.random.default_rng(SEED)
    model, cases = Model(), []
    drawn = [series(dice) for _ in range(SERIES)]
    # Some series change their unit, some have a large number among small ones, and some have a unit that a
    # filter converts.
    drawn += [series(dice, shape=(3,), dtype="float64", units=[str(dice.choice(["m", "km"])) for _ in range(5)],
                     count=5)
              for _ in range(4)]
    for large in (1e20, 1e36, -1.7e308, np.inf, np.nan):
        one = series(dice, shape=(2, 2), dtype="float64", kind="ordinary", count=6)
        one.values[1][0, 1] = large
        drawn.append(one)
    with_units = [series(dice, kind="ordinary", dtype=dtype, units=[name] * 4, count=4)
                  for name, dtype in product(UNITS, ["float64", "float32"])]
    with np.errstate(all="ignore"):
        for one, filters in [*((one, FILTERS) for one in drawn), *((one, [unit]) for one in with_units)]:
            port = model.source(one)
            for filter in filters:
                if one.units[0] and filter not in (unit, moving_average, interpolate_time, every):
                    continue
                chain, rows = filter(dice, one)
                name = model.sink(port, chain if isinstance(chain, list) else [chain])
                cases.append((name, chain, one, rows))
    results = model.results(run, tmp_path)
    for name, chain, one, rows in cases:
        found = results(name)
        story = f"seed {SEED}, {chain} of\n{one}\nmade\n{found}\nand not\n{rows}"
        assert len(found) == len(rows), story
        for (time, value, _), (at, expected, size) in zip(found, rows):
            assert abs(time - at) <= 1e-15 * max(abs(at), abs(one.times[-1])), story
            assert agree(value, narrow(expected, one.is_single), size, one.is_single), story
            if one.is_single and isinstance(value, np.ndarray) and "type" not in str(chain):
                assert value.dtype == np.float32, story
    assert len(cases) > 12 * SERIES, "hardly any cases were drawn"


def test_units_of_what_filters_make_are_those_that_the_page_says(run, tmp_path):
    dice = np.random.default_rng(SEED)
    model = Model()
    port = model.source(series(dice, shape=(2,), dtype="float64", kind="ordinary", units=["km", "m", "km"],
                               count=3))
    names = [model.sink(port, [filter]) for filter in
             ({"moving_average": 2}, {"interpolate_time": 2}, {"unit": "cm"},
              {"reduce": {"to": "max", "axis": 0}})]
    results = model.results(run, tmp_path)
    units = [[unit for *_, unit in results(name)] for name in names]
    assert units == [["km"] * 3, ["km", "m", "m", "km", "km"], ["cm"] * 3, ["km", "m", "km"]]
