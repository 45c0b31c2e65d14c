"""Each mapper is held against NumPy: random messages go through all of them in one run. Shapes, memory orders,
types and units are drawn, and numbers with NaN, infinities and the ends of the range."""

import os

import numpy as np
from random_messages import SEED, Model, agree, narrow, series, wide

ROUNDS = int(os.environ.get("LIGAMENT_SERIES", "12"))  # `make test-all` has more

LENGTHS = {None: 1, "m": 1, "km": 1000}
COMBINE = {
    "sum": lambda all: np.sum(all, axis=0), "mean": lambda all: np.mean(all, axis=0),
    "min": lambda all: np.min(all, axis=0),
    "max": lambda all: np.max(all, axis=0), "product": lambda all: np.prod(all, axis=0),
}


def alike(dice, count):
    """Series of one shape and kind, each with its own types, orders and units."""
    first = series(dice, count=3)
    kind = str(dice.choice(["ordinary", "wide", "large", "odd"]))
    with_units = dice.random() < 0.5
    all = []
    for _ in range(count):
        units = [str(dice.choice(["m", "km"]))] * 3 if with_units else None
        one = series(dice, shape=first.shape, kind=kind, units=units, count=3)
        one.times = first.times
        all.append(one)
    return all


def in_unit_of(first, one, k):
    """Returns the numbers of a message in the unit of another series."""
    factor = wide(LENGTHS[one.units[k]]) / LENGTHS[first.units[k]]
    return wide(one.values[k]) * factor


def sizes(values):
    finite = [np.where(np.isfinite(x), np.abs(x), 0) for x in values]
    return np.max(finite, axis=0)


class Cases:
    """The sinks, and the rows that each must have: numbers, the size of the numbers from which they were
    computed, and a unit."""

    def __init__(self):
        self.model, self.all = Model(), []

    def expect(self, port, story, rows, single=False):
        self.all.append((self.model.sink(port), story, rows, single))

    def hold(self, run, folder):
        results = self.model.results(run, folder)
        for name, story, rows, single in self.all:
            found = results(name)
            told = f"seed {SEED}, {story}\nmade\n{found}\nand not\n{rows}"
            assert len(found) == len(rows), told
            for (_, value, unit), (expected, size, wanted) in zip(found, rows):
                assert agree(value, narrow(expected, single), size, single), told
                assert unit == wanted, told
                assert not single or value.dtype == np.float32, told


def test_combine_and_difference_give_what_numpy_gives(run, tmp_path):
    dice = np.random.default_rng(SEED)
    cases = Cases()
    for n in range(ROUNDS):
        all = alike(dice, int(dice.integers(2, 4)))
        ports = [cases.model.source(one) for one in all]
        single = {str(one.values[0].dtype) for one in all} == {"float32"}
        story = "\n".join(map(str, all))
        for how, function in COMBINE.items():
            name = cases.model.component(f"{how}{n}", "ligament.mappers.combine", {"as": how})
            rows = []
            for k in range(3):
                own = how == "product"
                values = [wide(one.values[k]) if own else in_unit_of(all[0], one, k) for one in all]
                units = [one.units[k] for one in all]
                with np.errstate(all="ignore"):
                    unit = " ".join(units) if own and units[0] else units[0]
                    rows.append((function(values), None if own else sizes(values), unit))
            for i, port in enumerate(ports):
                cases.model.join(port, f"{name}.in{i}")
            cases.expect(f"{name}.out", f"{how} of\n{story}", rows, single)
        a, b = all[:2]
        name = cases.model.component(f"less{n}", "ligament.mappers.difference", {})
        cases.model.join(ports[0], f"{name}.a")
        cases.model.join(ports[1], f"{name}.b")
        both = [(wide(a.values[k]), in_unit_of(a, b, k)) for k in range(3)]
        with np.errstate(all="ignore"):
            rows = [(one - other, sizes((one, other)), a.units[k]) for k, (one, other) in enumerate(both)]
        cases.expect(f"{name}.out", f"the difference of\n{story}", rows, {a.is_single, b.is_single} == {True})
    cases.hold(run, tmp_path)


def test_gather_and_scatter_give_what_numpy_gives(run, tmp_path):
    dice = np.random.default_rng(SEED + 1)
    cases = Cases()
    for n in range(ROUNDS):
        one = series(dice, units=[str(dice.choice(["m", "km"]))] * 3, count=3)
        slots, port = int(dice.integers(2, 5)), cases.model.source(one)
        # Joined parts are the whole again; copies of the whole are stacked.
        for form, spreads in (("join", "scatter"), ("stack", "duplicate")):
            spread = cases.model.component(f"{spreads}{n}", f"ligament.mappers.{spreads}", {})
            part = cases.model.component(f"{form}ed{n}", "ligament.mappers.duplicate", {},
                                         f", multiplicity: {slots}")
            together = cases.model.component(f"{form}{n}", "ligament.mappers.gather", {"as": form})
            cases.model.join(port, f"{spread}.in")
            cases.model.join(f"{spread}.out", f"{part}.in")
            cases.model.join(f"{part}.out", f"{together}.in")
            wholes = one.values if form == "join" else [np.stack([x] * slots) for x in one.values]
            rows = [(x, None, unit) for x, unit in zip(wholes, one.units)]
            cases.expect(f"{together}.out", f"{form} of {slots} of\n{one}", rows, one.is_single)
    cases.hold(run, tmp_path)


