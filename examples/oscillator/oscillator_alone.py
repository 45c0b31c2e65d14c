"""The mathematics of the oscillator: a step of one mass, all of it in one program, and the exact solution.

    m u₁'' = −w u₁ − b (u₁ − u₂),   m u₂'' = −w u₂ − b (u₂ − u₁),   u₁(0) = 1, u₂(0) = 0, at rest
"""

import math

import numpy as np

MASS, WALL, BETWEEN = 1.0, 4 * math.pi**2, 16 * math.pi**2  # kg, N/m, N/m


def stepped(state, neighbour, dt, parameters):
    """Displacement (m) and velocity (m/s) after `dt` (s), by the trapezoidal rule. `neighbour` has its
    displacement at the beginning and at the end."""
    (u, v), (here, there), (mass, wall, between) = state, neighbour, parameters
    stiffness = wall + between
    before = (between * here - stiffness * u) / mass
    pushed = u + dt * v + dt**2 / 4 * (before + between * there / mass)
    after_u = pushed / (1 + dt**2 / 4 * stiffness / mass)
    after = (between * there - stiffness * after_u) / mass
    return after_u, v + dt / 2 * (before + after)


def monolithic(dt, steps):
    """Displacements (m) of both masses after each step of the trapezoidal rule, as an array (steps + 1, 2)."""
    force = np.array([[-WALL - BETWEEN, BETWEEN], [BETWEEN, -WALL - BETWEEN]]) / MASS
    u, v = np.array([1.0, 0.0]), np.zeros(2)
    all = [u]
    for _ in range(steps):
        before = force @ u
        u = np.linalg.solve(np.eye(2) - dt**2 / 4 * force, u + dt * v + dt**2 / 4 * before)
        v = v + dt / 2 * (before + force @ u)
        all.append(u)
    return np.array(all)


def exact(times):
    """The exact displacements (m) at some times (s), as an array (times, 2)."""
    slow, fast = math.sqrt(WALL / MASS), math.sqrt((WALL + 2 * BETWEEN) / MASS)
    times = np.asarray(times)
    together, apart = np.cos(slow * times) / 2, np.cos(fast * times) / 2
    return np.stack([together + apart, together - apart], axis=-1)
