"""The collector: puts the records of all reaches and the weather's report into one file and one picture."""

import matplotlib
import numpy as np
from ligament import Instance, InstanceFlags, Message, Operator

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def receive_all(instance, port, slot=None):
    """Returns all messages of a port, or of one slot of it."""
    messages = [instance.receive(port, slot)]
    while messages[-1].next_timestamp is not None:
        messages.append(instance.receive(port, slot))
    return messages


def joined(films):
    """Returns the record of each name in one array."""
    return {name: np.concatenate(pieces) for name, pieces in films.items()}


def gather(instance, reaches):
    """Returns all records under names such as "river.levels": an array [frame, cell]."""
    if instance.resuming():
        saved = instance.load_snapshot().data
        films, more = {name: [film] for name, film in saved["films"].items()}, saved["more"]
    if instance.should_init():
        names = [f"{reach}.{what}" for reach in reaches for what in ("levels", "discharges")]
        films, more = {name: [] for name in names}, True
    while more:
        for slot, reach in enumerate(reaches):
            for what in ("levels", "discharges"):
                film = instance.receive(what, slot)
                films[f"{reach}.{what}"].append(film.data.T)
                more = film.next_timestamp is not None
        if instance.should_save_snapshot(film.timestamp):
            instance.save_snapshot(Message(film.timestamp, None, {"films": joined(films), "more": more}))
    found = joined(films)
    for slot, reach in enumerate(reaches):
        found[f"{reach}.balance"] = instance.receive("balances", slot).data[:, 0]
    if instance.is_connected("report"):
        reports = receive_all(instance, "report")
        found["weather.time"] = np.array([report.timestamp for report in reports])
        for what in ("sea", "rain"):
            found[f"weather.{what}"] = np.array([report.data[what] for report in reports])
    return found


def draw(found, route, dx, file):
    """Draws the way to the sea over time, the levels at the lower ends, and the discharges there."""
    hours = found["time"] / 3600
    colours = dict(zip(route, plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(route)))))
    plt.rcParams.update({"font.size": 10, "axes.titlesize": 12, "axes.titlelocation": "left"})
    figure, axes = plt.subplot_mosaic([["way", "levels"], ["way", "flows"]], figsize=(12.6, 6.4),
                                      layout="constrained")
    # The label beside the colours must not look like that of the plots to the right.
    figure.get_layout_engine().set(wspace=0.06)

    discharge = np.concatenate([found[f"{reach}.discharges"][:, 1:] for reach in route], axis=1)
    ends = dx / 1000 * np.cumsum([found[f"{reach}.levels"].shape[1] for reach in route])
    way = axes["way"]
    image = way.imshow(
        discharge, origin="lower", aspect="auto", cmap="YlGnBu", vmin=0, extent=(0, ends[-1], 0, hours[-1])
    )
    back = "min" if discharge.min() < 0 else "neither"  # some water flows away from the sea
    figure.colorbar(image, ax=way, label="discharge towards the sea [m³/s]", pad=0.02, extend=back)
    for begin, end, reach in zip([0, *ends], ends, route):
        way.axvline(end, color="black", linewidth=0.8)
        way.text((begin + end) / 2, 0.98 * hours[-1], reach, ha="center", va="top")
    way.set(xlabel="way from the hills to the sea [km]", ylabel="time [h]",
            title="A flood on its way to the sea")

    for reach in route:
        axes["levels"].plot(hours, found[f"{reach}.levels"][:, -1], color=colours[reach], label=reach)
        axes["flows"].plot(hours, found[f"{reach}.discharges"][:, -1], color=colours[reach], label=reach)
    if "weather.time" in found:
        reported = found["weather.time"] / 3600
        axes["levels"].plot(reported, found["weather.sea"], "--", color="grey", linewidth=1, label="sea")
        rain = axes["flows"].twinx()
        rain.fill_between(reported, 3.6e6 * found["weather.rain"], color="tab:blue", alpha=0.25, linewidth=0)
        # The upper third is seen from above; the discharge is below it.
        heaviest = 3.6e6 * found["weather.rain"].max()
        rain.set(ylabel="rain [mm/h]", ylim=(3.15 * heaviest, 0), yticks=np.arange(0, 1.05 * heaviest, 2))
        low, high = axes["flows"].get_ylim()
        axes["flows"].set_ylim(low, low + 1.5 * (high - low))
    axes["levels"].set(title="Level at the lower end of each reach", ylabel="level [m above mean sea level]",
                       xticklabels=[])
    axes["flows"].set(title="Discharge there, and rain", xlabel="time [h]", ylabel="discharge [m³/s]")
    axes["levels"].margins(y=0.15)
    axes["levels"].legend(ncols=len(route) + 1, fontsize=8, loc="upper right", frameon=False)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def main():
    instance = Instance({Operator.S: ["levels[]", "discharges[]", "balances[]", "report"]},
                        InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        reaches = instance.get_setting("reaches", "str").split()
        if len(reaches) != instance.get_port_length("levels"):
            joined = instance.get_port_length("levels")
            raise ValueError(
                f"the setting `reaches` names {len(reaches)}, and {joined} are joined to this collector")
        found = gather(instance, reaches)
        frames = len(found[f"{reaches[0]}.levels"])
        found["time"] = instance.get_setting("frame_interval", "float") * np.arange(1, frames + 1)
        np.savez("canal_network.npz", **found)
        route, dx = instance.get_setting("route", "str").split(), instance.get_setting("dx", "float")
        draw(found, route, dx, "canal_network.png")
        if instance.should_save_final_snapshot():
            films = {name: found[name] for name in found if name.endswith((".levels", ".discharges"))}
            instance.save_final_snapshot(Message(found["time"][-1], None, {"films": films, "more": False}))


if __name__ == "__main__":
    main()
