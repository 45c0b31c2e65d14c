"""Draws a run: curves.py DIRECTORY FILE writes the displacements beside the exact ones, and the iterations."""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from oscillator_alone import exact


def table(directory, name):
    """The rows of a table of a run."""
    found = list(Path(directory).rglob(name))
    if len(found) != 1:
        sys.exit(f"{directory}: there is no {name}; give the directory of a finished run")
    with found[0].open() as file:
        return list(csv.DictReader(file))


def displacements(directory, name):
    """Times (s) and accepted displacements (m): those of the last iteration of each window."""
    accepted = {float(row["time"]): float(row["value"]) for row in table(directory, name)}
    return np.array(list(accepted)), np.array(list(accepted.values()))


def draw(directory, file):
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 12, "axes.titlelocation": "left"})
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5.4), height_ratios=(2, 1), layout="constrained",
                                          sharex=True, dpi=120)
    fine = np.linspace(0, 1, 500)
    for mass, name in enumerate(("record.csv", "record_right.csv")):
        times, values = displacements(directory, name)
        above.plot(fine, exact(fine)[:, mass], color=f"C{mass}", linewidth=1)
        above.plot(times, values, ".", color=f"C{mass}", label=f"{('left', 'right')[mass]} mass")
    above.set(ylabel="displacement [m]", title="Points: coupled; lines: exact")
    above.legend(loc="upper right")
    rows = table(directory, "coupling.csv")
    ends = [float(row["end"]) for row in rows]
    width = ends[0] - float(rows[0]["begin"])
    below.bar(np.array(ends) - width / 2, [int(row["iterations"]) for row in rows], width, color="tab:gray")
    below.set(xlabel="time [s]", ylabel="iterations", xlim=(0, ends[-1]))
    figure.savefig(file)


if __name__ == "__main__":
    draw(*sys.argv[1:3])
