"""A run whose instance dies goes on by itself from its last checkpoint, and ends as the undisturbed one."""

import pytest
from test_resume import calls, every, peers


@pytest.fixture
def crashes(tmp_path):
    """Makes a code die once at a step, in every run that has this environment."""
    directory = tmp_path / "crashes"
    directory.mkdir()

    def crashes(*places):
        for place in places:
            (directory / place).touch()
        return {"CRASHES": str(directory)}

    return crashes


def test_a_run_goes_on_from_its_last_checkpoint(start, crashes):
    model = calls()
    plain = start(model)
    died = start(model + every(2.0), arguments=["--restarts", "3"], env=crashes("macro-5", "micro-9"))
    assert died.status == 0, died.text
    first, second, third = died, died.restarted(1), died.restarted(2)
    assert [third.end(name) for name in ("macro", "micro")] == [plain.end(name) for name in ("macro", "micro")]
    assert third.file("macro", "steps.txt")[:2] in ("7 ", "9 "), third.file("macro", "steps.txt")
    assert first.record()["state"] == "failed" and third.record()["state"] == "done"
    assert first.record()["continued_by"] == str(second.directory)
    assert second.record()["resumed_from"].startswith(f"{first.directory.name}@")
    assert third.record()["resumed_from"].startswith(f"{second.directory.name}@")
    assert "restart 2 of 3: the run goes on from checkpoint" in died.text


def test_the_directory_of_an_earlier_restart_stays(start, crashes, tmp_path):
    (tmp_path / "run1-restart1").mkdir()
    died = start(calls() + every(2.0), arguments=["--restarts", "1"], env=crashes("macro-5"))
    assert died.status == 0, died.text
    assert list((tmp_path / "run1-restart1").iterdir()) == []
    assert (tmp_path / "run1-restart1-2/run.json").exists()


def test_a_restart_passes_over_a_damaged_checkpoint(start, tmp_path, python_code):
    """The code damages the last checkpoint before it dies."""
    code = python_code("code", """
        import glob, time
        instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            if instance.resuming():
                number = instance.load_snapshot().data
                print("goes on from", number, flush=True)
            if instance.should_init():
                number = 0
            while number < 10:
                number += 1
                if number == 8 and not os.path.exists(os.environ["RUN"] + "-restart1"):
                    while not (files := glob.glob(os.environ["RUN"] + "/checkpoints/4/*.checkpoint")):
                        time.sleep(0.01)
                    os.truncate(files[0], 100)
                    os.kill(os.getpid(), 9)
                if instance.should_save_snapshot(float(number)):
                    instance.save_snapshot(Message(float(number), None, number))
            if instance.should_save_final_snapshot():
                instance.save_final_snapshot(Message(10.0, None, number))
        """)
    model = f"""
ymmsl_version: v0.2
models: {{one: {{components: {{code: {{ports: {{o_f: out}}, implementation: code}}}}}}}}
programs: {{code: {code}}}
checkpoints: {{simulation_time: [{{every: 2}}]}}
ligament: {{restarts: 3, checkpoints: {{keep: 5}}}}
"""
    died = start(model, env={"RUN": str(tmp_path / "run1")})
    assert died.status == 0, died.text
    log = died.restarted(2).directory / "instances/code/output.log"
    assert log.read_text().startswith("goes on from"), died.text


def test_the_model_may_ask_for_restarts(start, crashes):
    model = peers(1) + "checkpoints: {simulation_time: [{every: 4}]}\nligament: {restarts: 1}\n"
    plain = start(model)
    died = start(model, env=crashes("slow-11"))
    assert died.status == 0, died.text
    again = died.restarted(1)
    assert [again.end(name) for name in ("fast", "slow")] == [plain.end(name) for name in ("fast", "slow")]


