"""The recorder: it writes the messages between the other components to restenosis.npz. No component waits for
it."""

import numpy as np
from ligament import Instance, Operator

PORTS = ["tissue", "lumen", "shear", "resistance", "section", "drug"]


def main():
    instance = Instance({Operator.S: PORTS})
    while instance.reuse_instance():
        names = ("length", "radius", "wall", "strut")
        film = {name: instance.get_setting(name, "float") for name in names}
        film["struts"] = instance.get_setting("struts", "[float]")
        times, frames, more = [], {port: [] for port in PORTS}, True
        while more:
            for port in PORTS:
                message = instance.receive(port)
                frames[port].append(np.array(message.data))
                if port == "tissue":
                    times.append(message.timestamp)
                    more = message.next_timestamp is not None
        # The number of cells grows, so each time has an array of its own.
        film |= {f"tissue{i}": cells for i, cells in enumerate(frames.pop("tissue"))}
        np.savez("restenosis.npz", time=times, **film, **frames)


if __name__ == "__main__":
    main()
