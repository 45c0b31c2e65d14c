"""How far off predictions are: costs from runs of one size of a model, other runs predicted, and only then made
and measured. All predictions are in a file before the first predicted run begins."""

import argparse
import datetime
import json
import os
import statistics
import tempfile
from pathlib import Path

from lib import machine, report
from lib.machine import BUILD, REPOSITORY, CannotMeasure, first_line, run

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
LIGAMENT = TARGET / "ligament"
# Codes in Python of the examples find the package in this environment.
PATH = {"PATH": f"{REPOSITORY / '.venv' / 'bin'}:{TARGET}:{os.environ['PATH']}"}
EXAMPLES = REPOSITORY / "examples"
OFF = 0.2  # part of the wall time
OUT = BUILD / "predict"
PAGE = REPOSITORY / "docs/guides/predicting-a-run.md"
TABLE, END_OF_TABLE = "<!-- table of benchmarks/run predict --write-page -->\n", "<!-- end of the table -->"

RING = """ymmsl_version: v0.2
models:
  ring:
    components:
      peer: {ports: {o_i: out, s: in}, implementation: peer}
      other: {ports: {o_i: out, s: in}, implementation: peer}
    conduits:
      peer.out: other.in
      other.out: peer.in
programs:
  peer: {executable: python3, args: PEER}
settings: {steps: 400, peer.work: 3.0, other.work: 2.0}
"""
PEER = '''
import time
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    steps, work = instance.get_setting("steps", "int"), instance.get_setting("work", "float")  # work in ms
    for step in range(steps):
        instance.send("out", Message(float(step), data=bytes(10_000)))
        instance.receive("in")
        end = time.thread_time() + work / 1e3
        while time.thread_time() < end:
            pass
'''


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run predict", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1 repetition of each run instead of 3")
    parser.add_argument("--write-page", action="store_true",
                        help=f"write the table into {PAGE.relative_to(REPOSITORY)}")
    parser.add_argument("--repetitions", type=int, help="of each run (default 3, quick 1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 3)
    return options


def models(place):
    """Returns for each model: name, model, settings of the run that costs are taken from, settings of the
    predicted runs, and formulas."""
    (place / "peer.py").write_text(PEER)
    ring = place / "ring.ymmsl"
    ring.write_text(RING.replace("PEER", str(place / "peer.py")))
    diffusion = EXAMPLES / "reaction-diffusion" / "reaction_diffusion.ymmsl"
    canal = EXAMPLES / "canal-network" / "canal_network.ymmsl"
    plate = EXAMPLES / "heated-plate" / "heated_plate.ymmsl"
    # in a smaller model, the start of Java takes most of the time
    wide = {"plate.n_x": "400", "plate.n_y": "240"}
    steps = "ligament_costs: 1\ncomponents:\n"
    reaches = ["river", "upper", "north", "south", "lower", "polder"]
    # The counts of all canals grow in proportion to the simulated time.
    canal_steps = "".join(f"  {reach}: {{steps: measured * FACTOR}}\n" for reach in [*reaches, "weather",
                                                                                     "town", "collector"])
    return [
        ("reaction-diffusion", diffusion, {"macro.t_max": "2400.0"},
         [({"macro.t_max": "2400.0"}, ""), ({"macro.t_max": "7200.0"},
                                            steps + "  macro: {steps: t_max / dt}\n")]),
        # In a shorter run, the start of its fifteen programs would take most of the time, and it varies by more
        # than the time of all steps.
        ("canal-network", canal, {"t_max": "324000.0"},
         [({"t_max": "324000.0"}, ""), ({"t_max": "972000.0"}, steps + canal_steps.replace("FACTOR", "3"))]),
        ("heated-plate", plate, {**wide, "plate.t_max": "300.0"},
         [({**wide, "plate.t_max": "300.0"}, ""),
          ({**wide, "plate.t_max": "900.0"},
           steps + "  plate: {steps: t_max / dt}\n  onlooker: {steps: measured * 3}\n")]),
        ("ring", ring, {"steps": "400"},
         [({"steps": "400"}, ""),
          ({"steps": "800", "peer.work": "5.0"},
           steps + "  peer: {steps: steps, step: measured * 5 / 3}\n  other: {steps: steps}\n")]),
    ]


def settings_of(settings):
    return [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]


def measured(model, settings, cores, place):
    """Returns the wall time (s) of a run on these cores, and its directory."""
    directory = place / f"run-{len(list(place.glob('run-*')))}"
    words = [LIGAMENT, "run", "--quiet", "--run-dir", directory, model, *settings_of(settings)]
    run(words, seconds=900, folder=place, environment=PATH, cores=cores)
    return json.loads((directory / "run.json").read_text())["duration"], directory


def predicted(model, settings, cores, source, formulas, place):
    words = [LIGAMENT, "predict", model, "--from", source, "--cores", len(cores), "--json",
             *settings_of(settings)]
    if formulas:
        (place / "formulas.yaml").write_text(formulas)
        words += ["--costs", place / "formulas.yaml"]
    output = run(words, seconds=120, folder=place)
    return json.loads(output)["prediction"]["duration"]


def main(words):
    options = arguments_of(words)
    if not LIGAMENT.exists():
        raise CannotMeasure(f"{LIGAMENT} is missing; build Ligament first: make build")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise CannotMeasure("two placements need two cores")
    for example in ("reaction-diffusion", "canal-network", "heated-plate"):
        run(["make", "-C", str(EXAMPLES / example)], seconds=600)
    facts = machine.facts(cores[:2])
    version = first_line(LIGAMENT, "version") or "unknown"
    print(f"costs from the median run on two cores, each run {options.repetitions} times, in turns")
    for name, value in facts.items():
        print(f"  {name}: {value}")
    print(f"  ligament: {version}")
    with tempfile.TemporaryDirectory() as folder:
        all_models = models(Path(folder))
        frozen = predict_all(all_models, cores, Path(folder), version, options.repetitions)
        print(f"  predictions: {frozen}, before any predicted run")
        rows, figures, bars = measure_all(all_models, cores, Path(folder), options.repetitions, frozen)
    report.table("wall time, s", ["predicted", "measured", "off by"],
                 [(what, cells[2:]) for what, cells in rows])
    print("\nbars (value, limit, spread)")
    for bar in bars:
        print(bar.line())
    if options.write_page:
        write_page([cells for _, cells in rows], facts)
    report.last_line({"machine": facts, "version": version, "repetitions": options.repetitions, **figures},
                     bars)
    return 0


def runs_of(all_models, cores):
    """Yields the predicted runs: name, model, settings, formulas, and cores."""
    for name, model, first, others in all_models:
        for settings, formulas in others:
            for on in (cores[:1], cores[:2]):
                what = f"{name} {' '.join(f'{k}={v}' for k, v in settings.items())}, cores {len(on)}"
                yield what, name, model, settings, formulas, on


def predict_all(all_models, cores, place, version, repetitions):
    """Runs each model on two cores, takes its costs from the run of median length, predicts all other runs, and
    writes the predictions to a file."""
    runs = [[measured(model, first, cores[:2], place) for _, model, first, _ in all_models]
            for _ in range(repetitions)]
    costs = {name: sorted(of_model)[len(of_model) // 2][1] for (name, *_), of_model in zip(all_models,
                                                                                           zip(*runs))}
    found = {what: predicted(model, settings, on, costs[name], formulas, place)
             for what, name, model, settings, formulas, on in runs_of(all_models, cores)}
    OUT.mkdir(parents=True, exist_ok=True)
    file = OUT / "predictions.json"
    when = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    file.write_text(json.dumps({"written": when, "ligament": version, "predicted_s": found}, indent=1) + "\n")
    return file


def measure_all(all_models, cores, place, repetitions, frozen):
    """Makes the predicted runs, and compares their times with the predictions in the file."""
    predictions = json.loads(frozen.read_text())["predicted_s"]
    rows, figures, bars = [], {}, []
    runs = list(runs_of(all_models, cores))
    # The runs take turns, because the speed of a machine changes.
    rounds = [[measured(model, settings, on, place)[0] for _, _, model, settings, _, on in runs]
              for _ in range(repetitions)]
    for (what, name, _, settings, _, on), times in zip(runs, zip(*rounds)):
        before = predictions[what]
        took = statistics.median(times)
        off = [before / one - 1 for one in times]
        size = ", ".join(f"{key} = {value}" for key, value in settings.items())
        rows.append((what, [name, f"{size}; {len(on)} core{'s' * (len(on) > 1)}", before, took,
                            f"{before / took - 1:+.0%}"]))
        figures[what] = {"predicted_s": before, "measured_s": took}
        ways = [abs(one) for one in off]
        bars.append(report.Bar(f"{what}: off by", statistics.median(ways), ways, "<=", OFF, "of the time"))
    return rows, figures, bars


def write_page(rows, facts):
    """Writes the table into its place on the page."""
    text = PAGE.read_text()
    before, rest = text.split(TABLE, 1)
    _, after = rest.split(END_OF_TABLE, 1)
    lines = ["| model | run | predicted (s) | measured (s) | off by |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {name} | {run} | {first:.3g} | {took:.3g} | {off} |" for name, run, first, took, off in rows]
    about = f"{facts['processor']}, {datetime.date.today().isoformat()}."
    PAGE.write_text(before + TABLE + "\n".join(["", *lines, "", about, ""]) + END_OF_TABLE + after)
