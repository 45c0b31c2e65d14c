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


def test_a_code_resumes_what_it_has_saved_with_the_overlay_of_its_message(face, tmp_path):
    for name in ("snapshots.py", "record.py"):
        shutil.copy(PROGRAMS / name, tmp_path)
    text = MODEL.replace("PYTHON", str(face))
    manager = ("-m", "muscle3.muscle_manager", "--start-all", "--run-dir")
    (tmp_path / "saving.ymmsl").write_text(text + "checkpoints: {simulation_time: [{every: 4.0}]}\n")
    call(face, *manager, "first", "saving.ymmsl", cwd=tmp_path)
    saved = sorted((tmp_path / "first/checkpoints").iterdir(), key=lambda path: int(path.name))
    for number, resumed, steps in (
        (0, "resumes at 4.0 with 12.0 {'step': 4}", range(5, 11)),
        (1, "resumes at 8.0 with 24.0 {}", range(9, 11)),
    ):
        call(face, *manager, f"run{number}", "saving.ymmsl", saved[number] / "resume.ymmsl", cwd=tmp_path)
        record = (tmp_path / f"run{number}/instances/counter/workdir/counter.record").read_text()
        assert record.splitlines() == [resumed, *(f"step {step}" for step in steps)]
