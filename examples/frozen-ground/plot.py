"""Draws the ground of a run through the years: python3 plot.py RUN-DIRECTORY PICTURE"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def main():
    run, picture = Path(sys.argv[1]), Path(sys.argv[2])
    left = run / "light" / "ligament.shipped" / "workdir"
    profiles, days = np.load(left / "profiles.npy") - 273.15, np.load(left / "profiles.times.npy")
    depth = np.arange(profiles.shape[2]) * 0.05
    figure, axes = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
    for axis, name, column in zip(axes, ("sand", "clay"), profiles.swapaxes(0, 1)):
        image = axis.pcolormesh(days / 365, depth, column.T, cmap="coolwarm", vmin=-18, vmax=18,
                                shading="nearest")
        axis.contour(days / 365, depth, column.T, levels=[0], colors="black", linewidths=0.8)
        axis.set(ylim=(6, 0), ylabel="depth [m]", title=f"{name}: below the line it does not freeze")
    axes[-1].set(xlabel="years")
    figure.colorbar(image, ax=axes, label="temperature [°C]")
    figure.savefig(picture, dpi=100)


main()
