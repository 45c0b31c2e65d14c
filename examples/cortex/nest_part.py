"""A population in NEST."""

import nest
import network
import part


class Simulation:
    """Neurons, each with a generator that replaces all spikes that arrive at it."""

    def __init__(self, arrivals):
        nest.ResetKernel()
        nest.verbosity = nest.VerbosityLevel.ERROR
        nest.resolution = network.STEP_MS
        self.arrivals, count = arrivals, len(arrivals.neurons)
        self.cells = nest.Create("iaf_psc_delta", count, params=network.NEST_PARAMETERS)
        self.generators = nest.Create("spike_generator", count)
        self.recorder = nest.Create("spike_recorder")
        nest.Connect(self.generators, self.cells, "one_to_one", {"weight": 1.0, "delay": network.STEP_MS})
        nest.Connect(self.cells, self.recorder)
        self.first = arrivals.neurons[0] - self.cells.tolist()[0]

    def advance(self, begin, until):
        # A spike leaves its generator one step before it arrives. NEST ignores times that are not later than
        # the present, so exactly the times of the next window are given.
        for generator, (_, times, weights) in zip(self.generators, self.arrivals.take(until + network.STEP_MS)):
            times = [round(time - network.STEP_MS, 4) for time in times]
            generator.set(spike_times=times, spike_weights=weights)
        nest.Simulate(until - begin)
        events = self.recorder.events
        self.recorder.n_events = 0
        return events["times"].copy(), events["senders"] + self.first


part.run("nest", Simulation)
