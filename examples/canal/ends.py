"""A reach of the network of canals whose water is a lattice. It converts the network's levels and discharges to
the lattice's densities and masses, and back. To the network it behaves like `reach.f90`. The lattice is a
distorted scale model, like those of hydraulic laboratories: it has one scale along the channel, and another one
across. Its density stands for the depth: a cross-section of density r has the level z0 + h (r - 1), where h is
the mean depth at rest. So the mass of the lattice is the volume of the water, and sound waves of the lattice
are the waves of the water."""

import numpy as np
from ligament import Instance, Message, Operator

GRAVITY = 9.81
# Maximum relative difference of the squared speeds of the lattice's sound and of waves of shallow water.
SPEED_TOLERANCE = 0.05


class Flows:
    """Returns the total inflow through the slots of a port. A message holds until the next one is due."""

    def __init__(self, instance, port):
        self.instance, self.port = instance, port
        count = instance.get_port_length(port) if instance.is_connected(port) else 0
        self.now, self.until = [0.0] * count, [-np.inf] * count

    def total(self, time):
        for slot in range(len(self.now)):
            if time > self.until[slot]:
                message = self.instance.receive(self.port, slot)
                self.now[slot] = float(message.data)
                due = message.next_timestamp
                self.until[slot] = np.inf if due is None else due
        return sum(self.now)


class Scale:
    """Converts between the network and the lattice: levels in m, discharges in m^3/s, masses of the lattice."""

    def __init__(self, instance, planes):
        def get(name):
            return instance.get_setting(name, "float")

        self.dt, self.dx, self.width = get("dt"), get("dx"), get("width")
        self.cells = instance.get_setting("cells", "int")
        self.level = get("level")
        self.depth = self.level - (get("bed_above") + get("bed_below")) / 2
        self.planes, self.length = planes, self.cells * self.dx
        sound = self.length / planes / (np.sqrt(3) * self.dt)
        ratio = sound**2 / (GRAVITY * self.depth) if self.depth > 0 else np.inf
        if not abs(ratio - 1) <= SPEED_TOLERANCE:
            right = self.length / (np.sqrt(3 * GRAVITY * max(self.depth, 1e-3)) * self.dt)
            raise ValueError(f"the waves of the lattice are not as fast as those in water {self.depth:.3g} m "
                             f"deep: a grid with {planes} points along x should have {right:.0f}")
        # The share of each plane of the lattice in each cell.
        edges, lattice = np.arange(self.cells + 1) / self.cells, np.arange(planes + 1) / planes
        ends = np.minimum(edges[1:, None], lattice[None, 1:])
        self.shares = np.maximum(ends - np.maximum(edges[:-1, None], lattice[None, :-1]), 0) * self.cells

    def mass(self, flow, points):
        """Converts a discharge to the mass in a step, through a cross-section of this many points."""
        volume_of_plane = self.width * self.depth * self.length / self.planes
        return flow * self.dt / volume_of_plane * points

    def levels(self, densities):
        return self.level + self.depth * (self.shares @ densities - 1)

    def volume(self, densities):
        return self.width * self.depth * self.length / self.planes * float(np.sum(densities))


class Film:
    """The record for the collector: levels and discharges, some frames at a time."""

    def __init__(self, instance):
        def every(name, part):
            ratio = instance.get_setting(name, "float") / instance.get_setting(part, "float")
            if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6:
                raise ValueError(f"{name} must be a multiple of {part}")
            return round(ratio)

        self.instance = instance
        self.per_frame, self.per_film = every("frame_interval", "dt"), every("film_interval", "frame_interval")
        self.levels, self.discharges = [], []

    def add(self, step, levels, discharges):
        if (step + 1) % self.per_frame == 0:
            self.levels.append(levels)
            self.discharges.append(discharges)

    def send_if_full(self, time, end, interval):
        if len(self.levels) < self.per_film and time < end:
            return
        due = min(time + interval, end) if time < end else None
        for port, frames in (("levels", self.levels), ("discharges", self.discharges)):
            # A column is a frame, as in the Fortran reaches.
            self.instance.send(port, Message(time, due, np.array(frames).T))
        self.levels, self.discharges = [], []


def simulate(instance):
    t_max, dt = instance.get_setting("t_max", "float"), instance.get_setting("dt", "float")
    across = instance.get_setting("points_across", "int")
    ranks, film = instance.get_port_length("profile"), Film(instance)
    per_gauge = round(instance.get_setting("gauge_interval", "float") / dt)
    above, below = Flows(instance, "above"), Flows(instance, "below")
    densities = np.ones(instance.get_setting("planes", "int"))
    scale = Scale(instance, densities.size)
    before, passed = scale.volume(densities), np.zeros(2)
    levels, steps = scale.levels(densities), round(t_max / dt)
    for step in range(steps):
        time, more = step * dt, step + 1 < steps
        due = time + dt if more else None
        instance.send("level_above", Message(time, due, float(levels[0])))
        instance.send("level_below", Message(time, due, float(levels[-1])))
        if step % per_gauge == 0:
            due_gauge = time + per_gauge * dt if step + per_gauge < steps else None
            instance.send("gauge", Message(time, due_gauge, float(levels[-1])))
        flows = np.array([above.total(time + dt / 2), below.total(time + dt / 2)])
        for rank in range(ranks):
            instance.send("flows", Message(time, due, scale.mass(flows, across)), rank)
        densities = np.concatenate([instance.receive("profile", rank).data for rank in range(ranks)])
        old, levels = levels, scale.levels(densities)
        # The flow between two cells follows from the changes of their volumes.
        gained = scale.width * scale.dx / dt * (levels - old)
        film.add(step, levels, np.concatenate([flows[:1], flows[0] - np.cumsum(gained)]))
        film.send_if_full(time + dt, t_max, film.per_film * film.per_frame * dt)
        passed += dt * flows
    balance = [[before], [scale.volume(densities)], [passed[0]], [passed[1]], [0.0]]
    instance.send("balance", Message(t_max, data=np.array(balance)))


def main():
    instance = Instance({
        Operator.O_I: ["level_above", "level_below", "gauge", "levels", "discharges", "flows[]"],
        Operator.S: ["above[]", "below[]", "profile[]"],
        Operator.O_F: ["balance"]})
    while instance.reuse_instance():
        simulate(instance)


if __name__ == "__main__":
    main()
