"""The same network in NEST alone. Arguments: the model time (ms), and the file for the spikes."""

import csv
import sys

import nest
import network

until = float(sys.argv[1])
nest.verbosity = nest.VerbosityLevel.ERROR
nest.resolution = network.STEP_MS
cells = nest.Create("iaf_psc_delta", network.ALL, params=network.NEST_PARAMETERS)
generators = nest.Create("spike_generator", network.ALL)
recorder = nest.Create("spike_recorder")
first = cells.tolist()[0]
nest.Connect(generators, cells, "one_to_one", {"weight": network.DRIVE_WEIGHT, "delay": network.STEP_MS})
for neuron in range(network.ALL):
    generators[neuron].spike_times = [round(time - network.STEP_MS, 4) for time in network.drive(neuron, until)]
    for source, weight in zip(*network.connections(neuron)):
        nest.Connect(cells[int(source)], cells[neuron],
                     syn_spec={"weight": float(weight), "delay": network.DELAY_MS})
nest.Connect(cells, recorder)
nest.Simulate(until)
with open(sys.argv[2], "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["time_ms", "neuron"])
    writer.writerows(zip(recorder.events["times"].tolist(), (recorder.events["senders"] - first).tolist()))
