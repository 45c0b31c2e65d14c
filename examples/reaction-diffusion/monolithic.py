"""The same mathematics as the coupled model in one program: the reference for the coupled model."""

import sys

import numpy as np
import yaml


def laplacian(u, dx):
    """The second derivative along a tube with closed ends."""
    inner = np.empty(u.size + 1)
    inner[0] = inner[-1] = 0.0
    inner[1:-1] = (u[1:] - u[:-1]) / dx
    return inner[1:] - inner[:-1]


def half_of_diffusion(u, D, dx, dt):
    """Half a step of diffusion by Heun's method."""
    h = dt / 2
    middle = u + h * D * laplacian(u, dx) / dx
    return (u + (middle + h * D * laplacian(middle, dx) / dx)) / 2


def reaction(u, r, duration, dt):
    """Logistic growth at rate r for `duration`, in steps of `dt`, by the classical Runge-Kutta method."""

    def rate(u):
        return r * u * (1 - u)

    for _ in range(round(duration / dt)):
        k1 = rate(u)
        k2 = rate(u + dt / 2 * k1)
        k3 = rate(u + dt / 2 * k2)
        k4 = rate(u + dt * k3)
        u = u + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return u


def simulate(settings):
    """Runs the model with the settings of its model file. Returns times [s], places [mm] and concentrations."""
    macro = {name.removeprefix("macro."): value for name, value in settings.items()
             if name.startswith("macro.")}
    micro = {name.removeprefix("micro."): value for name, value in settings.items()
             if name.startswith("micro.")}
    dx, dt, D = macro["dx"], macro["dt"], macro["D"]
    steps = round(macro["t_max"] / dt)
    x = dx * (np.arange(round(macro["x_max"] / dx)) + 0.5)
    u = np.zeros(x.size)
    for place, concentration, width in macro["seeds"]:
        u += concentration * np.exp(-(((x - place) / width) ** 2))
    history = [u]
    for _ in range(steps):
        u = half_of_diffusion(u, D, dx, dt)
        u = reaction(u, micro["r"], micro["t_max"], micro["dt"])
        u = half_of_diffusion(u, D, dx, dt)
        history.append(u)
    return dt * np.arange(steps + 1), x, np.array(history)


def read_settings(file):
    """The settings in a model file."""
    with open(file) as text:
        return yaml.safe_load(text)["settings"]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: monolithic.py MODEL.ymmsl DIRECTORY")
    for name, values in zip(("t", "x", "concentration"), simulate(read_settings(sys.argv[1])), strict=True):
        np.save(f"{sys.argv[2]}/{name}.npy", values)
