"""Draws the wall of a run, and its requests to the micro models: plot.py DIRECTORY writes adaptive.png
there."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

STEADY, REQUESTS = "#222222", "#1f4e9c"


def find_wall(directory):
    """Returns the output of the wall."""
    found = sorted(Path(directory).rglob("wall.npz"))
    if len(found) != 1:
        sys.exit(f"{directory}: {len(found)} files named wall.npz; give the directory of one finished run")
    return np.load(found[0])


def draw(directory, file):
    """Writes the picture: the heating of the wall, the requests in each step, and the known conductivities at
    the end."""
    wall = find_wall(directory)
    hours, temperatures = wall["t"] / 3600, wall["temperature"]
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 13, "axes.titlelocation": "left"})
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14.4, 4.6), layout="constrained", dpi=120)

    shown = [at for at in (0.5, 1, 2, 4, 8, 24) if at <= hours[-1]]
    for hour, colour in zip(shown, plt.cm.inferno(np.linspace(0.1, 0.85, len(shown)))):
        left.plot(wall["x"] * 100, temperatures[np.searchsorted(hours, hour)], color=colour,
                  label=f"{hour:g} h")
    # k = sqrt(1 + w), with w the temperature above that of the cold face in units of 100 K. In the steady state
    # its integral, (1 + w)^1.5, falls linearly through the wall.
    x = np.linspace(0, 1, 100)
    steady = 20 + 100 * ((1 + 7 * x) ** (2 / 3) - 1)
    left.plot(20 * x, steady, color=STEADY, linestyle=":", label="steady, by theory")
    left.set(xlabel="place in the wall [cm]", ylabel="temperature [°C]", title="The wall heats up")
    left.legend(frameon=False)

    middle.bar(hours[1:], wall["asked"], width=hours[1] - hours[0], color=REQUESTS)
    middle.set(xlabel="time [h]", ylabel="evaluations in a step", xlim=(0, 6),
               title=f"Asked of the pool: {wall['asked'].sum()}")

    known = wall["known"]
    right.plot(known[:, 0], known[:, 1], "o", color=REQUESTS, markersize=4, label="micro model")
    right.plot(known[:, 0], np.sqrt(1 + (known[:, 0] - 20) / 100), ":", color=STEADY, label="by theory")
    right.set(xlabel="temperature [°C]", ylabel="conductivity [W/(m K)]", title="Known in the end")
    right.legend(frameon=False)
    for axes in (left, middle, right):
        axes.spines[["right", "top"]].set_visible(False)
    figure.savefig(file)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py RUN-DIRECTORY")
    picture = Path(sys.argv[1]) / "adaptive.png"
    draw(sys.argv[1], picture)
    print(picture)
