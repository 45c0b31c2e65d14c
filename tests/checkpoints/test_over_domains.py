"""Checkpoints of runs over two domains. The agent of the other domain does not see the run directory, unless a
test says so."""

import json
import signal
import subprocess

import pytest
from conftest import COMMAND, LIMIT_S, Run
from domains import Domains, in_namespace, unfinished
from slow_cases import slow
from test_resume import calls, every, peers

PLACES = {"calls": ("1=micro",), "stateless": ("1=micro",), "peers": ("1=slow",), "all": ("1=fast", "1=slow")}
MODELS = {"calls": calls(), "stateless": calls("stateless"), "peers": peers(), "all": peers(3)}


@pytest.fixture
def spread(tmp_path):
    """Runs a model over two domains. The models are texts or files."""
    begun = []

    def spread(kind, *models, arguments=(), **more):
        place = tmp_path / f"spread{len(begun)}"
        files = []
        for number, model in enumerate(models):
            if isinstance(model, str):
                files.append(tmp_path / f"spread{len(begun)}-{number}.ymmsl")
                files[-1].write_text(model)
            else:
                files.append(model)
        on = [word for where in PLACES[kind] for word in ("--on", where)]
        begun.append(Domains(place, files, [*on, *arguments], **more))
        return begun[-1]

    yield spread
    for one in begun:
        one.end()


def ends(run: Run, but=()):
    """The ends that instances have written."""
    instances = sorted(one.name for one in (run.directory / "instances").iterdir())
    return {name: run.end(name) for name in instances if name not in but}


@pytest.mark.parametrize("kind, shared", [
    ("calls", False), ("all", True),
    *slow(("calls", True), ("all", False), ("stateless", False), ("stateless", True), ("peers", False),
          ("peers", True))])
def test_a_run_over_two_domains_resumes(start, spread, kind, shared):
    plain = start(MODELS[kind])
    saved = spread(kind, MODELS[kind] + every(3.0), shared=shared).done()
    assert ends(saved) == ends(plain), saved.text
    found = saved.checkpoints()
    assert len(found) >= 3 and not unfinished(saved), saved.text
    for number in list(found)[::2]:
        resumed = spread(kind, MODELS[kind], saved.resume_file(number), shared=shared).done()
        over = found[number]["over"]
        assert ends(resumed, over) == ends(plain, over), (found[number], resumed.text)


@pytest.mark.parametrize("kind", ["peers", *slow("calls")])
def test_it_resumes_on_one_machine_and_the_other_way_round(start, spread, kind):
    model = MODELS[kind]
    plain, saved = start(model), start(model + every(4.0))
    abroad = spread(kind, model, saved.resume_file(2)).done()
    assert ends(abroad) == ends(plain)
    saved = spread(kind, model + every(4.0)).done()
    here = start(model, saved.resume_file(2))
    assert here.status == 0 and ends(here) == ends(plain), here.text


FILES = """
    instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        number = 0
        if instance.resuming():
            number = instance.load_snapshot().data
            directory = instance.snapshot_directory()
            names = sorted(os.path.relpath(os.path.join(top, name), directory)
                           for top, _, files in os.walk(directory) for name in files)
            print("finds", names, open(f"{directory}/deep/state").read(), flush=True)
        instance.should_init()
        while number < 6:
            number += 1
            if instance.should_save_snapshot(float(number)):
                directory = instance.snapshot_directory()
                os.makedirs(f"{directory}/deep")
                open(f"{directory}/deep/state", "w").write(f"of step {number}")
                # The last file is still on its way when the process has ended.
                size = 60_000_001 if number == 6 else 3_000_001
                open(f"{directory}/large", "wb").write(bytes([number]) * size)
                open(f"{directory}/nothing", "wb").close()
                instance.save_snapshot(Message(float(number), None, number))
        instance.should_save_final_snapshot()
    """


def test_files_of_a_codes_own_travel_with_its_state(start, spread, python_code):
    model = f"""
ymmsl_version: v0.2
models: {{one: {{components: {{slow: {{ports: {{o_f: out}}, implementation: code}}}}}}}}
programs: {{code: {python_code("code", FILES)}}}
"""
    saved = spread("peers", model + every(2.0)).done()
    kept = saved.directory / "checkpoints" / "3" / "slow.files"
    assert (kept / "large").read_bytes() == bytes([4]) * 3_000_001
    assert saved.checkpoints()[4]["over"] == [], saved.text
    resumed = spread("peers", model, saved.resume_file(3)).done()
    here = start(model, saved.resume_file(3))
    finds = "finds ['deep/state', 'large', 'nothing'] of step 4\n"
    for run in (resumed, here):
        assert finds in run.file("slow", "output.log"), run.text


@pytest.fixture
def crashes(tmp_path):
    directory = tmp_path / "crashes"
    directory.mkdir()

    def crashes(*places):
        for place in places:
            (directory / place).touch()
        return {"CRASHES": str(directory)}

    return crashes


@pytest.mark.parametrize("kind, place",
                         [("calls", "micro-9"), *slow(("calls", "macro-7"), ("peers", "slow-11"))])
def test_a_death_in_one_domain_restarts_all(start, spread, crashes, kind, place):
    plain = start(MODELS[kind])
    last = spread(kind, MODELS[kind] + every(2.0), arguments=["--restarts", "2"], env=crashes(place)).done()
    assert last.directory.name == "run-restart1", last.text
    assert last.record()["resumed_from"].startswith("run@"), last.text
    assert ends(last) == ends(plain), last.text


