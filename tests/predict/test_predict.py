"""`ligament predict`: the predicted time, from the costs of a run of another size, against the real one;
examples with costs whose results were worked out by hand; and refusals."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DIFFUSION = ROOT / "examples/reaction-diffusion/reaction_diffusion.ymmsl"
CANAL = ROOT / "examples/canal-network/canal_network.ymmsl"

MODEL = """ymmsl_version: v0.2
models:
  film:
    components:
      flow: {ports: {o_i: [state, film], s: force, o_f: end}, implementation: flow}
      cells: {ports: {f_init: state, o_f: force}, implementation: cells, multiplicity: 2}
      camera: {ports: {s: [film, end]}, implementation: camera}
    conduits:
      flow.state: cells.state
      cells.force: flow.force
      flow.film: camera.film
      flow.end: camera.end
programs:
  flow: {executable: python3, args: flow.py}
  cells: {executable: python3, args: cells.py}
  camera: {executable: python3, args: camera.py}
settings: {steps: 20, each: 5}
"""
FLOW = """
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["state[]", "film"], Operator.S: ["force[]"], Operator.O_F: ["end"]})
while instance.reuse_instance():
    steps, each = instance.get_setting("steps", "int"), instance.get_setting("each", "int")
    for step in range(steps):
        for slot in range(2):
            instance.send("state", Message(float(step), data=bytes(1000)), slot=slot)
        for slot in range(2):
            instance.receive("force", slot=slot)
        if (step + 1) % each == 0:
            following = step + 1.0 if step + 1 < steps else None
            instance.send("film", Message(float(step), following, bytes(100_000)))
    instance.send("end", Message(float(steps)))
"""
CELLS = """
from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["state"], Operator.O_F: ["force"]})
while instance.reuse_instance():
    instance.receive("state")
    instance.send("force", Message(0.0, data=bytes(3000)))
"""
CAMERA = """
from ligament import Instance, Operator

instance = Instance({Operator.S: ["film", "end"]})
while instance.reuse_instance():
    while instance.receive("film").next_timestamp is not None:
        pass
    instance.receive("end")
"""


@pytest.fixture
def place(tmp_path):
    for name, text in {"model.ymmsl": MODEL, "flow.py": FLOW, "cells.py": CELLS, "camera.py": CAMERA}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def ask(ligament, tmp_path):
    """Runs `ligament`; returns exit status, standard output and standard error."""

    def ask(*words, status=0):
        done = subprocess.run(
            [ligament, *map(str, words)], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=300
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    return ask


def passed(conduits):
    return {(one["from"], one["to"]): one["messages"] for one in conduits}


def test_a_run_of_another_size_has_the_messages_that_were_predicted(place, ask):
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "small")
    (place / "more.yaml").write_text(
        "ligament_costs: 1\ncomponents:\n  flow: {steps: steps}\n  camera: {steps: steps / each}\n")
    ask("run", "--quiet", "model.ymmsl", "-s", "steps=60", "--run-dir", "large")
    told = json.loads(ask("predict", "model.ymmsl", "-s", "steps=60", "--from", "small", "--costs", "more.yaml",
                          "--compare", "large", "--json"))
    prediction, happened = told["prediction"], told["happened"]
    assert passed(prediction["conduits"]) == passed(happened["conduits"])
    assert passed(happened["conduits"])[("flow.film", "camera.film")] == 12
    found = {one["name"]: one for one in happened["instances"]}
    for one in prediction["instances"]:
        known = found[one["name"]]
        for key in ("sent_messages", "received_messages"):
            assert one[key] == known[key], (one["name"], key)
        # A run reports bytes by instance. For ports that join the same two components, the mean is used.
        for key in ("sent_bytes", "received_bytes") if one["name"].startswith("cells") else ():
            assert one[key] == pytest.approx(known[key], rel=0.01, abs=1), (one["name"], key)


def test_a_prediction_of_the_run_that_the_costs_are_from_takes_as_long_as_it_took(place, ask):
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "small")
    text = ask("predict", "--from", "small", "--write-costs", "costs.yaml")
    assert "critical path" in text and "flow.film → camera.film" in text and "cells[1]" in text
    told = json.loads(ask("predict", "--from", "small", "--compare", "small", "--json"))
    # The prediction may be shorter, if the run waited for something that is not in the costs.
    assert told["prediction"]["duration"] <= 1.001 * told["happened"]["duration"]
    again = json.loads(ask("predict", "model.ymmsl", "--costs", "costs.yaml", "--compare", "small", "--json"))
    assert again["prediction"]["duration"] == pytest.approx(told["prediction"]["duration"])


def test_reaction_and_diffusion_take_turns(ask, tmp_path):
    (tmp_path / "costs.yaml").write_text("""ligament_costs: 1
