"""The program and the model of the guide to grids run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs/guides/grids.md"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.S).group(1)


def test_the_guide_s_program_runs_in_the_guide_s_model(ligament, tmp_path):
    (tmp_path / "plate.py").write_text(block("python") + "    print('total', total)\n")
    model = block("yaml").replace("python3", sys.executable).replace("plate.py", str(tmp_path / "plate.py"))
    (tmp_path / "heat.ymmsl").write_text(model)
    done = subprocess.run([ligament, "run", "heat.ymmsl", "--run-dir", "run", "--overcommit"], cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    outputs = sorted((tmp_path / "run/instances").glob("plate*/output.log"))
    # The sum of a constant field that spreads evenly stays, up to rounding at each step.
    totals = [float(path.read_text().split()[1]) for path in outputs]
    assert len(totals) == 4 and len(set(totals)) == 1
    assert abs(totals[0] - 256 * 128) < 1e-6
