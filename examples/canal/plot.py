"""Draws the flow of a run beside the analytic one: plot.py DIRECTORY writes canal.png there."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import yaml
from alone import series

# The number of points of the analytic flow for each point of the lattice. It is odd, so the points of the
# lattice are among them.
FINER = 9


def settings_of(directory):
    return yaml.safe_load((Path(directory) / "settings.yaml").read_text())


def cross_sections(directory):
    """The velocity along x, in points a step, of the first cross-section of each section: [section, y, z]."""
    files = sorted(Path(directory).rglob("flow-*.npy"), key=lambda file: int(file.stem.split("-")[1]))
    if not files:
        sys.exit(f"{directory}: there are no files flow-*.npy; give the directory of a finished run")
    return np.array([np.load(file)[0, :, :, 1] for file in files])


def draw(velocity, analytic, dt, file):
    """Writes the picture. A point is 1 mm; `velocity` [y, z] and `analytic` are in points a step of `dt` s."""
    speed, expected = velocity / dt, analytic / dt
    (ny, nz), (fine_y, fine_z) = speed.shape, expected.shape
    y, z = np.arange(ny) + 0.5, np.arange(nz) + 0.5
    fine = [(np.arange(count) + 0.5) * length / count for count, length in ((fine_y, ny), (fine_z, nz))]
    plt.rcParams.update({"font.size": 11, "axes.titlesize": 12, "axes.titlelocation": "left"})
    figure, (section, wide, high) = plt.subplots(1, 3, figsize=(13.2, 4.2), width_ratios=(1.6, 1.2, 1),
                                                 layout="constrained", dpi=120)
    image = section.imshow(speed.T, origin="lower", extent=(0, ny, 0, nz), cmap="viridis", vmin=0)
    section.contour(*fine, expected.T, levels=np.linspace(0.1, 0.9, 5) * expected.max(), colors="white",
                    linewidths=0.9)
    section.set(xlabel="y [mm]", ylabel="z [mm]", title="The flow in a section; white: analytic")
    figure.colorbar(image, ax=section, label="speed [mm/s]", orientation="horizontal")
    # The points of the middle are half a point off it.
    across, along = (length // 2 + 0.5 for length in (nz, ny))
    middle_y, middle_z = int(along * fine_y / ny), int(across * fine_z / nz)
    wide.plot(fine[0], expected[:, middle_z], color="tab:orange", label="analytic")
    wide.plot(y, speed[:, nz // 2], "o", color="tab:blue", markersize=3.5, label="lattice")
    wide.set(xlabel="y [mm]", xlim=(0, ny), ylim=(0, None), title=f"At z = {across:g} mm")
    high.plot(fine[1], expected[middle_y], color="tab:orange")
    high.plot(z, speed[ny // 2], "o", color="tab:blue", markersize=3.5)
    high.set(xlabel="z [mm]", xlim=(0, nz), ylim=(0, None), title=f"At y = {along:g} mm")
    wide.set_ylabel("speed [mm/s]")
    wide.legend(loc="lower center", frameon=False)
    figure.savefig(file)
    plt.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: plot.py RUN-DIRECTORY")
    run, settings = Path(sys.argv[1]), settings_of(sys.argv[1])
    sections = cross_sections(run)
    analytic = series(*sections.shape[1:], settings["viscosity"], settings["acceleration"], FINER)
    draw(sections[0], analytic, settings["dt"], run / "canal.png")
    print(run / "canal.png")