common: {latency: 0.05}
components:
  macro: {setup: 1.0, steps: t_max / dt, step: 0.5}
  micro: {pass: 0.01 * t_max / dt}      # 20 steps of the Runge-Kutta method
conduits:
  macro.state_out -> micro.initial_state: {bytes: 8 * x_max / dx}
  micro.final_state -> macro.state_in: {bytes: 6400}
""")
    told = json.loads(ask("predict", DIFFUSION, "-s", "macro.t_max=24.0", "--costs", "costs.yaml", "--cores", 1,
                          "--json"))
    prediction = told["prediction"]
    # 96 steps of 0.05 s + 0.2 s + 0.05 s + 0.5 s, after the setup of 1 s.
    assert prediction["duration"] == pytest.approx(1.0 + 96 * 0.8)
    assert passed(prediction["conduits"]) == {
        ("macro.state_out", "micro.initial_state"): 96, ("micro.final_state", "macro.state_in"): 96}
    assert prediction["bytes"] == pytest.approx(2 * 96 * 6400)
    parts = {(one["who"], one["what"]): one["seconds"] for one in prediction["critical_path"]}
    assert parts["macro", "computes"] == pytest.approx(1.0 + 96 * 0.5)
    assert parts["micro", "computes"] == pytest.approx(96 * 0.2)


# The average uses per step of a canal's ports that are not used in each step.
RATES = {"gauge": "dt / gauge_interval", "levels": "dt / film_interval", "discharges": "dt / film_interval",
         "rain": "dt / weather_interval", "polder_rain": "dt / weather_interval",
         "report": "dt / weather_interval",
         "intake": "dt / weather_interval"}


def test_the_canals_compute_all_at_once_and_then_their_structures(ask, tmp_path):
    steps = 30
    topology = json.loads(ask("graph", CANAL, "--all", "--json"))["topology"]
    nodes = topology["nodes"]
    lines = ["ligament_costs: 1", "common: {latency: 0}", "components:"]
    for node in nodes:
        costs = {
            "reach": "{steps: t_max / dt, step: 1.0}", "gate": "{steps: 1, step: 0.5}",
            "pump": "{steps: 1, step: 0.5}",
            "weather": "{steps: t_max / dt}", "town": "{steps: t_max / dt}", "collector": "{steps: 1}",
        }.get(node["implementation"], "{pass: 0}")
        lines.append(f"  {node['name']}: {costs}")
    lines.append("conduits:")
    for link in topology["links"]:
        ends = [(nodes[end["node"]], nodes[end["node"]]["ports"][end["port"]]["name"]) for end in (link["from"],
                                                                                                   link["to"])]
        (sender, out), (receiver, into) = ends
        rates = {}
        if out in RATES and sender["implementation"] in ("reach", "weather", "town"):
            rates["sent"] = RATES[out]
        if into == "order":
            rates["received"] = "20 / 300"
        if into == "lateral" or into == "above" and sender["implementation"] == "catchment":
            rates["received"] = "20 / 900" if sender["implementation"] in ("catchment", "town") else 1
        text = ", ".join(f"{key}: {value}" for key, value in {"bytes": 8, **rates}.items())
        lines.append(f"  {sender['name']}.{out} -> {receiver['name']}.{into}: {{{text}}}")
    (tmp_path / "costs.yaml").write_text("\n".join(lines) + "\n")
    told = json.loads(ask("predict", CANAL, "-s", f"t_max={20.0 * steps}", "--costs", "costs.yaml", "--cores",
                          64, "--json"))
    prediction = told["prediction"]
    # In each step all structures compute 0.5 s, then all reaches 1 s.
    assert prediction["duration"] == pytest.approx(steps * 1.5)
    messages = passed(prediction["conduits"])
    assert messages[("river.level_below", "weir.above")] == steps
    assert messages[("river.gauge", "controller.levels")] == steps * 20 / 300
    # On one core all of that is done one after the other: six reaches, and eight structures.
    told = json.loads(ask("predict", CANAL, "-s", f"t_max={20.0 * steps}", "--costs", "costs.yaml", "--cores",
                          1, "--json"))
    assert told["prediction"]["duration"] == pytest.approx(steps * (6 * 1.0 + 8 * 0.5))


def test_what_cannot_be_predicted_is_refused_with_what_is_missing(place, ask):
    assert "no costs are known" in ask("predict", "model.ymmsl", status=2)
    (place / "costs.yaml").write_text("ligament_costs: 1\ncomponents:\n  flow: {steps: 3}\n")
    assert "which model?" in ask("predict", "--costs", "costs.yaml", status=2)
    text = ask("predict", "model.ymmsl", "--costs", "costs.yaml", status=2)
    assert "no costs are known of: cells, camera," in text and "no-costs" in text
    (place / "costs.yaml").write_text("ligament_costs: 1\ncomponents:\n  flwo: {steps: 3}\n")
    text = ask("predict", "model.ymmsl", "--costs", "costs.yaml", "--json", status=2)
    assert json.loads(text)["code"] == "bad-costs" and "costs.yaml:3" in text and "flow" in text
    (place / "cells.py").write_text("raise SystemExit(3)\n")
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "broken", status=1)
    assert "only one that is done tells what it has cost" in ask("predict", "--from", "broken", status=2)
    assert "no-such-run" in ask("predict", "--from", "nowhere", status=2)


def test_a_model_is_not_replaced_by_its_costs_nor_compared_with_another(place, ask):
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "small")
    text = ask("predict", "model.ymmsl", "--from", "small", "--write-costs", "./model.ymmsl", status=2)
    assert "made from" in text and (place / "model.ymmsl").read_text() == MODEL
    (place / "other.ymmsl").write_text(MODEL.replace("  film:\n    components", "  other:\n    components"))
    text = ask("predict", "other.ymmsl", "--from", "small", "--compare", "small", status=2)
    assert 'was of the model "film", and "other" is predicted' in text
    # A run with other components does not help to predict the model.
    other = MODEL.replace("  film:\n    components", "  other:\n    components").replace("      camera:",
                                                                                         "      lens:")
    (place / "other.ymmsl").write_text(other.replace("camera.", "lens."))
    for command in ("graph", "tasks", "predict"):
        text = ask(command, "other.ymmsl", "--from", "small", status=2)
        assert 'is of another model, "film": "other" has no component "camera"' in text, text


def without_ports(text):
    return re.sub(r"ports: \{.*?\}, ", "", text)


def test_a_model_without_declared_ports_is_predicted_and_unrolled_by_what_its_run_has_recorded(place, ask):
    (place / "open.ymmsl").write_text(without_ports(MODEL))
    ask("run", "--quiet", "open.ymmsl", "--run-dir", "open")
    record = json.loads((place / "open" / "run.json").read_text())
    assert record["declared_ports"] == {
        "flow": {"o_i": ["state", "film"], "o_f": ["end"], "s": ["force"]},
        "cells": {"f_init": ["state"], "o_f": ["force"]},
        "camera": {"s": ["film", "end"]},
    }
    told = json.loads(ask("predict", "open.ymmsl", "--from", "open", "--compare", "open", "--json"))
    assert passed(told["prediction"]["conduits"]) == passed(told["happened"]["conduits"])
    # The result is the same as with declared ones. A model alone names what it lacks.
    def shown(*words):
        nodes = json.loads(ask("graph", *words, "--json"))["topology"]["nodes"]
        ports = {(node["name"], port["name"], port["operator"]) for node in nodes for port in node["ports"]}
        return ports, json.loads(ask("tasks", *words, "--json"))

    for models in ([], ["open.ymmsl"]):
        assert shown(*models, "--from", "open") == shown("model.ymmsl")
    assert "left out, because the model does not say when its ports are used" in ask("tasks", "open.ymmsl")
    ask("predict", "--from", "open", "--write-costs", "costs.yaml")
    error = ask("predict", "open.ymmsl", "--costs", "costs.yaml", status=2)
    assert "does not declare the ports of: flow, cells, camera" in error and "--from" in error


def test_a_model_that_declares_its_ports_records_none(place, ask):
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "small")
    assert "declared_ports" not in json.loads((place / "small" / "run.json").read_text())


RANKED = """ymmsl_version: v0.2
models:
  ranked:
    components:
      left: {ports: {o_i: out, s: in}, implementation: left}
      right: {ports: {f_init: in, o_f: out}, implementation: right}
    conduits: {left.out: right.in, right.out: left.in}
programs:
  left: {executable: python3, args: left.py}
  right: {executable: python3, args: right.py}
ligament: {ranks: {left: 2, right: 2}, overcommit: true}
"""
LEFT_PROGRAM = """
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(5):
        instance.send("out", Message(float(step)))
        instance.receive("in")
"""
RIGHT_PROGRAM = """
from ligament import Instance, Operator

instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    instance.send("out", instance.receive("in"))
"""


def test_a_run_with_ranks_is_predicted_as_one_instance_of_each_component(tmp_path, ask):
    for name, text in {"model.ymmsl": RANKED, "left.py": LEFT_PROGRAM, "right.py": RIGHT_PROGRAM}.items():
        (tmp_path / name).write_text(text)
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "ranked")
    text = ask("predict", "--from", "ranked", "--compare", "ranked", "--write-costs", "costs.yaml")
    assert "left:" in text and "computes" in text
    told = json.loads(ask("predict", "model.ymmsl", "--costs", "costs.yaml", "--json"))["prediction"]
    assert [one["name"] for one in told["instances"]] == ["left", "right"]
    assert passed(told["conduits"]) == {("left.out", "right.in"): 10, ("right.out", "left.in"): 10}
