"""The same mathematics as the coupled model in one program, without coupling. The test compares both."""

import math
import sys
from pathlib import Path

import numpy as np
import yaml

GRAVITY = 9.81
REACHES = ("river", "upper", "north", "south", "lower", "polder")
GATES = {  # between which reaches
    "weir": ("river", "upper"), "north_gate": ("upper", "north"), "south_gate": ("upper", "south"),
    "north_mouth": ("north", "lower"), "south_mouth": ("south", "lower"), "sluice": ("lower", "sea"),
}
PUMPS = {"sea_pump": ("lower", "sea"), "polder_pump": ("polder", "south")}
# The gates that get orders, and the reach whose level is controlled.
ORDERS = {"weir": "river", "north_gate": "upper", "south_gate": "upper", "sluice": "lower", "sea_pump": "lower",
          "polder_pump": "polder"}


class SettingReader:
    """The settings of an instance: its own setting of a name, or the setting of all instances."""

    def __init__(self, settings, name):
        self.settings, self.name = settings, name

    def __getattr__(self, setting):
        return self.settings.get(f"{self.name}.{setting}", self.settings.get(setting))


class Reach:
    """Shallow water in a channel with a rectangular section, without the advection of momentum."""

    def __init__(self, ask):
        self.dt, self.dx, self.width, self.roughness = ask.dt, ask.dx, ask.width, ask.roughness
        self.bed = ask.bed_above + (ask.bed_below - ask.bed_above) * (np.arange(ask.cells) + 0.5) / ask.cells
        self.level = np.full(ask.cells, ask.level)
        self.flow = np.zeros(ask.cells + 1)

    def volume(self):
        return self.width * self.dx * (self.level - self.bed).sum()

    def step(self, above, below, lateral):
        """Advances the momentum at the faces between cells, then the water in each cell."""
        level, bed, flow = self.level, self.bed, self.flow[1:-1]
        depth = np.maximum(level[:-1], level[1:]) - np.maximum(bed[:-1], bed[1:])
        area = self.width * depth
        radius = area / (self.width + 2 * depth)
        friction = GRAVITY * self.dt * self.roughness**2 * np.abs(flow) / (area * radius ** (4 / 3))
        driven = flow - GRAVITY * self.dt * area * (level[1:] - level[:-1]) / self.dx
        self.flow[1:-1] = driven / (1 + friction)
        self.flow[0], self.flow[-1] = above, below
        gained = self.flow[:-1] - self.flow[1:] + lateral / level.size
        self.level = level + self.dt / (self.width * self.dx) * gained


class Gate:
    def __init__(self, ask):
        self.ask, self.flow = ask, 0.0

    def through(self, above, below, opening):
        ask = self.ask
        area = ask.width * max(0.0, min(ask.height * opening, max(above, below) - ask.sill))
        if area == 0 or (ask.one_way and below > above):
            self.flow = 0.0
        else:
            loss = ask.dt * abs(self.flow) / (2 * ask.coefficient**2 * area * ask.inertia_length)
            driven = self.flow + GRAVITY * ask.dt * area * (above - below) / ask.inertia_length
            self.flow = driven / (1 + loss)
        return self.flow


class Land:
    """A linear reservoir, which gives the mean runoff of an interval in which it rains evenly."""

    def __init__(self, ask):
        self.area, self.delay, self.stored = 1e6 * ask.area, ask.delay, ask.runoff * ask.delay

    def runoff(self, rain, interval):
        kept = math.exp(-interval / self.delay)
        came = rain * self.area
        before, self.stored = self.stored, self.stored * kept + came * self.delay * (1 - kept)
        return came + (before - self.stored) / interval


def sea_level(time, ask):
    tide = ask.tide * math.cos(2 * math.pi * time / ask.tide_period)
    return tide + ask.surge * math.exp(-(((time - ask.surge_time) / ask.surge_duration) ** 2))


def simulate(settings):
    """Returns levels and discharges of all reaches, as the collector has them: {"river.levels": [frame, cell],
    ...}."""
    asks = lambda name: SettingReader(settings, name)
    run, weather, control, town = asks(""), asks("weather"), asks("controller"), asks("town")
    reaches = {name: Reach(asks(name)) for name in REACHES}
    gates = {name: Gate(asks(name)) for name in GATES}
    hills, polder_land = [Land(asks("hills")) for _ in range(3)], Land(asks("polder_land"))
    opening = dict.fromkeys(GATES, 1.0) | dict(zip(ORDERS, control.openings))
    error = dict.fromkeys(ORDERS, 0.0)
    frames = {f"{name}.{what}": [] for name in REACHES for what in ("levels", "discharges")}

    for step in range(round(run.t_max / run.dt)):
        time = step * run.dt
        if step % round(run.gauge_interval / run.dt) == 0:
            laws = zip(ORDERS.items(), control.targets, control.gains, control.integral_times)
            for (name, reach), target, gain, integral_time in laws:
                new = reaches[reach].level[-1] - target
                change = gain * (new - error[name] + new * run.gauge_interval / integral_time)
                opening[name], error[name] = min(1.0, max(0.0, opening[name] + change)), new
        if step % round(run.weather_interval / run.dt) == 0:
            late = [(time - weather.storm - place * weather.storm_speed) / weather.storm_duration
                    for place in range(4)]
            rain = [(weather.drizzle + weather.storm_rain * math.exp(-(x**2))) / 3.6e6 for x in late]
            runoff = [land.runoff(falls, run.weather_interval) for land, falls in zip([*hills, polder_land],
                                                                                      rain)]
            intake = town.intake - town.swing * math.cos(2 * math.pi * time / 86400)

        above, below = {name: [] for name in REACHES}, {name: [] for name in REACHES}
        lateral = dict.fromkeys(REACHES, 0.0) | {"north": -intake, "polder": runoff[3]}
        above["river"] = runoff[:3]
        sea = sea_level(time, weather)
        for name, (upper, lower) in GATES.items():
            far = sea if lower == "sea" else reaches[lower].level[0]
            flow = gates[name].through(reaches[upper].level[-1], far, opening[name])
            below[upper].append(flow)
            if lower != "sea":
                above[lower].append(flow)
        for name, (upper, lower) in PUMPS.items():
            flow = settings[f"{name}.capacity"] * opening[name]
            below[upper].append(flow)
            if lower != "sea":
                lateral[lower] += flow
        for name, reach in reaches.items():
            reach.step(sum(above[name]), sum(below[name]), lateral[name])
            if (step + 1) % round(run.frame_interval / run.dt) == 0:
                frames[f"{name}.levels"].append(reach.level)
                frames[f"{name}.discharges"].append(reach.flow.copy())
    return {name: np.array(rows) for name, rows in frames.items()}


def read_settings(file):
    """The settings in a model file."""
    return yaml.safe_load(Path(file).read_text())["settings"]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: network_alone.py MODEL.ymmsl RESULT.npz")
    np.savez(sys.argv[2], **simulate(read_settings(sys.argv[1])))
