"""Ordinary messages take a faster way, which must have the same results as the general way. The same series of
calls is made in runs where one instance, or both, take the general way for all messages
(`crates/instance/examples/ways.rs`)."""

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = """ymmsl_version: v0.1
model:
  name: both
  components:
    left: {{implementation: player, ports: {{o_i: [out, free], s: [in, unheard]}}}}
    right: {{implementation: player, ports: {{o_i: [out, free], s: [in, unheard]}}}}
  conduits:
    left.out: right.in
settings:
  seed: {seed}
  steps: 150
  left.generally: {left}
  right.generally: {right}
implementations:
  player: {{executable: {program}}}
"""
WAYS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.fixture(scope="session")
def program():
    # As the Rust tests have built it: nothing is compiled twice.
    build = ["cargo", "build", "--profile", "tests", "--locked", "--quiet", "--example", "ways"]
    subprocess.run(build, cwd=ROOT, check=True)
    return ROOT / "target/tests/examples/ways"


@pytest.mark.parametrize("seed", range(1, 9))
def test_both_ways_mean_the_same_in_a_run(seed, program, ligament, tmp_path):
    seen = []
    for left, right in WAYS:
        run = tmp_path / f"{left}-{right}"
        model = tmp_path / "model.ymmsl"
        model.write_text(MODEL.format(seed=seed, left=str(left).lower(), right=str(right).lower(),
                                      program=program))
        done = subprocess.run([ligament, "run", "--quiet", "--run-dir", run, model], capture_output=True,
                              text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        record = json.loads((run / "run.json").read_text())
        counts = [{key: value for key, value in one.items() if "message" in key or "bytes" in key}
                  for one in record["instances"]]
        assert sum(len(one) for one in counts) >= 4, record
        traces = [(run / "instances" / name / "workdir" / "trace").read_text() for name in ("left", "right")]
        seen.append((*traces, counts))
    assert "wrong: Err" in seen[0][0] and "wrong: Err" in seen[0][1], "calls were refused"
    for ways, other in zip(WAYS[1:], seen[1:]):
        for mine, theirs in zip(seen[0], other):
            assert mine == theirs, ways
