"""The loop that all simulators have in common. Times are in ms, as `time_unit` in the model says."""

import network
from ligament import Instance, Operator


def run(simulator, make):
    """Simulates the neurons of a rank, and exchanges spikes with all other ranks.

    `make(arrivals)` makes the simulation. Its method `advance(begin, until)` returns the times (ms) and ids of
    the spikes from `begin` to `until`.
    """
    inputs = [f"from_{other}" for other in network.SIMULATORS]
    instance = Instance({Operator.O_I: ["spikes"], Operator.S: inputs})
    neurons = network.neurons_of(simulator, instance.rank, instance.ranks)
    while instance.reuse_instance():
        until = instance.get_setting("duration", "float")
        arrivals = network.Arrivals(neurons, until)
        for port in inputs:
            instance.map_list(port, arrivals.sources())
        simulation = make(arrivals)
        while instance.time() < until:
            begin, end = instance.time(), instance.time() + network.TICK_MS
            instance.insert_events("spikes", *simulation.advance(begin, end))
            instance.tick()
            for port in inputs:
                arrivals.add(*instance.events(port))
