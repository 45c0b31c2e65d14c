"""The micro model: water inside a kernel of grain, a sphere: ∂X/∂t = D/r² ∂/∂r (r² ∂X/∂r), with the surface in
equilibrium with the air. One kernel represents all kernels of a layer."""

import numpy as np

# Diffusivity of water in grain: D = DIFFUSIVITY exp(-ACTIVATION / T), in m²/s, with T in K (an Arrhenius law).
DIFFUSIVITY, ACTIVATION = 1.5e-5, 4000.0
SHELLS = 60


def diffusivity(temperature):
    return DIFFUSIVITY * np.exp(-ACTIVATION / temperature)


class Kernels:
    """A kernel for each layer: moistures (kg/kg) of shells of equal thickness, from the middle outwards."""

    def __init__(self, layers, radius, moisture):
        edges = np.linspace(0.0, radius, SHELLS + 1)
        self.volumes = np.diff(edges**3) / 3
        self.areas, self.thickness = edges**2, edges[1]
        self.X = np.full((layers, SHELLS), moisture)
        self.diffusivity, self.inverse, self.made_for = None, None, None

    def warm(self, temperature):
        self.diffusivity = diffusivity(temperature)

    def mean(self):
        return self.X @ self.volumes / self.volumes.sum()

    def advance(self, step, surface):
        """Makes a step (s) of the implicit Euler method by finite volumes, with these moistures at the
        surfaces."""
        between = self.diffusivity * step * self.areas[1:] / self.thickness
        between[-1] *= 2  # only half a shell to the surface
        if self.made_for != (self.diffusivity, step):
            inner = between[:-1]
            matrix = np.diag(self.volumes + between) - np.diag(inner, 1) - np.diag(inner, -1)
            matrix[np.arange(1, SHELLS), np.arange(1, SHELLS)] += inner
            self.inverse, self.made_for = np.linalg.inv(matrix), (self.diffusivity, step)
        right = self.X * self.volumes
        right[:, -1] += between[-1] * surface
        self.X = right @ self.inverse.T


def main():
    from ligament import Instance, Message, Operator

    instance = Instance({Operator.F_INIT: ["surface", "air"], Operator.O_F: ["moisture"]})
    ask = lambda name, kind="float": instance.get_setting(name, kind)
    kernels = Kernels(ask("layers", "int"), ask("radius"), ask("moisture"))
    while instance.reuse_instance():
        came, air = instance.receive("surface"), instance.receive("air").data
        if air is not None:  # a new hour
            kernels.warm(air["temperature"])
        step = came.data["step"]
        kernels.advance(step, came.data["surface"])
        instance.send("moisture", Message(came.timestamp + step, data=kernels.mean()))


if __name__ == "__main__":
    main()
