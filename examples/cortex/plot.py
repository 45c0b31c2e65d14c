"""Draws the spikes of a coupled run above those of NEST alone, and compares their rates.

Arguments: the spikes of the run, those of NEST alone, the model time (ms), and the picture. Ends with 1 if the
rates of a population differ by more than 5 %.
"""

import sys

import matplotlib
import network
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

TOLERANCE = 0.05

files, until = sys.argv[1:3], float(sys.argv[3])
runs = [np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2) for file in files]
figure, axes = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
for spikes, axis, title in zip(runs, axes, ("NEST, NEURON and Arbor, coupled", "NEST alone")):
    for simulator in network.SIMULATORS:
        ids = network.neurons_of(simulator)
        mine = spikes[np.isin(spikes[:, 1], ids)]
        axis.plot(mine[:, 0], mine[:, 1], ".", markersize=2, label=f"neurons that run in {simulator}")
    axis.set(title=title, ylabel="neuron", xlim=(0, until))
axes[1].set_xlabel("time (ms)")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=4)
figure.savefig(sys.argv[4], dpi=120)

apart = False
for simulator in network.SIMULATORS:
    ids = network.neurons_of(simulator)
    rates = [np.isin(spikes[:, 1], ids).sum() / len(ids) / until * 1000 for spikes in runs]
    print(f"{simulator}: {rates[0]:.2f} Hz coupled, {rates[1]:.2f} Hz in NEST alone")
    apart |= abs(rates[0] - rates[1]) > TOLERANCE * rates[1]
same = {tuple(spike) for spike in np.round(runs[0], 4)} & {tuple(spike) for spike in np.round(runs[1], 4)}
print(f"{len(same)} of {len(runs[1])} spikes are equal, time and neuron")
sys.exit(1 if apart else 0)
