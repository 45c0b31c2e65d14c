"""Modules that Python packages bring as entry points: `check` and `run` find them before all others, as MUSCLE
3's `ymmsl` does; errors for modules that cannot be loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = """ymmsl_version: v0.2
description: from a package
programs:
  said:
    executable: python3
    args: [-c, "from ligament import Instance; i = Instance({}); i.reuse_instance(); print('from the package'); i.reuse_instance()"]
"""
PACKAGE = f'''
GOOD = """{TEXT}"""
COPY = GOOD
NUMBER = 7
print("what a package prints is not taken for the module")
'''
ENTRY_POINTS = """[other.group]
physics.flow = nowhere:NOTHING

[ymmsl.module]
physics.flow = brings_models:GOOD
physics.number = brings_models:NUMBER
physics.absent = brings_models:ABSENT
physics.twice = brings_models:GOOD
"""
MODEL = """ymmsl_version: v0.2
imports:
- from {module} import implementation said
models:
  one:
    description: Says something
    components:
      speaker: {{description: speaks, implementation: said, ports: {{}}}}
"""


def installed(directory, name, entry_points):
    info = directory / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def command(ligament, tmp_path):
    """Runs the command where a package is installed."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "brings_models.py").write_text(PACKAGE)
    installed(packages, "brings-models", ENTRY_POINTS)
    installed(packages, "brings-again", "[ymmsl.module]\nphysics.twice = brings_models:COPY\n")
    python = Path(sys.executable).parent
    environment = {**os.environ, "PYTHONPATH": str(packages), "PATH": f"{python}:{os.environ['PATH']}"}
    environment.pop("YMMSL_PATH", None)

    def command(module, *words, **more):
        (tmp_path / "model.ymmsl").write_text(MODEL.format(module=module))
        done = subprocess.run([ligament, *words, "model.ymmsl"], cwd=tmp_path, env={**environment, **more},
                              text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60)
        return done.returncode, done.stdout

    return command


def test_a_module_of_a_package_is_imported_before_a_file_of_that_name(command, tmp_path):
    (tmp_path / "physics").mkdir()
    (tmp_path / "physics/flow.ymmsl").write_text(TEXT.replace("from the package", "from a file"))
    status, text = command("physics.flow", "run", "--quiet", "--run-dir", "run")
    assert status == 0, text
    assert (tmp_path / "run/instances/speaker/output.log").read_text() == "from the package\n"
    # Without the package, the file.
    status, text = command("physics.flow", "run", "--quiet", "--run-dir", "again", PYTHONPATH="")
    assert status == 0, text
    assert (tmp_path / "again/instances/speaker/output.log").read_text() == "from a file\n"


def test_muscle_3_imports_the_same(command, tmp_path):
    command("physics.flow", "check")
    asked = "import ymmsl; from ymmsl.v0_2 import Configuration, Reference, resolve; " \
            "c = ymmsl.load_as(Configuration, open('model.ymmsl').read()); resolve(Reference('main'), c); print([str(p) for p in c.programs])"
    done = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "packages")},
                          text=True, capture_output=True)
    assert "['physics.flow.said']" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("module, status, text", [
    ("physics.number", 2,
     "brings_models:NUMBER of brings-models: TypeError: it is of type int, and not a text"),
    ("physics.absent", 2, "brings_models:ABSENT of brings-models: AttributeError"),
    ("physics.nowhere", 2,
     "there is no file for the module \"physics.nowhere\", and no Python package brings it"),
    ("physics.twice", 0, "several Python packages bring the module \"physics.twice\""),
])
def test_what_a_package_cannot_bring_is_said(command, module, status, text):
    found, said = command(module, "check")
    assert text in said and found == status, said


def test_python_s_own_models_import_from_the_packages_of_their_python(command, tmp_path):
    command("physics.flow", "check")
    asked = "import ligament; print(ligament.Model.load('model.ymmsl').check())"
    done = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": str(tmp_path / "packages")},
                          text=True, capture_output=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_what_muscle_3_itself_brings_can_be_imported(ligament, tmp_path):
    model = MODEL.format(module="muscle3.actors.bridges").replace("said", "unidirectional_bridge")
    (tmp_path / "model.ymmsl").write_text(model)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run([ligament, "check", "model.ymmsl"], cwd=tmp_path, env={**os.environ, "PATH": path},
                          text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and "unidirectional_bridge" not in done.stdout, done.stdout
