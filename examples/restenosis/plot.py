"""Draws two runs, one without drug and one with: python3 plot.py RUN-WITHOUT RUN-WITH PICTURE"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

# The colours of cells without drug, and with enough of it.
FLESH = LinearSegmentedColormap.from_list("flesh", ["#e8b7a5", "#2f8f6b"])
MOMENTS = 3  # sections that are drawn of each run


def read(run):
    """Returns the data of the recorder."""
    return np.load(Path(run) / "instances/recorder/workdir/restenosis.npz")


def narrowing(film):
    """Returns the narrowing of the vessel at its narrowest place, over time."""
    return 1 - film["lumen"].min(axis=1) / film["radius"]


def draw_section(axes, film, frame, fastest):
    """A cut along the vessel: blood by its speed, cells by the drug in them, and the struts."""
    length, outer, thick = film["length"], film["radius"] + film["wall"], film["strut"]
    speed = film["section"][frame].T
    half = length / speed.shape[1] * speed.shape[0] / 2
    extent = (0, length, -half, half)
    image = axes.imshow(speed, extent=extent, cmap="magma", vmin=0, vmax=fastest, interpolation="bilinear")

    drug = film["drug"][frame]
    h = length / drug.shape[1]
    z, r, size = film[f"tissue{frame}"].T
    row = np.clip((drug.shape[0] - (outer - r) / h).astype(int), 0, drug.shape[0] - 1)
    felt = drug[row, np.clip((z / h).astype(int), 0, drug.shape[1] - 1)]
    for side in (-1, 1):
        discs = EllipseCollection(
            2 * size, 2 * size, 0 * size, units="xy", offsets=np.column_stack([z, side * r]),
            offset_transform=axes.transData, array=felt, cmap=FLESH, clim=(0, 1), edgecolors="#7d4a3c",
            linewidths=0.15,
        )
        axes.add_collection(discs)
        for strut in film["struts"]:
            low = side * film["radius"] - (side < 0) * thick
            axes.add_patch(Rectangle((strut - thick / 2, low), thick, thick, color="#3a3f4a"))
    axes.set(xlim=(0, length), ylim=(-outer, outer), aspect="equal")
    return image


def draw(without, with_drug, file):
    """Draws three times of both runs, and the lumen and the friction over time."""
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left"})
    figure = plt.figure(figsize=(13.4, 6.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(2.65, 1))
    sections = left.subplots(2, MOMENTS, sharex=True, sharey=True)
    fastest = max(film["section"].max() for film in (without, with_drug))
    for row, film, name in zip(sections, (without, with_drug), ("without drug", "with drug")):
        for axes, frame in zip(row, np.linspace(0, len(film["time"]) - 1, MOMENTS).astype(int)):
            image = draw_section(axes, film, frame, fastest)
            axes.set_title(f"{name}, day {film['time'][frame]:.0f}")
        row[0].set_ylabel("from the axis [mm]")
    for axes in sections[-1]:
        axes.set_xlabel("along the vessel [mm]")
    bar = dict(location="bottom", shrink=0.5, aspect=40, pad=0.02)
    left.colorbar(image, ax=sections, label="speed of the blood [mm/s]", **bar)

    lines, friction = right.subplots(2, 1, sharex=True)
    for film, name, colour in ((without, "without drug", "#b5482f"), (with_drug, "with drug", "#2f8f6b")):
        lines.plot(film["time"], 100 * narrowing(film), "o-", color=colour, label=name, markersize=3)
        friction.plot(film["time"], film["shear"].max(axis=1), "o-", color=colour, markersize=3)
    lines.set(title="How much narrower the vessel is", ylabel="% of its radius, at the narrowest",
              ylim=(0, None))
    lines.legend(frameon=False)
    friction.set(title="Friction of the blood", xlabel="time [days]", ylabel="highest wall shear [Pa]",
                 ylim=(0, None))
    for axes in (lines, friction):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: plot.py RUN-WITHOUT RUN-WITH PICTURE")
    films = [read(run) for run in sys.argv[1:3]]
    draw(*films, sys.argv[3])
    for film, name in zip(films, ("without", "with")):
        print(f"{name} drug the vessel is narrower by {narrowing(film)[-1]:.0%} on day {film['time'][-1]:.0f}")
