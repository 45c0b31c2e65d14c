"""The geometry mapper: it receives the places of the cells, and sends the radius of the lumen. Lengths in
mm."""

import numpy as np
from ligament import Instance, Message, Operator

FINE = 8  # places at which the surface is looked at, for each node


def lumen(cells, length, nodes, smoothing):
    """Returns the radius of the lumen at the nodes along the vessel. Cells are rows of z, r and radius. The
    surface is that of the innermost cells, smoothed by a bell of a given width, since blood does not feel
    single cells."""
    n = FINE * nodes
    h = length / n
    z, r, size = cells.T
    surface = np.full(n, np.inf)
    reach = int(np.ceil(size.max() / h))
    for step in range(-reach, reach + 1):
        place = np.floor(z / h).astype(int) + step
        rise = size**2 - ((place + 0.5) * h - z) ** 2
        touched = rise > 0
        np.minimum.at(surface, place[touched] % n, (r - np.sqrt(np.maximum(rise, 0)))[touched])
    if not np.isfinite(surface).all():
        raise ValueError("there are places without any cell: the vessel has a hole")

    waves = 2 * np.pi * np.fft.rfftfreq(n, h)
    smooth = np.fft.irfft(np.fft.rfft(surface) * np.exp(-((smoothing * waves) ** 2) / 2), n)
    return smooth.reshape(nodes, FINE).mean(axis=1)


def main():
    instance = Instance({Operator.F_INIT: ["tissue"], Operator.O_F: ["lumen"]})
    while instance.reuse_instance():
        tissue = instance.receive("tissue")
        radius = lumen(
            tissue.data, instance.get_setting("length", "float"), instance.get_setting("nodes_along", "int"),
            instance.get_setting("smoothing", "float"),
        )
        instance.send("lumen", Message(tissue.timestamp, tissue.next_timestamp, radius))


if __name__ == "__main__":
    main()
