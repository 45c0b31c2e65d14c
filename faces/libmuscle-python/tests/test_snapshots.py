"""The calls of checkpoints save a state and resume from it."""

import shutil

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


def test_a_code_resumes_what_it_has_saved(face, tmp_path):
    for name in ("snapshots.py", "record.py"):
        shutil.copy(PROGRAMS / name, tmp_path)
    text = MODEL.replace("PYTHON", str(face))
    manager = ("-m", "muscle3.muscle_manager", "--start-all", "--run-dir")
    (tmp_path / "saving.ymmsl").write_text(text + "checkpoints: {simulation_time: [{every: 4.0}]}\n")
    call(face, *manager, "first", "saving.ymmsl", cwd=tmp_path)
    saved = max((tmp_path / "first/checkpoints").iterdir(), key=lambda path: int(path.name))
    call(face, *manager, "second", "saving.ymmsl", saved / "resume.ymmsl", cwd=tmp_path)
    record = (tmp_path / "second/instances/counter/workdir/counter.record").read_text()
    assert record == "resumes at 8.0 with 24.0\nstep 9\nstep 10\n"
