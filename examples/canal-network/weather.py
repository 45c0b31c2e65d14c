"""The weather: a storm that passes over the hills one after the other, and the sea, with its tide and the
storm's surge."""

from math import cos, exp, pi

from ligament import Instance, InstanceFlags, Message, Operator


def rain(time, place, drizzle, storm, storm_duration, storm_speed, storm_rain):
    """Returns the rain [m/s] at a time, on the hill number `place` on the way of the storm."""
    late = (time - storm - place * storm_speed) / storm_duration
    return (drizzle + storm_rain * exp(-(late**2))) / 3.6e6


def sea_level(time, tide, tide_period, surge, surge_time, surge_duration):
    """Returns the level of the sea [m]."""
    return tide * cos(2 * pi * time / tide_period) + surge * exp(-(((time - surge_time) / surge_duration) ** 2))


def main():
    instance = Instance({Operator.O_I: ["rain[]", "polder_rain", "sea", "report"]},
                        InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        ask = lambda *names: [instance.get_setting(name, "float") for name in names]
        t_max, dt, interval = ask("t_max", "dt", "weather_interval")
        storm = ask("drizzle", "storm", "storm_duration", "storm_speed", "storm_rain")
        tides = ask("tide", "tide_period", "surge", "surge_time", "surge_duration")
        hills = instance.get_port_length("rain")

        steps, each = round(t_max / dt), round(interval / dt)
        at = lambda step, stride: (step * dt, (step + stride) * dt if step + stride < steps else None)
        # The number of the next step is all that a checkpoint has of the weather.
        first = instance.load_snapshot().data if instance.resuming() else 0
        if instance.should_init():
            first = 0
        for step in range(first, steps):
            sea = sea_level(step * dt, *tides)
            instance.send("sea", Message(*at(step, 1), sea))
            if step % each == 0:
                falls = [rain(step * dt, place, *storm) for place in range(hills + 1)]
                for hill in range(hills):
                    instance.send("rain", Message(*at(step, each), falls[hill]), slot=hill)
                instance.send("polder_rain", Message(*at(step, each), falls[-1]))
                instance.send("report", Message(*at(step, each), {"sea": sea, "rain": sum(falls) / len(falls)}))
            if instance.should_save_snapshot((step + 1) * dt):
                instance.save_snapshot(Message((step + 1) * dt, None, step + 1))
        if instance.should_save_final_snapshot():
            instance.save_final_snapshot(Message(t_max, None, steps))


if __name__ == "__main__":
    main()
