"""The meso model: air flows through layers of grain and takes up their water."""

import numpy as np

# Grain and air in equilibrium: X = DRIEST + SLOPE Y, a line through the range of interest.
DRIEST, SLOPE = 0.05, 4.0


class Bed:
    """Layers of grain with moistures X (kg water/kg dry grain), and the humidity Y (kg/kg) of the air in
    each."""

    def __init__(self, layers, depth, density, flow, moisture, humidity):
        self.grain = density * depth / layers  # kg/m² in each layer
        self.flow = flow  # kg/(m² s)
        self.X = np.full(layers, moisture)
        self.Y = np.full(layers, humidity)
        self.left = 0.0  # water that the air has taken out, kg/m²

    def surface(self):
        """Returns the moisture at the surface of the kernels of each layer, which is in equilibrium with the
        air there."""
        return DRIEST + SLOPE * self.Y

    def outlet(self):
        """Returns the humidity of the air that leaves."""
        return self.Y[-1]

    def advance(self, step, inlet, X):
        """The water that the grain gives off in a step (s), down to the moistures X, goes into the air, layer
        after layer."""
        taken = self.grain * (self.X - X) / step / self.flow
        self.Y = inlet + np.cumsum(taken)
        self.left += step * self.flow * (self.Y[-1] - inlet)
        self.X = X


def main():
    from ligament import Instance, Message, Operator

    instance = Instance({Operator.F_INIT: ["begin"], Operator.O_I: ["surface", "outlet"],
                         Operator.S: ["air", "grain"],
                         Operator.O_F: ["moisture"]})
    ask = lambda name: instance.get_setting(name, "float")
    steps = instance.get_setting("steps", "int")
    bed = Bed(instance.get_setting("layers", "int"),
              *map(ask, ("depth", "density", "flow", "moisture", "humidity")))
    while instance.reuse_instance():
        begin = instance.receive("begin")
        step = begin.data / steps
        for i in range(steps):
            now = begin.timestamp + i * step
            following = now + step if i + 1 < steps else None
            instance.send("surface", Message(now, following, {"surface": bed.surface(), "step": step}))
            instance.send("outlet", Message(now, following, bed.outlet()))
            air = instance.receive("air").data
            bed.advance(step, air["humidity"], instance.receive("grain").data)
        instance.send("moisture", Message(begin.timestamp + begin.data, data=bed.X))
    print(f"{bed.left:.6f} kg/m² have left")


if __name__ == "__main__":
    main()
