"""Draws the concentration over time and space from a run: plot.py DIRECTORY writes reaction_diffusion.png
there."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import yaml
from matplotlib.ticker import MaxNLocator

COLOURS = plt.get_cmap("magma")
PROFILES = 13


def find_result(directory):
    """Returns times [s], places [mm] and concentrations (times x places), from the directory of the macro
    model."""
    results = sorted(Path(directory).rglob("concentration.npy"))
    if len(results) != 1:
        sys.exit(
            f"{directory}: {len(results)} files named concentration.npy; give the directory of one finished "
            f"run")
    return [np.load(results[0].with_name(f"{name}.npy")) for name in ("t", "x", "concentration")]


def front_speed(directory):
    """Returns the speed [mm/s] that a front approaches: 2 sqrt(rD) (Fisher; Kolmogorov, Petrovsky and Piskunov;
    1937)."""
    settings = yaml.safe_load((Path(directory) / "settings.yaml").read_text())
    return 2 * (float(settings["micro.r"]) * float(settings["macro.D"])) ** 0.5


def draw(t, x, u, speed, file):
    """Writes the picture: the whole history as an image, and some times of it as profiles one above the
    other."""
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 13, "axes.titlelocation": "left"})
    figure, (history, moments) = plt.subplots(
        1, 2, figsize=(12.6, 5.8), width_ratios=(1.3, 1), layout="constrained", dpi=130
    )
    # The text beside the colours must not look like the axis of the profiles.
    figure.get_layout_engine().set(wspace=0.06)

    edges = np.linspace(0, x[-1] + x[0], x.size + 1)
    image = history.imshow(
        u, origin="lower", extent=(0, edges[-1], 0, t[-1]), aspect="auto", cmap=COLOURS, vmin=0, vmax=1
    )
    history.contour(x, t, u, levels=[0.5], colors="white", linewidths=0.8)
    history.set(xlabel="place in the tube [mm]", ylabel="time [s]", title="Concentration over time and space")
    figure.colorbar(image, ax=history, label="concentration of B", pad=0.015)
    show_speed(history, t, x, u, speed)

    step = t[-1] / (PROFILES - 1)
    for number, i in reversed(list(enumerate(np.linspace(0, t.size - 1, PROFILES).astype(int)))):
        base = number * step
        height = base + 1.6 * step * u[i]
        moments.fill_between(x, base, height, color=COLOURS(0.12 + 0.7 * number / PROFILES), linewidth=0)
        moments.plot(x, height, color="white", linewidth=0.9)
    moments.set(xlabel="place in the tube [mm]", title=f"Profiles, one every {step:.0f} s")
    # Each profile is drawn at its time.
    moments.set(xlim=(0, edges[-1]), ylim=(0, t[-1] + 1.75 * step), ylabel="time of the profile [s]")
    moments.set_yticks(np.linspace(0, t[-1], PROFILES)[::2])
    for axes in (history, moments):
        axes.xaxis.set_major_locator(MaxNLocator(5))
    for side in ("left", "right", "top"):
        moments.spines[side].set_visible(False)

    figure.savefig(file)
    plt.close(figure)


def show_speed(axes, t, x, u, speed):
    """A dashed line at the speed that theory gives, just ahead of the first seed's front."""
    seed = x[np.argmax(u[0])]
    begin, end = seed + 0.9, seed + 0.9 + 0.11 * x[-1]
    axes.plot([begin, end], [0.04 * t[-1], 0.04 * t[-1] + (end - begin) / speed], "--", color="white",
              linewidth=1.4)
    axes.annotate(
        f"theory: 2√(rD) = {60 * speed:.2f} mm/min", (begin, 0.04 * t[-1]), (12, 0), textcoords="offset points",
        color="white", fontsize=10,
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py RUN-DIRECTORY")
    run = Path(sys.argv[1])
    draw(*find_result(run), front_speed(run), run / "reaction_diffusion.png")
    print(run / "reaction_diffusion.png")