def test_a_run_without_a_checkpoint_begins_again(start, crashes):
    died = start(calls() + every(5.0).replace("every", "start: 5, every"), arguments=["--restarts", "1"],
                 env=crashes("macro-3"))
    assert died.status == 0, died.text
    assert "goes on from the beginning, since there is no checkpoint" in died.text
    assert died.restarted(1).file("macro", "steps.txt").startswith("1 ")


def test_no_more_restarts_than_allowed(start, crashes):
    died = start(calls() + every(2.0), arguments=["--restarts", "1"], env=crashes("macro-5", "macro-6"))
    assert died.status != 0
    assert died.restarted(1).record()["state"] == "failed"
    assert not died.restarted(2).directory.exists()


def test_a_state_that_always_kills_is_left_behind_once(start, tmp_path, python_code):
    """The code dies whenever it goes on from the step at which it dies: the third run begins earlier."""
    code = python_code("cursed", """
        instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
        while instance.reuse_instance():
            if instance.resuming():
                number = instance.load_snapshot().data
                print("goes on from", number, flush=True)
            if instance.should_init():
                number = 0
            while number < 10:
                number += 1
                if number == 8:
                    os.kill(os.getpid(), 9)
                if instance.should_save_snapshot(float(number)):
                    instance.save_snapshot(Message(float(number), None, number))
            if instance.should_save_final_snapshot():
                instance.save_final_snapshot(Message(10.0, None, number))
        """)
    model = f"""
ymmsl_version: v0.2
models: {{one: {{components: {{cursed: {{ports: {{o_f: out}}, implementation: cursed}}}}}}}}
programs: {{cursed: {code}}}
checkpoints: {{simulation_time: [{{every: 2}}]}}
ligament: {{restarts: 9, checkpoints: {{keep: 5}}}}
"""
    died = start(model)
    assert died.status != 0
    said = []
    for number in (1, 2):
        run = died.restarted(number)
        said.append((run.directory / "instances/cursed/output.log").read_text().strip().splitlines()[:1])
    assert said == [["goes on from 6"], ["goes on from 4"]], died.text
    assert "no further restart: three runs have ended in the same way" in died.text
    assert not died.restarted(3).directory.exists()


def test_an_error_of_a_code_starts_nothing(start, python_code):
    code = python_code("wrong", """
        instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.KEEPS_NO_STATE_FOR_NEXT_USE)
        while instance.reuse_instance():
            raise ValueError("a mistake")
        """)
    model = f"""
ymmsl_version: v0.2
models: {{one: {{components: {{wrong: {{ports: {{o_f: out}}, implementation: wrong}}}}}}}}
programs: {{wrong: {code}}}
checkpoints: {{simulation_time: [{{every: 2}}]}}
ligament: {{restarts: 9}}
"""
    failed = start(model)
    assert failed.status != 0 and "restart" not in failed.text
    assert not failed.restarted(1).directory.exists()


def test_resume_by_the_name_of_a_run(start, tmp_path):
    model = calls()
    plain = start(model)
    saved = start(model + every(2.0))
    for wanted in (str(saved.directory), f"{saved.directory}@3"):
        resumed = start(arguments=["--resume", wanted])
        assert resumed.status == 0, resumed.text
        assert resumed.end("macro") == plain.end("macro")
    assert resumed.record()["resumed_from"] == f"{saved.directory.name}@3"
    assert saved.checkpoints()[3]["model_time"] == 4.0
    assert resumed.file("macro", "steps.txt").startswith("5 ")
    wrong = start(arguments=["--resume", f"{saved.directory}@77"])
    assert wrong.status == 2 and "has no checkpoint 77; it has 1, 2, 3" in wrong.text
    none = start(arguments=["--resume", str(plain.directory)])
    assert none.status == 2 and "no whole checkpoint" in none.text


def test_settings_may_change_at_the_resume(start):
    model = calls()
    saved = start(model + every(2.0))
    resumed = start(model, arguments=["--resume", f"{saved.directory}@3", "-s", "end=8"])
    assert resumed.status == 0, resumed.text
    assert resumed.end("macro").startswith("8 ")
