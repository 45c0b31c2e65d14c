"""The macro model: a dryer that sets the air's temperature for each hour. It depends on the humidity of the air
that left the bed in the hour before."""

HOUR = 3600.0


class Dryer:
    """Air of a humidity (kg/kg) and a temperature (K)."""

    def __init__(self, humidity, temperature, wished, gain, hottest):
        self.humidity, self.temperature = humidity, temperature
        self.wished, self.gain, self.hottest = wished, gain, hottest

    def air(self):
        return {"humidity": self.humidity, "temperature": self.temperature}

    def adapt(self, outlet):
        """If the air takes up little water, it is heated, so that more water comes out of the grain."""
        taken = outlet - self.humidity
        self.temperature = min(self.temperature + self.gain * max(self.wished - taken, 0.0), self.hottest)


NAMES = ("humidity", "temperature", "wished", "gain", "hottest")


def main():
    from ligament import Instance, Message, Operator

    instance = Instance({Operator.O_I: ["hour", "air"], Operator.S: ["outlet", "end"]})
    while instance.reuse_instance():
        dryer = Dryer(*(instance.get_setting(name, "float") for name in NAMES))
        hours = instance.get_setting("hours", "int")
        for hour in range(hours):
            times = hour * HOUR, (hour + 1) * HOUR if hour + 1 < hours else None
            instance.send("hour", Message(*times, HOUR))
            instance.send("air", Message(*times, dryer.air()))
            dryer.adapt(instance.receive("outlet").data)
            mean = instance.receive("end").data.mean()
            print(f"after {hour + 1} h: {mean:.4f} kg/kg, {dryer.temperature - 273.15:.1f} °C from now on",
                  flush=True)


if __name__ == "__main__":
    main()