def hull_shares(points, asked):
    """In one dimension: for each requested point, the shares of the points on both sides of it."""
    order = np.argsort(points)
    shares = np.zeros((len(asked), len(points)))
    for i, x in enumerate(np.clip(asked, points.min(), points.max())):
        above = int(np.clip(np.searchsorted(points[order], x), 1, len(points) - 1))
        left, right = order[above - 1], order[above]
        share = (x - points[left]) / (points[right] - points[left])
        shares[i, left], shares[i, right] = 1 - share, share
    return shares


def applied(shares, values, skips):
    """Returns sums of values by their shares. A value without a share does not count, even if it is NaN."""
    rows, nothing = [], np.zeros(values.shape[1:])
    for row in shares:
        taken = [(share, value) for share, value in zip(row, values) if share != 0]
        plain = sum((share * value for share, value in taken), nothing)
        known = sum((np.where(np.isnan(value), 0, share * value) for share, value in taken), nothing)
        share = sum((np.where(np.isnan(value), 0, share) for share, value in taken), nothing)
        rows.append(np.where(np.isnan(plain) & (share > 0), known / share, plain) if skips else plain)
    return np.array(rows)


def test_mesh_gives_what_numpy_gives(run, tmp_path):
    dice = np.random.default_rng(SEED + 2)
    cases = Cases()
    for n in range(ROUNDS):
        axes = int(dice.integers(1, 4))
        here, there = dice.random((int(dice.integers(2, 9)), axes)), dice.random((int(dice.integers(2, 9)),
                                                                                  axes))
        there[0] = here[-1]
        np.save(tmp_path / f"here{n}.npy", here)
        np.save(tmp_path / f"there{n}.npy", there)
        shape = (len(here), *dice.integers(1, 4, size=dice.integers(0, 2)))
        one = series(dice, shape=tuple(map(int, shape)),
                     dtype=str(dice.choice(["float64", "float32", "int32"])), count=2,
                     units=["K", "K"])
        port = cases.model.source(one)
        away = ((there[:, None] - here[None]) ** 2).sum(axis=2)
        mappings = [("nearest", "consistent", np.eye(len(here))[away.argmin(axis=1)]),
                    ("nearest", "conservative", np.eye(len(there))[away.argmin(axis=0)].T)]
        if axes == 1:
            mappings += [("linear", "consistent", hull_shares(here[:, 0], there[:, 0])),
                         ("linear", "conservative", hull_shares(there[:, 0], here[:, 0]).T)]
        for method, constraint, shares in mappings:
            for masked in ("keep", "skip"):
                known = here if constraint == "consistent" else there
                line = np.argsort(known[:, 0])
                np.save(tmp_path / f"cells{n}{constraint}.npy", np.column_stack([line[:-1], line[1:]]))
                settings = {"from": f"here{n}.npy", "to": f"there{n}.npy", "method": method,
                            "constraint": constraint,
                            "masked": masked} | ({"cells": f"cells{n}{constraint}.npy"} if method == "linear"
                                                 else {})
                name = cases.model.component(f"{method}{constraint}{masked}{n}", "ligament.mappers.mesh",
                                             settings)
                cases.model.join(port, f"{name}.in")
                rows = []
                for x in one.values:
                    with np.errstate(all="ignore"):
                        x = wide(x)
                        size = np.max(np.where(np.isfinite(x), np.abs(x), 0)) * len(here)
                        if constraint == "conservative" and masked == "skip":
                            x = np.where(np.isnan(x), 0, x)
                        made = applied(shares, x, masked == "skip" and constraint == "consistent")
                        rows.append((made, size, "K"))
                story = f"{settings} with\n{here.tolist()}\nand\n{there.tolist()}\nof\n{one}"
                cases.expect(f"{name}.out", story, rows, one.is_single)
    cases.hold(run, tmp_path)


def test_regrid_keeps_means_and_lines_in_each_memory_order_and_unit(run, tmp_path):
    dice = np.random.default_rng(SEED + 3)
    cases = Cases()
    for n in range(ROUNDS):
        shape = tuple(int(x) for x in dice.integers(1, 6, size=2))
        one = series(dice, shape=shape, kind="large" if n == 0 else "ordinary", dtype="float64",
                     units=["m"] * 2, count=2)
        factors = [int(x) for x in dice.integers(1, 4, size=2)]
        port = cases.model.source(one)
        # Cells that are divided keep their values, and the means of the parts are those values again.
        finer = cases.model.component(f"finer{n}", "ligament.mappers.regrid", {
            "shape": [a * b for a, b in zip(shape, factors)], "method": "conservative"})
        again = cases.model.component(f"again{n}", "ligament.mappers.regrid",
                                      {"shape": list(shape), "method": "conservative"})
        cases.model.join(port, f"{finer}.in")
        cases.model.join(f"{finer}.out", f"{again}.in")
        repeated = [x.repeat(factors[0], axis=0).repeat(factors[1], axis=1) for x in one.values]
        cases.expect(f"{finer}.out", f"finer of\n{one}", [(x, None, "m") for x in repeated])
        cases.expect(f"{again}.out", f"coarse again of\n{one}", [(x, np.abs(x).max(), "m") for x in one.values])
    cases.hold(run, tmp_path)


