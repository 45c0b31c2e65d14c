"""A window of implicit coupling with Aitken's relaxation, beside the same loop in NumPy."""

import shutil
import tempfile
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, run
from windows import ITERATIONS, RELAXATION, WINDOWS

HERE = Path(__file__).resolve().parent
LIMIT_S = 120
MODEL = """ymmsl_version: v0.2
models:
  window:
    components:
      left: {{implementation: left, ports: {{o_i: values, s: others}}}}
      right: {{implementation: right, ports: {{o_i: values, s: others}}}}
      coupling: {{implementation: ligament.mappers.implicit}}
    conduits:
      left.values: coupling.left_in
      coupling.left_out: right.others
      right.values: coupling.right_in
      coupling.right_out: left.others
programs:
  left: {{executable: {python}, args: [{program}, left]}}
  right: {{executable: {python}, args: [{program}, right]}}
settings:
  coupling.scheme: serial-implicit
  coupling.first: left
  coupling.acceleration: aitken
  coupling.relaxation: {relaxation}
  coupling.window: 1.0
  coupling.until: {windows}.0
  coupling.relative_limit: 1.0e-300
  coupling.min_iterations: {iterations}
  coupling.max_iterations: {iterations}
  coupling.no_convergence: warn
ligament: {{overcommit: true}}
"""


def coupled(python):
    """Returns the median time of a window (ns) in a run."""
    BUILD.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="window-", dir=BUILD))
    try:
        text = MODEL.format(python=python, program=HERE / "window.py", relaxation=RELAXATION, windows=WINDOWS,
                            iterations=ITERATIONS)
        (folder / "model.ymmsl").write_text(text)
        command = [Ligament().command, "run", "model.ymmsl", "--quiet", "--run-dir", "run"]
        run(command, seconds=LIMIT_S, folder=folder)
        return float((folder / "run/instances/left/output.log").read_text().splitlines()[-1])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measured(python, repetitions):
    """Returns the times of a window (ns) in a run and in NumPy of each repetition."""
    alone = [python, HERE / "window.py", "numpy"]
    return [(coupled(python), float(run(alone, seconds=LIMIT_S))) for _ in range(repetitions)]
