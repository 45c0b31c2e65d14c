"""The programs and the model of the guide to modules are built and run as the guide has them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/modules.md"


def block(language, number=0):
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.S)[number]


def test_the_guide_s_simulation_has_the_plan_and_runs(ligament, shared_object, tmp_path):
    (tmp_path / "heat.c").write_text(block("c"))
    shared_object(tmp_path / "heat.c")
    (tmp_path / "plate.py").write_text(block("python"))
    (tmp_path / "plate.ymmsl").write_text(block("yaml").replace("python3", sys.executable))
    plan = subprocess.run([sys.executable, "plate.py", "--plan"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120)
    expected = block("text").partition("--plan\n")[2].partition("…")[0]
    assert expected and plan.stdout.startswith(expected), plan.stdout + plan.stderr
    done = subprocess.run([ligament, "run", "plate.ymmsl", "--run-dir", "run", "--overcommit"], cwd=tmp_path,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    outputs = [path.read_text().split() for path in (tmp_path / "run/instances").glob("plate*/output.log")]
    assert len(outputs) == 4 and all(output == outputs[0] for output in outputs)
    assert outputs[0][-2] == "100" and 20.0 < float(outputs[0][-1]) < 80.0


def test_the_guide_s_fortran_module_is_built_and_declares_itself(shared_object, c_driver, tmp_path):
    (tmp_path / "smooth.f90").write_text(block("fortran"))
    start = tmp_path / "program.py"
    start.write_text(f"""from ligament import grid
class Start:
    functions = {{"warm": {{"bin": "initial", "writes": {{"t": "interior"}}}}}}
    def warm(self, block):
        pass
grid.run([Start, {str(shared_object(tmp_path / "smooth.f90"))!r}])
""")
    plan = subprocess.run([sys.executable, start, "--plan"], capture_output=True, text=True, timeout=120,
                          env=os.environ)
    assert "poststep  losses.lose" in plan.stdout, plan.stdout + plan.stderr
