"""The macro model: heat flows through a wall. A pool of micro models gives the wall's conductivity at a
temperature."""

import math
from collections import deque

import numpy as np
from ligament import Instance, Message, Operator


class Conductivities:
    """The known values of the conductivity, W/(m K), at temperatures, with straight lines between. The first
    temperatures are multiples of `reach`. An interval is halved until the middle lies on the line between its
    ends to within a part `tolerance`. The error of a line falls with the square of its length, so each half is
    expected to have a quarter of the error."""

    def __init__(self, reach, tolerance):
        self.reach, self.tolerance = reach, tolerance
        self.known = {}
        self.errors = {}  # by both ends of an interval

    def lacking(self, temperatures):
        """Returns the temperatures whose values are missing, so that all of these can be looked up."""
        multiples = {math.floor(one / self.reach) for one in temperatures}
        coarse = {self.reach * (one + end) for one in multiples for end in (0, 1)} - self.known.keys()
        if coarse:
            return sorted(coarse)
        nodes = sorted(self.known)
        used = {int(at) for at in np.searchsorted(nodes, temperatures, side="right") - 1}
        ends = [(nodes[at], nodes[at + 1]) for at in used]
        return sorted(sum(one) / 2 for one in ends if self.errors.get(one, math.inf) > self.tolerance)

    def learn(self, temperature, conductivity):
        """Adds an answer."""
        below = max((one for one in self.known if one < temperature), default=None)
        above = min((one for one in self.known if one > temperature), default=None)
        if below is not None and above is not None:
            part = (temperature - below) / (above - below)
            line = (1 - part) * self.known[below] + part * self.known[above]
            error = abs(conductivity / line - 1) / 4
            self.errors[below, temperature] = self.errors[temperature, above] = error
        self.known[temperature] = conductivity

    def at(self, temperatures):
        """Looks up the conductivities at temperatures whose values are all known."""
        nodes = sorted(self.known)
        return np.interp(temperatures, nodes, [self.known[one] for one in nodes])


class Pool:
    """The micro models, each at one slot of the wall's ports."""

    def __init__(self, instance):
        self.instance = instance
        self.free = deque(range(instance.get_port_length("temperature")))

    def ask(self, time, temperatures):
        """Returns the conductivities at these temperatures, in their order. Each is computed by the first free
        micro model."""
        waiting, answers, busy = deque(enumerate(temperatures)), [None] * len(temperatures), {}
        while waiting or busy:
            while waiting and self.free:
                slot = self.free.popleft()
                busy[slot], temperature = waiting.popleft()
                self.instance.send("temperature", Message(time, data=float(temperature)), slot=slot)
            (_, slot), answer = self.instance.receive_any([("conductivity", slot) for slot in busy])
            answers[busy.pop(slot)] = answer.data
            self.free.append(slot)
        return answers


def step(profile, faces, conductivity, dt, dx, capacity):
    """Returns the temperatures after `dt`, computed implicitly by finite volumes with the conductivities at the
    faces of the cells. `faces` are the temperatures of the wall's two faces, half a cell from the first and the
    last point."""
    way = np.full(profile.size + 1, dx)
    way[[0, -1]] = dx / 2
    flow = conductivity / way * dt / (capacity * dx)
    matrix = np.diag(1 + flow[:-1] + flow[1:]) - np.diag(flow[1:-1], 1) - np.diag(flow[1:-1], -1)
    right = profile.copy()
    right[0] += flow[0] * faces[0]
    right[-1] += flow[-1] * faces[1]
    return np.linalg.solve(matrix, right)


def between(profile, faces):
    """Returns the temperatures at the faces of all cells."""
    return np.concatenate([faces[:1], (profile[1:] + profile[:-1]) / 2, faces[1:]])


def main():
    instance = Instance({Operator.O_I: ["temperature[]"], Operator.S: ["conductivity[]"]})
    pool = Pool(instance)
    while instance.reuse_instance():
        number = lambda name: instance.get_setting(name, "float")  # noqa: E731
        dt, cold, hot, heating = number("dt"), number("cold"), number("hot"), number("heating")
        cells = instance.get_setting("cells", "int")
        dx = number("thickness") / cells
        steps = round(number("t_max") / dt)
        table = Conductivities(number("reach"), number("tolerance"))
        profile = np.full(cells, cold)
        history, asked = [profile], []
        for at in range(steps):
            faces = np.array([cold, cold + (hot - cold) * min(1.0, (at + 1) * dt / heating)])
            here = between(profile, faces)
            asked.append(0)
            while lacking := table.lacking(here):
                asked[-1] += len(lacking)
                for temperature, conductivity in zip(lacking, pool.ask(at * dt, lacking)):
                    table.learn(temperature, conductivity)
            profile = step(profile, faces, table.at(here), dt, dx, number("capacity"))
            history.append(profile)
        known = np.array(sorted(table.known.items()))
        np.savez("wall.npz", x=dx * (np.arange(cells) + 0.5), t=dt * np.arange(steps + 1), temperature=history,
                 asked=asked, known=known)
        print(f"{sum(asked)} evaluations for {steps} steps of {cells + 1} faces")


if __name__ == "__main__":
    main()
