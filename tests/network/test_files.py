"""Inputs and results between machines without a common disk, also over a slow link that is cut meanwhile."""

import hashlib
import os
import sys
import time

MIB = 1 << 20

PROGRAM = """import hashlib, sys
from ligament import Instance
instance = Instance()
while instance.reuse_instance():
    found = open("large", "rb").read()
    print(hashlib.sha256(found).hexdigest())
    open("result", "wb").write(found[::-1])
"""

MODEL = """ymmsl_version: v0.2
models:
  files:
    components:
      here: {{ports: {{}}, implementation: reads}}
      there: {{ports: {{}}, implementation: reads}}
programs:
  reads: {{executable: {python}, args: reads.py}}
ligament:
  stage:
    here: [large, reads.py]
    there: [large, reads.py]
"""


def test_files_go_there_and_come_back_whole_over_a_link_that_is_cut(network, spread, tmp_path):
    large = os.urandom(24 * MIB + 5)
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "reads.py").write_text(PROGRAM)
    net, scratch = network("head", "far", rate="25mbit"), tmp_path / "scratch"
    run = spread([net["head"], net["far"]], MODEL.format(python=sys.executable), on={0: ["here"], 1: ["there"]},
                 agent_options=["--scratch", scratch])

    def cut_when(is_so):
        until = time.monotonic() + 120
        while not is_so():
            assert time.monotonic() < until and run.processes[0].poll() is None, run.said()
            time.sleep(0.005)
        net.cut("far")
        time.sleep(3)
        net.restore("far")

    def comes(paths):
        """Returns true if more than this number of bytes of one file has arrived. A file may get its name, or
        go, at any time."""
        for path in paths:
            try:
                if path.stat().st_size > MIB:
                    return True
            except FileNotFoundError:
                pass
        return False

    cut_when(lambda: comes(scratch.rglob("large.part-*")))
    coming = run.directory / "instances" / "there" / "workdir"
    cut_when(lambda: comes(coming.glob("result.part-*")))
    run.succeed()
    for name in ("here", "there"):
        assert hashlib.sha256(large).hexdigest() in run.file(name, "output.log")
        [result] = (run.directory / "instances" / name).rglob("result")
        assert result.read_bytes() == large[::-1], name
    assert not list(scratch.iterdir()) and not list(run.directory.rglob("*.part-*"))
    assert "inputs are under way: " in run.said(), run.said()
