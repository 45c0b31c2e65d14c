"""The network of all simulators: the connections, and the drive of each neuron. There are 150 leaky
integrate-and-fire neurons, 50 in each simulator. A neuron's potential decays with the time constant `TAU_MS`,
jumps by the weight of each spike that arrives, and is reset at the threshold 1."""

import numpy as np

SIMULATORS = ("nest", "neuron", "arbor")
SIZE = 50                 # neurons of each simulator
ALL = SIZE * len(SIMULATORS)
TAU_MS, REFRACTORY_MS = 10.0, 2.0
STEP_MS = 0.1             # NEST's grid; all spikes of the drive lie on it
# NEST loses a spike that arrives at the very end of the refractory time. The others would take it.
REFRACTORY_OFF_GRID_MS = REFRACTORY_MS + STEP_MS / 2
TICK_MS = 5.0             # time between two exchanges
# Of all connections: longer than a tick, so that a spike is known before it arrives. One step more is for a
# spike at the very end of a tick, which belongs to the next exchange; another one is for NEST's generators.
DELAY_MS = TICK_MS + 2 * STEP_MS
SOURCES = 12              # connections to each neuron
DRIVE_HZ, DRIVE_WEIGHT = 300.0, 0.26

# The neuron model iaf_psc_delta of NEST with these numbers is IntFire1 of NEURON and lif_cell of Arbor: a
# threshold of 1, and no input during the refractory time.
NEST_PARAMETERS = {"E_L": 0.0, "V_m": 0.0, "V_reset": 0.0, "V_th": 1.0, "tau_m": TAU_MS, "t_ref": REFRACTORY_MS,
                   "C_m": 1.0, "I_e": 0.0}


def neurons_of(simulator, rank=0, ranks=1):
    """The ids of the neurons of a rank."""
    first = SIZE * SIMULATORS.index(simulator)
    return range(first + SIZE * rank // ranks, first + SIZE * (rank + 1) // ranks)


def connections(neuron):
    """The sources of a neuron, and their weights. Every fifth neuron inhibits."""
    draw = np.random.default_rng([1, neuron])
    sources = draw.choice(ALL, SOURCES, replace=False)
    return sources, np.where(sources % 5 == 0, -0.3, 0.12)


def drive(neuron, until_ms):
    """Returns the times (ms) of the external spikes of a neuron."""
    draw = np.random.default_rng([2, neuron])
    steps = np.cumsum(draw.geometric(DRIVE_HZ * STEP_MS / 1000, int(until_ms)))
    # NEST's generators cannot begin at time 0, and their spikes arrive a step later.
    return np.round(steps[(steps > 1) & (steps * STEP_MS < until_ms)] * STEP_MS, 4)


class Arrivals:
    """The spikes that arrive at the neurons of one rank: those of the drive, and those of other neurons."""

    def __init__(self, neurons, until_ms):
        self.neurons = neurons
        self.targets = {}     # for each source: the neurons that it leads to, with weights
        self.waiting = {neuron: [(time, DRIVE_WEIGHT) for time in drive(neuron, until_ms)]
                        for neuron in neurons}
        for neuron in neurons:
            for source, weight in zip(*connections(neuron)):
                self.targets.setdefault(int(source), []).append((neuron, float(weight)))

    def sources(self):
        """The ids of all neurons that lead to one of these."""
        return sorted(self.targets)

    def add(self, times_ms, ids):
        """Adds spikes of other neurons."""
        for time, id in zip(times_ms, ids):
            for neuron, weight in self.targets.get(int(id), ()):
                self.waiting[neuron].append((round(float(time) + DELAY_MS, 4), weight))

    def take(self, until_ms):
        """Returns for each neuron the times and weights of the spikes that arrive up to `until_ms`, in
        order."""
        for neuron in self.neurons:
            due = sorted(arrival for arrival in self.waiting[neuron] if arrival[0] <= until_ms)
            self.waiting[neuron] = [arrival for arrival in self.waiting[neuron] if arrival[0] > until_ms]
            yield neuron, [time for time, _ in due], [weight for _, weight in due]
