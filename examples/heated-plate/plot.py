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
    # The values are those in the middle of the cells.
    x, y = (np.arange(cells) + 0.5 for cells in u.shape[::-1])
    lines = axes.contour(x, y, u, levels=np.arange(2.5, u.max(), 2.5), colors="white", linewidths=0.5)
    bar = figure.colorbar(image, label="temperature above the surroundings [K]", shrink=0.85)
    bar.add_lines(lines)
    axes.set(xlabel="x [cells]", ylabel="y [cells]", title="A plate after a minute over a heater")
    figure.savefig(picture, dpi=110)


main()
