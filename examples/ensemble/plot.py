"""Draws mean and spread of the profiles of a study: plot.py DIRECTORY writes ensemble.png there."""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import yaml

BAND, LINE, POINTS = "#c9d7ee", "#1f4e9c", "#b5472f"


def read_table(file):
    """Returns the columns of a table of comma-separated values, as text."""
    with open(file) as lines:
        rows = list(csv.DictReader(lines))
    return {name: [row[name] for row in rows] for name in rows[0]}


def find_study(directory):
    """Returns the directory in which the study wrote its tables."""
    found = sorted(Path(directory).rglob("statistics.csv"))
    if len(found) != 1:
        sys.exit(
            f"{directory}: {len(found)} files named statistics.csv; give the directory of one finished run")
    return found[0].parent


def draw(directory, file):
    """Writes the picture: the profile at the end with its uncertainty, and the sampled values."""
    place = find_study(directory)
    profile = {name: np.array(values, float) for name, values in read_table(place / "statistics.csv").items()}
    tried = read_table(place / "results.csv")
    settings = yaml.safe_load((Path(directory) / "settings.yaml").read_text())
    x = settings["macro.dx"] * (np.arange(profile["mean"].size) + 0.5)

    plt.rcParams.update({"font.size": 11, "axes.titlesize": 13, "axes.titlelocation": "left"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(12.6, 5.2), width_ratios=(2, 1), layout="constrained",
                                         dpi=130)
    left.fill_between(x, profile["quantile 0.05"], profile["quantile 0.95"], color=BAND, linewidth=0,
                      label="nine in ten evaluations")
    left.plot(x, profile["mean"], color=LINE, linewidth=1.8, label="mean")
    left.plot(x, np.sqrt(profile["variance"]), color=POINTS, linewidth=1.2, label="standard deviation")
    left.set(xlabel="place in the tube [mm]", ylabel="concentration of B", xlim=(0, x[-1]), ylim=(0, 1.02),
             title=f"Fronts after {settings['macro.t_max']:.0f} s")
    left.legend(frameon=False, loc="upper right")
    right.scatter(np.array(tried["macro.D"], float) * 1e3, np.array(tried["micro.r"], float), s=16,
                  color=POINTS)
    right.set(xlabel="diffusion D [10⁻³ mm²/s]", ylabel="reaction r [1/s]",
              title=f"{len(tried['macro.D'])} evaluations")
    for axes in (left, right):
        axes.spines[["right", "top"]].set_visible(False)
    figure.savefig(file)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py RUN-DIRECTORY")
    picture = Path(sys.argv[1]) / "ensemble.png"
    draw(sys.argv[1], picture)
    print(picture)
