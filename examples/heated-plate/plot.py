"""Draws the plate of a run: python3 plot.py RUN-DIRECTORY PICTURE"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def main():
    run, picture = Path(sys.argv[1]), Path(sys.argv[2])
    # One line of the file for each y, so that [y, x].
    u = np.loadtxt(run / "instances" / "plate" / "workdir" / "temperature.txt")
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    image = axes.imshow(u, origin="lower", cmap="inferno", extent=(0, u.shape[1], 0, u.shape[0]))
    axes.contour(u, levels=8, colors="white", linewidths=0.5, extent=(0, u.shape[1], 0, u.shape[0]))
    figure.colorbar(image, label="K above the surroundings")
    axes.set(xlabel="x (cells)", ylabel="y (cells)", title="A plate after a minute over a heater")
    figure.savefig(picture, dpi=110)


main()
