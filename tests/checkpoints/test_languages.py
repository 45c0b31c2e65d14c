"""A micro model in each language saves within and between its passes, has a file of its own in each checkpoint,
resumes, and ends as the undisturbed run. A call in a wrong order says which call comes next."""

import importlib
import json
import sys

import pytest
from conftest import CALLS, HERE, ROOT, implementations

sys.path.insert(0, str(ROOT / "conformance"))
programs = importlib.import_module("programs")

CHECKPOINTS = """checkpoints: {simulation_time: [{every: 1.0}, {at: [0.3, 1.2, 2.3]}]}
ligament: {checkpoints: {keep: 100}}
"""
# The macro model, whose steps are longer, saves at its next step, and goes on beyond the end of the pass.
WITHIN_PASSES = CHECKPOINTS.replace("{every: 1.0}, ", "")


@pytest.fixture
def command(monkeypatch, tmp_path):
    """Compiles a program in a language, and returns the command that starts it."""
    monkeypatch.setattr(programs, "DRIVERS", HERE)
    return lambda language, name="micro": programs.LANGUAGES[language](name, tmp_path)


@pytest.mark.parametrize("language", ["c", "cpp", "fortran", "java"])
def test_a_resumed_run_ends_as_the_undisturbed_one(start, command, language):
    program, *arguments = command(language)
    own = f"  own: {{executable: {json.dumps(program)}, args: {json.dumps(arguments)}}}\n"
    model = CALLS.replace("MICRO", "own").replace("end: 12.0", "end: 4.0") + implementations("macro") + own
    plain, saved = start(model), start(model + CHECKPOINTS)
    assert plain.status == 0, plain.text
    assert saved.status == 0, saved.text
    instances = ["macro", "micro"]
    assert [saved.end(name) for name in instances] == [plain.end(name) for name in instances]
    passes, total = plain.end("micro").split()
    # The same model in Python; compilers may fuse operations.
    alike = start(CALLS.replace("MICRO", "micro").replace("end: 12.0", "end: 4.0")
                  + implementations("macro", "micro"))
    assert alike.status == 0, alike.text
    assert (passes, float(total)) == ("4", pytest.approx(float(alike.end("micro").split()[1]), rel=1e-12))
    found = saved.checkpoints()
    assert len(found) >= 4, saved.text
    for number in found:
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0, resumed.text
        running = [name for name in instances if name not in found[number]["over"]]
        assert [resumed.end(name) for name in running] == [plain.end(name) for name in running], found[number]
    assert ": the next call must be resuming" in plain.file("micro", "order.txt")
    # A checkpoint within a pass: the third step of the first pass, the second one of the second, and so on.
    saved = start(model + WITHIN_PASSES)
    assert saved.status == 0 and sorted(saved.checkpoints()) == [1, 2, 3], saved.text
    for number, step in ((1, 3), (2, 2), (3, 3)):
        resumed = start(model, saved.resume_file(number))
        assert resumed.status == 0 and "never received" not in resumed.text, resumed.text
        assert resumed.file("micro", "resumed.txt") == f"{step}\n"
        assert [resumed.end(name) for name in instances] == [plain.end(name) for name in instances], number


def test_a_directory_of_a_checkpoint_in_python(start, python_code):
    program = python_code("own", """
        instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            if instance.resuming():
                own = (instance.snapshot_directory() / "own.txt").read_text()
                print("resumed", own == str(instance.load_snapshot().data))
            if instance.should_init():
                message = instance.receive("in")
            instance.send("out", Message(message.timestamp, None, message.data))
            if instance.should_save_final_snapshot():
                (instance.snapshot_directory() / "own.txt").write_text(str(message.timestamp))
                instance.save_final_snapshot(Message(message.timestamp, None, message.timestamp))
        """)
    model = CALLS.replace("MICRO", "own").replace("end: 12.0", "end: 4.0") + implementations("macro")
    model += f"  own: {program}\n"
    saved = start(model + "checkpoints: {simulation_time: [{at: [2.0]}]}\n")
    assert saved.status == 0, saved.text
    resumed = start(model, saved.resume_file(1))
    assert resumed.status == 0, resumed.text
    assert "resumed True" in (resumed.directory / "instances/micro/output.log").read_text()
