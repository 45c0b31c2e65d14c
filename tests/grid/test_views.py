"""The graph of a model shows a grid as one box, and predictions tell ghosts from sums."""

import json
import subprocess

import pytest

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      wave: {{implementation: wave, ports: {{o_i: height}}}}
      picture: {{implementation: picture, ports: {{s: height}}}}
    conduits: {{wave.height: picture.height}}
programs: {{wave: {program}, picture: {{executable: 'true'}}}}
ligament:
  {more}
  grids: {{wave: {{shape: [{points}], blocks: [{blocks}], periodic: x}}}}
"""
STEPS = """
instance = Instance()
while instance.reuse_instance():
    domain = Domain(instance)
    u = domain.field("u")
    for step in range(20):
        domain.exchange(float(step), u)
        if step % 10 == 0:
            domain.sum(1.0)
"""


def asked(ligament, folder, *words):
    done = subprocess.run([ligament, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize(("points", "blocks", "more", "line"), [
    ("64", "4", "wait: auto", "wave, 4 instances: a grid of 64 points in 4 blocks"),
    ("64, 32", "2, 2", "ranks: {wave: 4}", "wave, 4 ranks: a grid of 64 × 32 points in 2 × 2 blocks"),
])
def test_the_graph_shows_a_grid_as_one_box_without_the_ports_of_its_ghosts(ligament, tmp_path, points, blocks,
                                                                           more, line):
    text = MODEL.format(program="{executable: 'true'}", points=points, blocks=blocks, more=more)
    (tmp_path / "m.ymmsl").write_text(text)
    lines = asked(ligament, tmp_path, "graph", "m.ymmsl").splitlines()
    assert line in lines
    assert any("height" in one and "picture" in one for one in lines)
    assert not any("ghosts" in one for one in lines)
    asked(ligament, tmp_path, "graph", "m.ymmsl", "--output", "m.svg")
    drawn = (tmp_path / "m.svg").read_text()
    assert f">{blocks.replace(', ', ' × ')} blocks<" in drawn and "ghosts" not in drawn


ALONE = """ymmsl_version: v0.2
models: {{m: {{components: {{wave: {{implementation: wave}}}}}}}}
programs: {{wave: {program}}}
ligament: {{grids: {{wave: {{shape: [64], blocks: [4], periodic: x}}}}}}
"""


def test_records_and_predictions_have_a_conduit_for_ghosts_and_one_for_sums(run, ligament, python_program,
                                                                            tmp_path):
    text = ALONE.format(program=python_program("wave", STEPS))
    done = run(text, "--overcommit")
    assert done.status == 0, done.text
    record = json.loads((done.directory / "run.json").read_text())
    conduits = {(one["from"], one["to"]): (one["channels"], one["messages"]) for one in record["conduits"]}
    # Each block has a neighbour at each side. The names of the fields go once, and then a piece in each step.
    ghosts, sums = ("wave.ghosts_out", "wave.ghosts_in"), ("wave.sums_out", "wave.sums_in")
    assert conduits == {ghosts: (8, 8 * 21), sums: (6, 6 * 2)}
    (tmp_path / "m.ymmsl").write_text(text)
    told = asked(ligament, tmp_path, "predict", "m.ymmsl", "--from", str(done.directory), "--json")
    listed = json.loads(told)["prediction"]["conduits"]
    predicted = {(one["from"], one["to"]): one["messages"] for one in listed}
    assert predicted.keys() == conduits.keys() and 100 < predicted[ghosts] and 0 < predicted[sums] < 100
