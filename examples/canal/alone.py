"""The same mathematics as the duct in one program, in the same order, without coupling. The tests compare the
sections with it. Populations are arrays [i, x, y, z] of the whole duct."""

import numpy as np

VELOCITY = np.array([
    (0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (1, 1, 0), (-1, -1, 0),
    (1, -1, 0), (-1, 1, 0), (1, 0, 1), (-1, 0, -1), (1, 0, -1), (-1, 0, 1), (0, 1, 1), (0, -1, -1), (0, 1, -1),
    (0, -1, 1)])
WEIGHT = [1 / 3] + [1 / 18] * 6 + [1 / 36] * 12
OPPOSITE = [0] + [i + 1 if i % 2 else i - 1 for i in range(1, 19)]


def rates(viscosity):
    even_time = 3 * viscosity
    return 1 / (even_time + 0.5), 1 / (3.0 / 16 / even_time + 0.5)


def start(shape, noise=0.0):
    number = np.arange(np.prod(shape), dtype=np.uint64).reshape(shape)
    random = (number * np.uint64(2654435761) & np.uint64(0xFFFFFFFF)) / 4294967296.0
    density = 1 + noise * (random - 0.5)
    return np.array([weight * density for weight in WEIGHT])


def signed_sum(f, axis):
    """The sum of the populations with their velocities along an axis, in the order of their numbers."""
    total = None
    for i in range(1, 19):
        sign = VELOCITY[i][axis]
        if sign:
            total = sign * f[i] if total is None else total + f[i] if sign > 0 else total - f[i]
    return total


def pulled(f, flows):
    """Returns the populations that arrive at each point. `flows` is None for a duct that is periodic along x;
    otherwise it is the inflow and the outflow at each point of the ends."""
    came = np.empty_like(f)
    for i, c in enumerate(VELOCITY):
        came[i] = np.roll(f[i], c, axis=(0, 1, 2))
        for axis in (2, 1, 0):
            if c[axis] == 0 or (axis == 0 and flows is None):
                continue
            end = [slice(None)] * 3
            end[axis] = 0 if c[axis] > 0 else -1
            came[i][tuple(end)] = f[OPPOSITE[i]][tuple(end)]
            if axis == 0:
                came[i][tuple(end)] += 6 * WEIGHT[i] * (flows[0] if c[0] > 0 else -flows[1])
    return came


def step(f, viscosity, acceleration, flows=None):
    even_rate, odd_rate = rates(viscosity)
    f = pulled(f, flows)
    density = f[0]
    for i in range(1, 19):
        density = density + f[i]
    share = 1 / density
    ux, uy, uz = (signed_sum(f, axis) * share for axis in range(3))
    ux = ux + acceleration / 2
    still = 1 - 1.5 * (ux * ux + uy * uy + uz * uz)
    even_push = density * (acceleration * (1 - even_rate / 2))
    odd_push = density * (3 * acceleration * (1 - odd_rate / 2))
    after = np.empty_like(f)
    after[0] = f[0] - even_rate * (f[0] - WEIGHT[0] * density * still) - WEIGHT[0] * even_push * (3 * ux)
    along = [ux, uy, uz, ux + uy, ux - uy, ux + uz, ux - uz, uy + uz, uy - uz]
    for i, cu in zip(range(1, 19, 2), along):
        a, b, cx, w = f[i], f[i + 1], float(VELOCITY[i][0]), WEIGHT[i]
        share_w = w * density
        even = even_rate * (0.5 * (a + b) - share_w * (still + 4.5 * cu * cu))
        even = even - w * even_push * (9 * cx * cu - 3 * ux)
        odd = odd_rate * (0.5 * (a - b) - share_w * 3 * cu) - w * odd_push * cx
        after[i] = a - even - odd
        after[i + 1] = b - even + odd
    return after


def state(f, acceleration):
    """Returns density and velocity: an array [x, y, z, 4]."""
    density = f[0]
    for i in range(1, 19):
        density = density + f[i]
    velocity = [signed_sum(f, axis) / density for axis in range(3)]
    velocity[0] = velocity[0] - acceleration / 2
    return np.stack([density, *velocity], axis=-1)


def simulate(shape, steps, viscosity, acceleration=0.0, noise=0.0, flows=None):
    """Returns density and velocity after this many steps from rest."""
    f = start(shape, noise)
    for _ in range(steps):
        f = step(f, viscosity, acceleration, flows)
    return state(f, acceleration)


def series(ny, nz, viscosity, acceleration, finer=1, terms=200):
    """Returns the velocity of a steady flow in a rectangular duct, at the points [y, z] of a lattice whose
    walls are half a point beyond the outermost ones (White, Viscous Fluid Flow, 3-48). With `finer`, the points
    are that many times closer."""
    a, b = ny / 2, nz / 2
    y, z = (np.arange(ny * finer) + 0.5) / finer - a, (np.arange(nz * finer) + 0.5) / finer - b
    total = np.zeros((y.size, z.size))
    for i in range(1, 2 * terms, 2):
        k = i * np.pi / (2 * a)
        # This is cosh(k z) / cosh(k b) without an overflow.
        ratio = (np.exp(k * (np.abs(z) - b)) + np.exp(-k * (np.abs(z) + b))) / (1 + np.exp(-2 * k * b))
        total += (-1) ** ((i - 1) // 2) / i**3 * np.outer(np.cos(k * y), 1 - ratio)
    return 16 * acceleration * a * a / (np.pi**3 * viscosity) * total
