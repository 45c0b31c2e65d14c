"""Writes all spikes to spikes.csv. The component has no clock, so it receives each exchange as a message with
the arrays times and ids."""

import csv

import network
from ligament import ClosedError, Instance, Operator

instance = Instance({Operator.S: [f"{simulator}[]" for simulator in network.SIMULATORS]})
while instance.reuse_instance():
    with open("spikes.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time_ms", "neuron"])
        inputs = [(port, slot) for port in network.SIMULATORS
                  for slot in range(instance.get_port_length(port))]
        while True:
            try:
                _, message = instance.receive_any(inputs)
            except ClosedError:
                break
            writer.writerows(zip(message.data["times"].tolist(), message.data["ids"].tolist()))
