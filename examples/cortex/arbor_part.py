"""A population in Arbor."""

import arbor
import network
import part
from arbor import units


class Recipe(arbor.recipe):
    """Cells without connections. A generator replaces all spikes of one weight that arrive at a cell."""

    def __init__(self, count):
        super().__init__()
        self.count, self.generators = count, [[] for _ in range(count)]

    def num_cells(self):
        return self.count

    def cell_kind(self, cell):
        return arbor.cell_kind.lif

    def cell_description(self, cell):
        return arbor.lif_cell("out", "in", V_th=1 * units.mV, C_m=1 * units.pF, tau_m=network.TAU_MS * units.ms,
                              E_L=0 * units.mV, E_R=0 * units.mV, V_m=0 * units.mV,
                              t_ref=network.REFRACTORY_OFF_GRID_MS * units.ms)

    def event_generators(self, cell):
        return self.generators[cell]


def generators(times, weights):
    """An event generator for each weight. Weights are in fC: divided by 1 pF, they are jumps in mV."""
    due = {}
    for time, weight in zip(times, weights):
        due.setdefault(weight, []).append(time * units.ms)
    return [arbor.event_generator("in", weight, arbor.explicit_schedule(due[weight])) for weight in due]


class Simulation:
    """Neurons, whose event generators are replaced in each tick."""

    def __init__(self, arrivals):
        self.arrivals, self.recipe = arrivals, Recipe(len(arrivals.neurons))
        self.simulation = arbor.simulation(self.recipe)
        # Without a connection in the recipe, `all` records nothing.
        self.simulation.record(arbor.spike_recording.local)

    def advance(self, begin, until):
        # Arbor keeps spikes that arrive at `until` for the next window, and `update` would drop them from
        # there.
        due = self.arrivals.take(until - network.STEP_MS / 2)
        self.recipe.generators = [generators(times, weights) for _, times, weights in due]
        self.simulation.update(self.recipe)
        self.simulation.run(until * units.ms, network.STEP_MS * units.ms)
        spikes = self.simulation.spikes()
        self.simulation.clear_samplers()    # of the spikes, too
        return spikes["time"].copy(), spikes["source"]["gid"] + self.arrivals.neurons[0]


part.run("arbor", Simulation)
