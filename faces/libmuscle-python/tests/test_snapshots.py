"""The calls of checkpoints: they save and resume with a Ligament that has checkpoints, and else say what is
missing."""

import shutil

import ligament
from conftest import PROGRAMS, call

MODEL = """
ymmsl_version: v0.2
models:
  counting:
    description: counts its steps
    components:
      counter: {description: counts, implementation: counter, ports: {}}
programs:
  counter: {executable: PYTHON, args: snapshots.py}
"""
HAS_CHECKPOINTS = hasattr(ligament.Instance, "resuming")


def test_a_code_resumes_what_it_has_saved(face, tmp_path):
    for name in ("snapshots.py", "record.py"):
        shutil.copy(PROGRAMS / name, tmp_path)
    text = MODEL.replace("PYTHON", str(face))
    (tmp_path / "plain.ymmsl").write_text(text)
    manager = ("-m", "muscle3.muscle_manager", "--start-all", "--run-dir")
    if not HAS_CHECKPOINTS:
        refused = call(face, *manager, "plain", "plain.ymmsl", cwd=tmp_path, status=1)
        assert "resuming needs checkpoints" in refused.stdout
        return
    (tmp_path / "saving.ymmsl").write_text(text + "checkpoints: {simulation_time: [{every: 4.0}]}\n")
    call(face, *manager, "first", "saving.ymmsl", cwd=tmp_path)
    saved = max((tmp_path / "first/checkpoints").iterdir(), key=lambda path: int(path.name))
    call(face, *manager, "second", "saving.ymmsl", saved / "resume.ymmsl", cwd=tmp_path)
    record = (tmp_path / "second/instances/counter/workdir/counter.record").read_text()
    assert record == "resumes at 8.0 with 24.0\nstep 9\nstep 10\n"
