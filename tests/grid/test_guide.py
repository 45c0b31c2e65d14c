"""The program and the model of the guide to grids run as the guide has them."""

import re
import subprocess
import sys

import pytest
from compilers import ROOT, compiled_fortran

GUIDE = ROOT / "docs/guides/grids.md"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.S).group(1)


def python(folder):
    """Returns the executable and the arguments of the program in Python."""
    (folder / "plate.py").write_text(block("python") + "    print('total', total)\n")
    return sys.executable, str(folder / "plate.py")


def fortran(folder):
    (folder / "plate.f90").write_text(block("fortran"))
    return compiled_fortran(["-O1", "-fcheck=all"], folder / "plate.f90", folder / "plate"), "[]"


@pytest.mark.parametrize("made", [python, fortran])
def test_the_guide_s_program_runs_in_the_guide_s_model(ligament, tmp_path, made):
    executable, arguments = made(tmp_path)
    model = block("yaml").replace("python3", executable).replace("plate.py", arguments)
    (tmp_path / "heat.ymmsl").write_text(model)
    done = subprocess.run([ligament, "run", "heat.ymmsl", "--run-dir", "run", "--overcommit"], cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    outputs = sorted((tmp_path / "run/instances").glob("plate*/output.log"))
    # The sum of the field stays constant, up to rounding at each step.
    totals = [float(path.read_text().split()[1]) for path in outputs]
    assert len(totals) == 4 and len(set(totals)) == 1
    assert abs(totals[0] - 256 * 128) < 1e-6
