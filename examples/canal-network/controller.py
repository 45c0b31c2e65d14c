"""The controller: gives each gate and pump an order that brings the controlled level back to its target."""

from ligament import Instance, InstanceFlags, Message, Operator


class Regulator:
    """Proportional and integral control of one structure, which opens (0 to 1) as the level [m] rises."""

    def __init__(self, target, gain, integral_time, opening):
        self.target, self.gain, self.integral_time = target, gain, integral_time
        self.opening, self.error = opening, 0.0

    def order(self, level, interval):
        """Returns the opening for the next `interval` [s]. The part that is cut off at 0 or 1 is not made up
        for later."""
        error = level - self.target
        self.opening += self.gain * (error - self.error + error * interval / self.integral_time)
        self.opening = min(1.0, max(0.0, self.opening))
        self.error = error
        return self.opening


def main():
    instance = Instance({Operator.F_INIT: ["levels[]"], Operator.O_F: ["orders[]"]},
                        InstanceFlags.USES_CHECKPOINT_API)
    interval = instance.get_setting("gauge_interval", "float")
    structures = instance.get_port_length("orders")
    settings = {name: instance.get_setting(name, "[float]") for name in ("targets", "gains", "integral_times",
                                                                         "openings")}
    for name, values in settings.items():
        if len(values) != structures:
            raise ValueError(
                f"the setting `{name}` has {len(values)} values, and there are {structures} structures")
    regulators = [Regulator(*values) for values in zip(*settings.values())]

    # A pass is one interval. The regulators keep their state between passes.
    while instance.reuse_instance():
        if instance.resuming():
            for regulator, saved in zip(regulators, instance.load_snapshot().data):
                regulator.opening, regulator.error = saved
        instance.should_init()  # true in each pass, because nothing is saved within one
        seen = [instance.receive("levels", slot) for slot in range(structures)]
        for slot, (level, regulator) in enumerate(zip(seen, regulators)):
            order = regulator.order(level.data, interval)
            instance.send("orders", Message(level.timestamp, level.next_timestamp, order), slot)
        if instance.should_save_final_snapshot():
            state = [[regulator.opening, regulator.error] for regulator in regulators]
            instance.save_final_snapshot(Message(seen[0].timestamp + interval, None, state))


if __name__ == "__main__":
    main()
