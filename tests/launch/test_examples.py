"""The examples, unchanged, on machines behind ssh and on three nodes of a Slurm: their results are those of one
program."""

import json
from pathlib import Path

import pytest
from conftest import call
from example_models import CanalNetwork, ReactionDiffusion

EXAMPLES = pytest.mark.parametrize("kind", [ReactionDiffusion, CanalNetwork], ids=lambda kind: kind.name)


@EXAMPLES
def test_an_example_gives_the_same_over_machines_that_ssh_reaches(site, tmp_path, kind):
    example = kind(tmp_path)
    done = call("ligament", "run", example.model, *example.options, "--hosts=east,west", "--overcommit",
                f"--site={site}", "--json", cwd=tmp_path, check=0)
    record = json.loads(done.stdout)
    assert {one["on"] for one in record["instances"]} == {"east", "west"}
    example.check(record["directory"])


@EXAMPLES
def test_an_example_gives_the_same_on_three_nodes_by_one_command(slurm, tmp_path, kind):
    example = kind(tmp_path)
    call("ligament", "submit", example.model, *example.options, "--nodes=3", "--overcommit", "--time=10",
         cwd=tmp_path,
         check=0)
    run = Path(tmp_path / "runs/latest")
    record = json.loads((run / "run.json").read_text())
    assert [one["name"] for one in record["domains"]] == ["n1", "n2", "n3"]
    assert len({one["on"] for one in record["instances"]}) > 1
    example.check(run)
