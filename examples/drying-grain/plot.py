"""Draws the grain of a run: python3 plot.py RUN-DIRECTORY PICTURE"""

import ast
import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def main():
    run, picture = Path(sys.argv[1]), Path(sys.argv[2])
    left = run / "light" / "ligament.shipped" / "workdir"
    X, hours = np.load(left / "moistures.npy"), np.load(left / "moistures.times.npy") / 3600
    with open(left / "airs.csv") as file:
        air = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True,
                                          height_ratios=(3, 1))
    for layer, color in enumerate(plt.cm.viridis(np.linspace(0, 0.9, X.shape[1]))):
        above.plot(hours, X[:, layer], color=color, label="lowest layer" if layer == 0 else None)
    above.plot([], [], color=color, label="highest layer")
    above.set(ylabel="water [kg/kg dry grain]", title="A bed of grain dries from below")
    above.legend()
    edges = [one["time"] / 3600 for one in air] + [hours[-1]]
    below.stairs([one["temperature"] - 273.15 for one in air], edges, baseline=None, color="firebrick")
    below.set(xlabel="hours", ylabel="air [°C]")
    figure.savefig(picture, dpi=100)


main()
