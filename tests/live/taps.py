"""Models whose ports are looked at: every value follows from the time of its message."""

# Step n is sent at time n / 2, until it is told `go`. Nothing is joined to any of its ports but `out`, and
# `hidden` only its code knows.
FIELD = """
import os, time
instance = Instance({Operator.O_I: ["out", "state", "tree", "huge", "slots[]", "hidden", "number", "nothing"]})
told = lambda word: os.path.exists(os.path.join(HERE, word))
huge = np.zeros(14 << 20)
while instance.reuse_instance():
    n = 0
    while not told("go"):
        at = n / 2
        instance.send("out", Message(at, data=np.full(1000, at)))
        instance.send("state", Message(at, at + 0.5, np.arange(24.0).reshape(4, 6) + 100 * n))
        tree = {"inner": {"u": np.arange(5) + n}, "name": "tree", "odd": [np.nan, np.inf, -np.inf, "NaN"]}
        instance.send("tree", Message(at, data=tree))
        hidden = Array(np.arange(6, dtype=np.int32).reshape(2, 3).T, unit="mm")
        instance.send("hidden", Message(at, data=hidden))
        instance.send("number", Message(at, data=at))
        instance.send("nothing", Message(at))
        if told("huge"):
            huge[:] = at
            huge[-1] = -1.0
            instance.send("huge", Message(at, data=huge))
        n += 1
        time.sleep(0.002)
"""

# A component that receives until its conduit ends.
TAKER = """
instance = Instance({Operator.F_INIT: ["in"]})
while instance.reuse_instance():
    instance.receive("in")
"""

MODEL = """ymmsl_version: v0.1
model:
  name: shown
  components:
    field: {{implementation: field, ports: {{o_i: [out, state, tree, huge, number, nothing]}}}}
    taker: {{implementation: taker, ports: {{f_init: in}}}}
  conduits:
    field.out: taker.in
implementations:
  field: {field}
  taker: {taker}
"""

# Two that pass a number on to each other in one process, until they are told `go`.
LIGHT = """
import os, time

class Walker(Submodel):
    last = None
    def __init__(self, instance):
        self.name = instance.name
    def initialise(self, instance):
        self.step = 0
    def is_done(self):
        # Both end after the same step: the first one to see `go` sets the step, and the other is at most one
        # step away.
        if Walker.last is None and os.path.exists(os.path.join(HERE, "go")):
            Walker.last = self.step + 2
        return Walker.last is not None and self.step >= Walker.last
    def observe(self, instance):
        sign = 1 if self.name == "left" else -1
        instance.send("out", Message(float(self.step), data=np.full(10, sign * float(self.step))))
        instance.send("shown", Message(float(self.step), data=sign * self.step))
    def solve(self, instance):
        instance.receive("in")
        self.step += 1
        time.sleep(0.001)
    def observe_final(self, instance):
        pass

run_light(Walker)
"""

PAIR = """ymmsl_version: v0.1
model:
  name: pair
  components:
    left: {{implementation: walker, ports: {{o_i: [out, shown], s: in}}}}
    right: {{implementation: walker, ports: {{o_i: [out, shown], s: in}}}}
  conduits:
    left.out: right.in
    right.out: left.in
implementations:
  walker: {walker}
ligament: {{light: walker}}
"""
