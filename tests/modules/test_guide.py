"""The programs and the model of the guide to modules are built and run as the guide has them."""

import os
import re
import subprocess
import sys
import time
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


# The parts of VTK that the script uses. The test is about the numbers that the script gives to VTK.
VTK = {
    "__init__.py": "",
    "util/__init__.py": "",
    "util/numpy_support.py": """
import numpy

class Numbers:
    def __init__(self, array):
        assert type(array) is numpy.ndarray and array.ndim == 1, type(array)
        self.array = array

    def SetName(self, name):
        self.name = name

def numpy_to_vtk(array, deep):
    return Numbers(array)
""",
    "vtkCommonDataModel.py": """
class vtkImageData:
    def SetDimensions(self, *shape):
        self.shape = shape

    def GetPointData(self):
        return self

    def SetScalars(self, numbers):
        self.numbers = numbers

    def GetScalarRange(self):
        array = self.numbers.array
        assert array.size == self.shape[0] * self.shape[1] * self.shape[2]
        print(self.numbers.name, self.shape, array[2 + 2 * self.shape[0]], flush=True)
        return float(array.min()), float(array.max())
""",
}


def test_the_guide_s_script_makes_an_image_of_a_block(ligament, shared_object, tmp_path):
    (tmp_path / "heat.c").write_text(block("c"))
    shared_object(tmp_path / "heat.c")
    (tmp_path / "plate.py").write_text(block("python"))
    for name, text in VTK.items():
        path = tmp_path / "vtkmodules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "image.py").write_text(block("python", 1).rstrip() + "\n    break\n")
    model = block("yaml").replace("python3", sys.executable).replace("steps: 100", "steps: 1000000000")
    (tmp_path / "plate.ymmsl").write_text(model.replace("share: 0.2", "share: 0.0"))
    subprocess.run([ligament, "run", "plate.ymmsl", "--detach", "--overcommit"], cwd=tmp_path, check=True,
                   capture_output=True, timeout=120)
    try:
        until = time.monotonic() + 120
        while True:
            made = subprocess.run([sys.executable, "image.py"], cwd=tmp_path, capture_output=True, text=True,
                                  timeout=120)
            # A block has the port from its first step on; until then, `port` raises.
            if "UsageError" not in made.stderr or time.monotonic() > until:
                break
            time.sleep(0.05)
    finally:
        subprocess.run([ligament, "stop", "latest"], cwd=tmp_path, capture_output=True, timeout=120)
    # Without a share, the heat stays where it was at the beginning.
    assert made.returncode == 0, made.stderr
    first, last = made.stdout.splitlines()
    assert first == "t (32, 24, 1) 80.0" and last.endswith("(20.0, 80.0)"), made.stdout


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
