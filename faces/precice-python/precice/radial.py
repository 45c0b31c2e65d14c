"""Interpolation by radial basis functions, as `method: radial` of `ligament.mappers.mesh` has it."""

from dataclasses import dataclass

import numpy as np

from .errors import Error

# The largest number of points with functions, and of their pairs with other points: the system is dense.
POINT_LIMIT, PAIR_LIMIT = 4096, 1 << 27
# A column of the polynomial whose part beyond the columns before it is smaller than this share is left out.
DEPENDENT_SHARE = 1e-8
# The value of the Gaussian function at its support radius.
GAUSSIAN_AT_RADIUS = 1e-9


@dataclass(frozen=True)
class Basis:
    """A function with its support radius or its shape (of which one is `None`), and the kind of polynomial."""

    function: str
    radius: float | None
    shape: float | None
    polynomial: str


def _cut_spline(p):
    logarithm = np.log(np.where(p > 0.0, p, 1.0))
    return 1.0 + p**2 * (-30.0 - 10.0 * p + 45.0 * p**2 - 6.0 * p**3) - 60.0 * p**3 * logarithm


# Functions of the distance over the support radius, which are 0 from 1 on (Wendland, Adv. Comput. Math. 4,
# 1995).
COMPACT = {
    "compact-polynomial-c0": lambda p: (1.0 - p)**2,
    "compact-polynomial-c2": lambda p: (1.0 - p)**4 * (4.0 * p + 1.0),
    "compact-polynomial-c4": lambda p: (1.0 - p)**6 * (35.0 * p**2 + 18.0 * p + 3.0) / 3.0,
    "compact-polynomial-c6": lambda p: (1.0 - p)**8 * (32.0 * p**3 + 25.0 * p**2 + 8.0 * p + 1.0),
    "compact-polynomial-c8": lambda p: (1.0 - p)**10 * (429.0 * p**4 + 450.0 * p**3 + 210.0 * p**2 + 50.0 * p
                                                        + 5.0) / 5.0,
    "compact-tps-c2": _cut_spline,
    "gaussian": lambda p: GAUSSIAN_AT_RADIUS**(p**2) - GAUSSIAN_AT_RADIUS,
}
# Functions of the distance and of the shape.
SHAPED = {
    "gaussian": lambda distance, shape: np.exp(-(shape * distance)**2),
    "multiquadrics": lambda distance, shape: np.hypot(shape, distance),
    "inverse-multiquadrics": lambda distance, shape: 1.0 / np.hypot(shape, distance),
}
# Functions of the distance alone.
PLAIN = {
    "thin-plate-splines": lambda distance: distance**2 * np.log(np.where(distance > 0.0, distance, 1.0)),
    "volume-splines": lambda distance: distance,
}
FUNCTIONS = tuple(dict.fromkeys([*COMPACT, *SHAPED, *PLAIN]))


def function_values(basis, distances):
    """The values of the function of a basis at some distances."""
    if basis.radius is not None:
        inside = np.minimum(distances / basis.radius, 1.0)
        return np.where(inside < 1.0, COMPACT[basis.function](inside), 0.0)
    if basis.shape is not None:
        return SHAPED[basis.function](distances, basis.shape)
    return PLAIN[basis.function](distances)


def distances_between(points, others):
    """All distances from points (n, d) to others (m, d), as (n, m)."""
    return np.sqrt(sum((points[:, None, axis] - others[None, :, axis])**2 for axis in range(points.shape[1])))


def polynomial_columns(known, asked):
    """Orthonormal columns for 1 and each coordinate at the known points, and their values at the asked ones. A
    coordinate that depends on those before it, as in a plane, is left out."""
    low, high = known.min(axis=0), known.max(axis=0)
    scale = (high - low).max() or 1.0
    middle = low + (high - low) / 2.0
    both = np.concatenate([known, asked])
    candidates = np.column_stack([np.ones(len(both)), (both - middle) / scale])
    columns, count = [], len(known)
    for column in candidates.T:
        for other in columns * 2:
            column = column - other * (other[:count] @ column[:count])
        norm = np.linalg.norm(column[:count])
        if norm > DEPENDENT_SHARE * np.sqrt(count):
            columns.append(column / norm)
    matrix = np.array(columns).T
    return matrix[:count], matrix[count:]


def _check(names, known, asked, basis):
    """Refuses meshes that the functions cannot be computed for."""
    if len(known) > POINT_LIMIT or len(known) * len(asked) > PAIR_LIMIT:
        raise Error(f"radial basis functions from \"{names[0]}\" with {len(known)} points to \"{names[1]}\" "
                    f"with {len(asked)} need a dense system that is too large: it has at most {POINT_LIMIT} "
                    f"points and {PAIR_LIMIT} pairs; take <mapping:nearest-neighbor>")
    order = np.lexsort(known.T)
    same = np.nonzero((known[order[1:]] == known[order[:-1]]).all(axis=1))[0]
    if len(same):
        one, other = sorted((int(order[same[0]]), int(order[same[0] + 1])))
        raise Error(f"the vertices {one} and {other} of the mesh \"{names[0]}\" are both at "
                    f"{known[one].tolist()}, and radial basis functions need different places; leave one of "
                    "them out, or take <mapping:nearest-neighbor>")
    if basis.radius is None:
        return
    nearest = distances_between(asked, known).min(axis=1)
    lost = np.nonzero(nearest >= basis.radius)[0]
    if len(lost) == len(asked) or (len(lost) and basis.polynomial == "off"):
        first = lost[0]
        raise Error(f"{len(lost)} of {len(asked)} vertices of the mesh \"{names[1]}\", the first of which is "
                    f"vertex {first} at {asked[first].tolist()}, have no vertex of \"{names[0]}\" within the "
                    f"support radius {basis.radius}; the nearest one is {nearest[first]} away. Look whether "
                    "the meshes lie beside each other, or give a larger support-radius")


def weights(names, known, asked, basis):
    """The matrix (asked, known) that makes values at the asked points of those at the known ones. `names` has
    the names of the two meshes."""
    _check(names, known, asked, basis)
    if len(known) == 1 and basis.polynomial != "off":
        return np.ones((len(asked), 1))
    system = function_values(basis, distances_between(known, known))
    rows = function_values(basis, distances_between(asked, known))
    if basis.polynomial == "off":
        return _solved(names, system, rows)
    at_known, at_asked = polynomial_columns(known, asked)
    if basis.polynomial == "separate":
        found = _solved(names, system, rows)
        return found + (at_asked - found @ at_known) @ at_known.T
    empty = np.zeros((at_known.shape[1], at_known.shape[1]))
    bordered = np.block([[system, at_known], [at_known.T, empty]])
    return _solved(names, bordered, np.hstack([rows, at_asked]))[:, :len(known)]


def _solved(names, system, rows):
    """The rows times the inverse of a symmetric system."""
    try:
        lost = not np.linalg.cond(system, 1) < 1.0 / np.finfo(float).eps
        found = np.linalg.solve(system, rows.T).T
    except np.linalg.LinAlgError:
        lost = True
    if lost:
        raise Error(f"the system of radial basis functions of {len(system)} unknowns between \"{names[0]}\" "
                    f"and \"{names[1]}\" is singular to the precision of numbers; a smaller support-radius, a "
                    "larger shape-parameter, or a function that is less smooth has another one")
    return found
