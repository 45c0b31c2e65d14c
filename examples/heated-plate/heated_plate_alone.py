"""The same mathematics as the coupled model in one program: the reference for the coupled model."""

import numpy as np


def laplacian(u):
    """Returns the sum of the differences to the four neighbours. Beyond an edge, the temperature is that at the
    edge."""
    padded = np.pad(u, 1, mode="edge")
    return padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2] - 4 * u


def heating(u, target, power):
    """Returns the heating in K/s. The heater lies under the quarter of the plate where both x and y are
    small."""
    added = np.zeros_like(u)
    warmed = (slice(u.shape[0] // 2), slice(u.shape[1] // 2))
    added[warmed] = power * np.maximum(0, target - u[warmed])
    return added


def simulate(n_x, n_y, dt, t_max, conductivity, target, power):
    """Returns the temperatures in each step from the first to the last, as an array [step, x, y]."""
    history = [np.zeros((n_x, n_y))]
    for _ in range(round(t_max / dt)):
        u = history[-1]
        history.append(u + dt * (conductivity * laplacian(u) + heating(u, target, power)))
    return np.array(history)
