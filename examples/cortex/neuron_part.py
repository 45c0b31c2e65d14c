"""A population in NEURON."""

import network
import part
from neuron import h


class Simulation:
    """Neurons, each with a connection for each weight that its spikes have."""

    def __init__(self, arrivals):
        self.arrivals, self.parallel = arrivals, h.ParallelContext()
        self.cells, self.inputs, self.outputs = {}, {}, []
        self.times, self.ids = h.Vector(), h.Vector()
        for neuron in arrivals.neurons:
            cell = h.IntFire1()
            cell.tau, cell.refrac = network.TAU_MS, network.REFRACTORY_OFF_GRID_MS
            self.cells[neuron] = cell
            self.outputs.append(h.NetCon(cell, None))
            self.outputs[-1].record(self.times, self.ids, neuron)
        h.dt = network.STEP_MS
        self.parallel.set_maxstep(network.TICK_MS)
        h.finitialize()
        self.read = 0

    def input(self, neuron, weight):
        """The connection with this weight. NEURON reads the weight when the spike arrives."""
        if (neuron, weight) not in self.inputs:
            connection = h.NetCon(None, self.cells[neuron])
            connection.weight[0] = weight
            self.inputs[neuron, weight] = connection
        return self.inputs[neuron, weight]

    def advance(self, begin, until):
        for neuron, times, weights in self.arrivals.take(until):
            for time, weight in zip(times, weights):
                self.input(neuron, weight).event(time)
        self.parallel.psolve(until)
        times, ids = self.times.to_python()[self.read:], self.ids.to_python()[self.read:]
        self.read += len(times)
        return times, [int(id) for id in ids]


part.run("neuron", Simulation)
