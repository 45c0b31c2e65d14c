"""A mass between a wall and a neighbour, each at a spring. It repeats a window of time for as long as the
coupling asks for it."""

from oscillator_alone import stepped

from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["displacement"], Operator.S: ["initial", "neighbour"]})
while instance.reuse_instance():
    mass, wall, between = (instance.get_setting(name, "float") for name in ("mass", "wall", "between"))
    begin = computed = (instance.get_setting("displaced", "float"), 0.0)  # displacement (m), velocity (m/s)
    instance.send("displacement", Message(0.0, data=begin[0]))

    neighbour = instance.receive("initial").data
    came = instance.receive("neighbour")
    time = came.timestamp
    while came.next_timestamp is not None:
        if came.timestamp > time:  # the last window is accepted
            time, begin, neighbour = came.timestamp, computed, last
        last = came.data
        computed = stepped(begin, (neighbour, last), came.next_timestamp - time, (mass, wall, between))
        instance.send("displacement", Message(came.next_timestamp, data=computed[0]))
        came = instance.receive("neighbour")
    print(f"at {came.timestamp} s: displacement {float(computed[0])!r} m, velocity {float(computed[1])!r} m/s")
