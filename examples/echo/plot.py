"""Draws the signal of a run's microphone, and the same without the ball: plot.py RUN PICTURE"""

import sys
from pathlib import Path

import matplotlib
import numpy

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

from echo_alone import simulate  # noqa: E402

directory, picture = Path(sys.argv[1]), sys.argv[2]
times, signal, _ = numpy.loadtxt(next(directory.rglob("microphone.txt"))).T
settings = {"time_step": 4.0e-5, "amplitude": 10.0, "frequency": 800.0, "radius": 0.5}
u, _ = simulate((64, 64, 64), 170, settings)
_, without = simulate((64, 64, 64), len(times), {**settings, "radius": 0.0})

figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
extent = (0.0, 3.2, 0.0, 3.2)
image = left.imshow(u[:, :, 32].T, origin="lower", extent=extent, cmap="RdBu", vmin=-0.5, vmax=0.5)
left.add_patch(pyplot.Circle((2.2, 1.6), 0.5, color="0.6"))
left.plot(0.8, 1.2, "k^")
left.set(title="pressure after 6.8 ms", xlabel="x [m]", ylabel="y [m]")
figure.colorbar(image, ax=left, label="Pa")
right.plot(1000.0 * times, without, color="0.7", label="without the ball")
right.plot(1000.0 * times, signal, color="tab:blue", label="with the ball")
right.set(title="microphone", xlabel="time [ms]", ylabel="pressure [Pa]")
right.legend()
figure.savefig(picture, dpi=110)
