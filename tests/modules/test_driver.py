"""The driver's plan, parameters and steering; modules that cannot be used."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIMIT = 120
COUNTER = '''
import sys
import time
from pathlib import Path
from ligament import grid


class Counter:
    parameters = {"gain": {"default": 0.5, "min": 0, "max": 2, "unit": "m", "steerable": True},
                  "rounds": {"type": "int", "default": 2, "steerable": True},
                  "count": {"type": "int", "min": 1}}
    fields = {"u": {"unit": "m"}}
    functions = {"begin": {"bin": "initial", "writes": {"u": "interior"}},
                 "add": {"bin": "evol", "reads": {"u": "everywhere"}, "writes": {"u": "interior"}}}

    def begin(self, block):
        block.interior("u")[...] = 0.0

    def add(self, block):
        block.interior("u")[...] += block.parameter("gain")
        with open("steps.txt", "a") as file:
            print(block.step, block.parameter("gain"), file=file)
        # From the 20th step on, the test sets the end of the run.
        if block.step > 20 and not (Path(__file__).parent / "go").exists():
            time.sleep(0.02)


grid.run([Counter], sys.argv[1:])
'''


def planned(program, *arguments):
    done = subprocess.run([*map(str, program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=LIMIT)
    return done.returncode, done.stdout


def test_the_plan_has_the_order_and_the_reason_of_each_exchange(shared_object, tmp_path):
    for source in ("wave.c", "damping.f90"):
        shared_object(HERE / source, tmp_path / Path(source).with_suffix(".so"))
    program = [sys.executable, HERE / "simulation.py", tmp_path]
    status, text = planned(program, "--plan")
    assert status == 0, text
    assert text.splitlines()[:9] == [
        "before the first step:",
        "  initial   wave.start",
        "  exchange  u, v: u is published, and wave.start wrote it; v is published, and wave.start wrote it",
        "  publish   u, v",
        "each step:",
        "  prestep   Source.lift",
        "  exchange  u: wave.accelerate reads u everywhere, and Source.lift wrote it",
        "  evol      wave.accelerate",
        "  evol      wave.move",
    ], text
    status, text = planned(program, "--json")
    parts = json.loads(text)
    assert status == 0 and parts[-1]["items"][0] == {"call": "lift", "module": "Source", "bin": "prestep"}


def test_the_plan_of_a_program_in_c_is_that_of_python(shared_object, c_driver, tmp_path):
    made = shared_object(HERE / "wave.c", tmp_path / "wave.so")
    program = tmp_path / "program.py"
    program.write_text(f"from ligament import grid\ngrid.run(['{made}'])\n")
    plans = [planned(command, "--plan") for command in ([c_driver, made], [sys.executable, program])]
    assert plans[0][0] == 0 and plans[0] == plans[1] and "wave.accelerate" in plans[0][1]


@pytest.mark.parametrize(("settings", "why"), [
    ("count: 3", 'the parameter "steps" of the driver of modules has no value for wave['),
    ("steps: 3", 'the parameter "count" of the module "Counter" has no value'),
    ("steps: 3, count: 2.0", 'the parameter "count" of the module "Counter" is 2.0 for wave['),
    ("steps: 3, count: 0", 'the parameter "count" of the module "Counter" is 0'),
    ("steps: 3, count: 2, gain: 2.5", 'and its range is 0 to 2 m'),
    ("steps: 3, count: 2, wave.gain: high", 'is the text "high"'),
    ("steps: 3, count: 2, time_step: 0.0", 'the parameter "time_step" of the driver of modules is 0'),
    ("steps: -1, count: 2", "is -1"),
])
def test_a_parameter_that_does_not_fit_is_named(run, model, tmp_path, settings, why):
    (tmp_path / "counter.py").write_text(COUNTER)
    done = run(model([sys.executable, tmp_path / "counter.py"], settings=settings))
    assert done.status != 0 and why in " ".join(done.text.split()), done.text


def test_a_parameter_is_steered_in_all_blocks_in_the_same_step(ligament, model, tmp_path):
    (tmp_path / "counter.py").write_text(COUNTER)
    command = [sys.executable, tmp_path / "counter.py"]
    (tmp_path / "m.ymmsl").write_text(model(command, blocks=(2, 2), settings="steps: 1500, count: 1, gain: 1"))

    def call(*words, status=0):
        done = subprocess.run([ligament, *words], cwd=tmp_path, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
        assert done.returncode == status, done.stdout
        return done.stdout

    call("run", "m.ymmsl", "--run-dir=run", "--detach", "--quiet", "--overcommit")
    try:
        until = time.monotonic() + LIMIT
        first = tmp_path / "run/instances"
        while not any(path.read_text().count("\n") > 20 for path in first.rglob("steps.txt")):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert "gain" in call("steer", "run", "wave.gain=2.5", status=1)
        # The types are those of the parameters, also where the model has a value of another type, or none.
        assert "of type float" in call("steer", "run", "wave.gain=high", status=1)
        assert "of type int" in call("steer", "run", "wave.rounds=2.5", status=1)
        at = json.loads(call("steer", "run", "wave.gain=1.5", "--json"))["at"]
        (tmp_path / "go").touch()
        call("attach", "run")
    finally:
        subprocess.run([ligament, "stop", "run"], cwd=tmp_path, capture_output=True, timeout=LIMIT)
    tables = [path.read_text() for path in first.rglob("steps.txt")]
    assert len(tables) == 4 and len(set(tables)) == 1
    steps = [line.split() for line in tables[0].splitlines()]
    # Step n begins at the time n - 1.
    assert {value for step, value in steps if int(step) - 1 < at} == {"1.0"}
    assert {value for step, value in steps if int(step) - 1 >= at} == {"1.5"}


C_MODULE = '#include <ligament_module.h>\nconst char *ligament_module(void) {{ return {}; }}\n{}\n'
STEP = "int step(lig_block *block) { (void)block; return 0; }"


@pytest.mark.parametrize(("declaration", "code", "why"), [
    ('"name: wave\\nfields: {u: {ghosts: many}}"', STEP, 'line 2: "ghosts" is a number of points'),
    ('"name: wave\\nfunctions: {step: {bin: evol, reads: [u]}}"', STEP,
     "a mapping stands here, and not a list"),
    ('"name: wave\\nfunctions: {step: {bin: evol}}"', "", 'declares the function "step", and '),
    ("NULL", "", "returned no text"),
    ('"name: wave\\nfunctions: {step: {bin: evol, reads: {u: everywhere}}}"', STEP, "which no module declares"),
    ('"name: wave\\nfields: {u: }\\nfunctions: {step: {bin: evol, reads: {u: everywhere}}}"', STEP,
     'reads the field "u" before any function has written its interior'),
])
def test_a_module_that_cannot_be_used_is_named(shared_object, c_driver, tmp_path, declaration, code, why):
    source = tmp_path / "wave.c"
    source.write_text(C_MODULE.format(declaration, code))
    status, text = planned([c_driver, shared_object(source)], "--plan")
    assert status == 1 and why in text and "wave" in text and "(ligament explain " in text, text


def test_a_file_that_is_no_module_is_named_with_the_loader_s_reason(c_driver, tmp_path):
    (tmp_path / "empty.so").write_text("nothing")
    for name, why in [("empty.so", "cannot be loaded"), ("missing.so", "No such file")]:
        status, text = planned([c_driver, tmp_path / name], "--plan")
        assert status == 1 and why in text and name in text, text
    status, text = planned([c_driver, tmp_path / "empty.so"], "--plans")
    assert status == 1 and 'does not know the argument "--plans"' in text, text


def test_open_edges_that_no_function_writes_are_refused_before_the_first_step(run, model, tmp_path):
    (tmp_path / "counter.py").write_text(COUNTER)
    command = [sys.executable, tmp_path / "counter.py"]
    done = run(model(command, edges=("open", "open"), settings="steps: 1, count: 1"))
    assert done.status != 0 and "ghosts beyond the grid's open edges" in " ".join(done.text.split()), done.text
