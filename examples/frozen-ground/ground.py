"""Heat in a column of ground: ∂T/∂t = a ∂²T/∂z², with the surface at a given temperature and no flow through
the bottom."""

import numpy as np


class Ground:
    """Temperatures (K) at depths 0, dz, 2 dz, … (m), for a diffusivity a (m²/s)."""

    def __init__(self, depth, spacing, diffusivity, temperature):
        self.spacing, self.diffusivity = spacing, diffusivity
        self.temperature = np.full(round(depth / spacing) + 1, temperature)
        self.factors, self.step = None, None

    def advance(self, step, surface):
        """Makes a step (s) by Crank and Nicolson (Proc. Camb. Phil. Soc. 43, 1947), at whose end the surface
        has the temperature `surface`."""
        if step != self.step:
            self.step, self.factors = step, self._inverse(step)
        T = self.temperature
        change = np.zeros_like(T)
        change[1:-1] = T[2:] - 2 * T[1:-1] + T[:-2]
        change[-1] = 2 * (T[-2] - T[-1])
        right = T + self._share(step) * change
        right[0] = surface
        self.temperature = self.factors @ right

    def _share(self, step):
        return 0.5 * self.diffusivity * step / self.spacing**2

    def _inverse(self, step):
        n, share = len(self.temperature), self._share(step)
        matrix = np.diag(np.full(n, 1 + 2 * share)) - share * (np.eye(n, k=1) + np.eye(n, k=-1))
        matrix[-1, -2] = -2 * share
        matrix[0] = np.eye(n)[0]
        return np.linalg.inv(matrix)


def main():
    from ligament import Instance, Message, Operator

    instance = Instance({Operator.F_INIT: ["surface"], Operator.O_F: ["profile"]})
    ask = lambda name: instance.get_setting(name, "float")
    ground, before = Ground(ask("depth"), ask("spacing"), ask("diffusivity"), ask("mean")), None
    while instance.reuse_instance():
        came = instance.receive("surface")
        if before is not None:
            ground.advance(came.timestamp - before, came.data)
        before = came.timestamp
        instance.send("profile", Message(came.timestamp, came.next_timestamp, ground.temperature))


if __name__ == "__main__":
    main()
