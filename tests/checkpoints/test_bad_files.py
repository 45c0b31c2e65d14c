"""Files of checkpoints that are cut short, changed, missing, or of another run: the run that resumes from them
is refused before its codes begin, and nothing of the earlier run is touched."""

import json
import shutil

from test_resume import calls, every




def copy_of(start, tmp_path, name="copy"):
    run = start(calls() + every(4.0))
    assert run.status == 0, run.text
    copy = tmp_path / name
    shutil.copytree(run.directory, copy)
    return copy


def refused(start, directory, text, number=2):
    resumed = start(arguments=["--resume", f"{directory}@{number}"])
    assert resumed.status != 0, resumed.text
    assert text in resumed.text, resumed.text
    assert "panicked" not in resumed.text


def test_files_that_are_no_checkpoints(start, tmp_path):
    copy = copy_of(start, tmp_path)
    file = copy / "checkpoints" / "2" / "macro.checkpoint"
    whole = file.read_bytes()
    # The end of a record, its middle, and the head of the file.
    for at, text in ((-3, "is cut short"), (300, "is cut short"), (5, "is cut short")):
        file.write_bytes(whole[:at])
        refused(start, copy, text)
    for at in (len(whole) // 2, 100, len(whole) - 20):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
        refused(start, copy, "macro.checkpoint")
    file.write_bytes(b"PK" + whole[2:])
    refused(start, copy, "it is no checkpoint file")
    file.write_bytes(whole[:8] + b"\x63" + whole[9:])
    refused(start, copy, "it has version 99 of the format")
    file.unlink()
    refused(start, copy, "macro.checkpoint")
    file.write_bytes(whole)
    assert start(arguments=["--resume", f"{copy}@2"]).status == 0


def test_files_of_other_checkpoints(start, tmp_path):
    copy = copy_of(start, tmp_path)
    checkpoints = copy / "checkpoints"
    shutil.copy(checkpoints / "1" / "micro.checkpoint", checkpoints / "2" / "micro.checkpoint")
    refused(start, copy, "all files must be of one checkpoint")
    shutil.copy(checkpoints / "2" / "macro.checkpoint", checkpoints / "2" / "micro.checkpoint")
    refused(start, copy, "it is of macro, and this is micro")


def test_a_checkpoint_without_its_last_file_is_not_there(start, tmp_path):
    copy = copy_of(start, tmp_path)
    checkpoints = copy / "checkpoints"
    (checkpoints / "2" / "checkpoint.json").unlink()
    refused(start, copy, "has no checkpoint 2")
    (checkpoints / "2" / "checkpoint.json").write_text("{")
    refused(start, copy, "has no checkpoint 2")
    about = json.loads((checkpoints / "3" / "checkpoint.json").read_text())
    (checkpoints / "3" / "checkpoint.json").write_text(json.dumps({**about, "version": 7}))
    refused(start, copy, "has no checkpoint 3", 3)


def test_another_model_is_refused_with_the_difference(start, tmp_path):
    copy = copy_of(start, tmp_path)
    other = calls().replace("  macro.out: micro.in\n      micro.out: macro.in", "  macro.out: micro.in")
    resumed = start(other, arguments=["--resume", f"{copy}@2"])
    assert resumed.status != 0 and "conduit" in resumed.text, resumed.text
    renamed = calls().replace("      micro:", "      tiny:").replace("micro.in", "tiny.in").replace(
        "micro.out", "tiny.out")
    resumed = start(renamed, arguments=["--resume", f"{copy}@2"])
    assert resumed.status != 0 and 'the model has no instance "micro"' in resumed.text, resumed.text


def test_a_code_without_a_flag_is_refused_at_the_start(start):
    run = start(calls("unflagged") + every(1.0))
    assert run.status != 0 and "checkpoint-flags" in run.text and "micro" in run.text, run.text
    assert start(calls("unflagged")).status == 0


def test_calls_in_a_wrong_order(start, python_code):
    begin = """
        instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
        """
    cases = [
        ("    pass", "without a call of resuming"),
        ("    instance.should_init()", "the next call must be resuming"),
        ("    instance.resuming(); instance.load_snapshot()", "the next call must be should_init"),
        ("    instance.resuming(); instance.should_init(); instance.save_snapshot(Message(1.0))",
         "the next call must be should_save_snapshot or should_save_final_snapshot"),
        ("    instance.resuming(); instance.should_init(); instance.should_save_snapshot(5.0)",
         "without a call of save_snapshot"),
        ("    instance.resuming(); instance.should_init(); instance.should_save_snapshot(float('nan'))",
         "a model time is a finite number, and this is NaN"),
    ]
    for number, (body, text) in enumerate(cases):
        code = python_code(f"code{number}", begin.rstrip() + "\n        " + body + "\n")
        run = start(f"""
ymmsl_version: v0.2
models: {{one: {{components: {{code: {{ports: {{o_f: out}}, implementation: code}}}}}}}}
programs: {{code: {code}}}
checkpoints: {{simulation_time: [{{every: 2}}]}}
""")
        assert run.status != 0 and text in run.text, (body, run.text)