def test_an_agent_that_is_killed_costs_what_came_after_the_last_checkpoint(start, spread):
    plain = start(MODELS["peers"])
    run = spread("peers", MODELS["peers"] + every(2.0), arguments=["--restarts", "2"], env={"PAUSE": "0.05"})
    run.until(lambda: (run.place / "run/checkpoints/2/checkpoint.json").exists(), "there are two checkpoints")
    run.agents[0].kill()
    runs = run.runs()
    assert runs[-1].status == 0 and len(runs) == 2, runs[-1].text
    assert ends(runs[-1]) == ends(plain), runs[-1].text
    assert runs[0].record()["code"] == "domain-killed" and not unfinished(runs[0])


GATE = """
    import time
    from pathlib import Path
    place = Path(os.environ["GATE"])
    instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        state = instance.load_snapshot().data if instance.resuming() else [0, 1.0]
        instance.should_init()
        number, value = state
        while number < 8:
            instance.send("out", Message(float(number), None, value))
            value = 0.5 * value + 0.25 * instance.receive("in").data
            number += 1
            if number == 5 and instance.name == "slow" and not (place / "passed").exists():
                (place / "saves").touch()
                while not (place / "go").exists():
                    time.sleep(0.01)
                (place / "passed").touch()
            if instance.should_save_snapshot(float(number)):
                instance.save_snapshot(Message(float(number), None, [number, value]))
        if instance.should_save_final_snapshot():
            instance.save_final_snapshot(Message(float(number), None, [number, value]))
    open("end.txt", "w").write(repr(value))
    """


@pytest.mark.parametrize("how", ["killed", "silent"])
def test_a_site_that_is_cut_while_it_saves_costs_this_checkpoint(start, spread, python_code, tmp_path, how):
    """The agent is stopped before the save at 5.0 and so never sends this file."""
    model = f"""
ymmsl_version: v0.2
models:
  two:
    components:
      fast: {{ports: {{o_i: out, s: in}}, implementation: code}}
      slow: {{ports: {{o_i: out, s: in}}, implementation: code}}
    conduits: {{fast.out: slow.in, slow.out: fast.in}}
programs: {{code: {python_code("gate", GATE)}}}
"""
    gates = [tmp_path / name for name in ("plain", "cut")]
    for gate in gates:
        gate.mkdir()
    (gates[0] / "go").touch()
    plain = start(model, env={"GATE": str(gates[0])})
    assert plain.status == 0, plain.text
    run = spread("peers", model + every(1.0), arguments=["--restarts", "1", "--patience", "4s"],
                 env={"GATE": str(gates[1])})
    run.until(lambda: (gates[1] / "saves").exists(), "slow is about to save")
    run.until(lambda: (run.place / "run/checkpoints/4/checkpoint.json").exists(), "the one before is whole")
    agent = run.agents[0]
    agent.send_signal(signal.SIGSTOP)
    (gates[1] / "go").touch()
    run.until(lambda: list(run.scratch.glob("*/checkpoints/.unfinished/*/slow.checkpoint")), "slow has saved")
    if how == "killed":
        agent.kill()
    else:
        run.until(lambda: (run.place / "run-restart1").exists(), "the head has given the agent up")
        agent.send_signal(signal.SIGCONT)
    runs = run.runs()
    assert runs[-1].status == 0 and len(runs) == 2, runs[-1].text
    assert runs[1].record()["resumed_from"] == "run@4", runs[-1].text
    assert runs[0].checkpoints()[4]["model_time"] == 4.0 and not unfinished(runs[0])
    assert ends(runs[-1]) == ends(plain), runs[-1].text
    assert "domain 1" in runs[0].record()["reason"]


BALLAST = """
    import numpy as np

    instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        instance.resuming()
        instance.should_init()
        for number in range(1, 13):
            if number == 5:
                with open("ballast", "wb", buffering=0) as ballast:
                    try:
                        while True:
                            ballast.write(bytes(4096))
                    except OSError:
                        pass
            if number == 9:
                os.unlink("ballast")
            if instance.should_save_snapshot(float(number)):
                instance.save_snapshot(Message(float(number), None, np.full(100000, float(number))))
        instance.should_save_final_snapshot()
    """


def test_a_full_disk_there_costs_the_checkpoints_of_its_time(spread, python_code, tmp_path):
    model = f"""
ymmsl_version: v0.2
models: {{one: {{components: {{slow: {{ports: {{o_f: out}}, implementation: code}}}}}}}}
programs: {{code: {python_code("code", BALLAST)}}}
"""
    run = spread("peers", model + every(2.0).replace("every: 2.0", "every: 2, start: 2"),
                 before_agent=in_namespace(tmp_path / "spread0" / "scratch", "12m")).done()
    times = [found["model_time"] for found in run.checkpoints().values()]
    assert sorted(times) == [2.0, 4.0, 10.0, 12.0], run.text
    assert "the file of slow cannot be written on" in run.text and "(domain 1)" in run.text, run.text
    assert "No space left" in run.text


def test_somebody_asks_for_a_checkpoint_of_two_domains(start, spread):
    plain = start(MODELS["peers"])
    run = spread("peers", MODELS["peers"], env={"PAUSE": "0.1"})
    run.until(lambda: (run.place / "run/instances/fast/workdir/steps.txt").exists(), "fast makes steps")
    done = subprocess.run(
        [COMMAND, "checkpoint", str(run.place / "run"), "--json", "--wait"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr + run.text()
    answer = json.loads(done.stdout)
    assert not list(run.scratch.glob("*/checkpoints/.unfinished/*/*")), "what has come is removed there"
    saved = run.done()
    assert saved.checkpoints()[answer["checkpoint"]]["model_time"] == answer["at"]
    resumed = start(MODELS["peers"], saved.resume_file(answer["checkpoint"]))
    assert resumed.status == 0 and ends(resumed) == ends(plain), resumed.text
