"""The simulation NAME: its modules, and the driver that runs them on a block of the grid."""

from ligament import grid


class Spreading:
    """A field u that spreads."""

    name = "NAME"
    parameters = {"share": {"default": 0.1, "min": 0, "max": 0.25, "steerable": True}}
    fields = {"u": {"ghosts": 1}, "change": {"ghosts": 0, "published": False}}
    functions = {
        "start": {"bin": "initial", "writes": {"u": "interior"}},
        "spread": {"bin": "evol", "reads": {"u": "everywhere"}, "writes": {"change": "interior"}},
        "add": {"bin": "evol", "reads": {"u": "interior", "change": "interior"}, "writes": {"u": "interior"}},
        "report": {"bin": "analysis", "reads": {"u": "interior"}},
    }

    def start(self, block):
        block.interior("u")[...] = 0.0
        x, y = block.range
        if x.start <= 8 < x.stop and y.start <= 8 < y.stop:
            block.interior("u")[8 - x.start, 8 - y.start] = 1.0

    def spread(self, block):
        u = block.field("u")
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        block.interior("change")[...] = block.parameter("share") * (around - 4.0 * u[1:-1, 1:-1])

    def add(self, block):
        block.interior("u")[...] += block.interior("change")

    def report(self, block):
        largest = block.max(block.interior("u"))
        if block.number == 0:
            print(f"step {block.step}: the largest u is {largest:.6f}")


grid.run([Spreading])
