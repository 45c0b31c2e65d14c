"""Codes in Fortran, Java and C: coupling changes nothing, arrays keep their meaning in any order, and errors
explain themselves."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from heated_plate_alone import heating, simulate

HERE = Path(__file__).parent
SETTINGS = {"n_x": 40, "n_y": 24, "t_max": 60.0, "dt": 0.2, "conductivity": 1.0, "target": 20.0, "power": 0.5}
# A small plate that takes little time, for tests of the arrays.
SHORT = {"n_x": 7, "n_y": 5, "t_max": 2.0, "dt": 0.2, "conductivity": 1.0, "target": 20.0, "power": 0.5}
PYTHON_HEATER = """
import numpy as np
from ligament import Instance, Message, Operator
from heated_plate_alone import heating

instance = Instance({Operator.F_INIT: ["temperature"], Operator.O_F: ["heating"]})
while instance.reuse_instance():
    came = instance.receive("temperature")
    assert came.data.flags.f_contiguous and not came.data.flags.c_contiguous
    target, power = instance.get_setting("target", "float"), instance.get_setting("power", "float")
    added = heating(np.array(came.data), target, power)
    instance.send("heating", Message(came.timestamp, data=np.ascontiguousarray(added)))
"""
PYTHON_PLATE = """
import numpy as np
from ligament import Instance, Message, Operator
from heated_plate_alone import heating, laplacian

instance = Instance({Operator.O_I: ["temperature"], Operator.S: ["heating"]})
while instance.reuse_instance():
    ask = lambda name, kind="float": instance.get_setting(name, kind)
    u, dt, steps = np.zeros((ask("n_x", "int"), ask("n_y", "int"))), ask("dt"), round(ask("t_max") / ask("dt"))
    for step in range(steps):
        instance.send("temperature", Message(step * dt, None, np.ascontiguousarray(u)))
        came = instance.receive("heating")
        assert came.timestamp == step * dt and came.data.shape == u.shape and came.data.flags.f_contiguous
        np.testing.assert_array_equal(came.data, heating(u, 20.0, 0.5))
        u = u + dt * (ask("conductivity") * laplacian(u) + came.data)
"""


class Codes:
    """The programs of the example, and runs of models with them."""

    def __init__(self, directory):
        self.directory = directory

    def run(self, model, settings=(), limit=300):
        model = Path(model)
        arguments = [word for pair in settings for word in ("-s", pair)]
        run = self.directory / f"run-{len(list(self.directory.glob('run-*')))}"
        done = subprocess.run(
            ["ligament", "run", model, "--run-dir", run, *arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
            env=os.environ | {"PYTHONPATH": str(HERE)},
        )
        return done, run

    def model(self, components, conduits, settings, programs):
        file = self.directory / f"model-{len(list(self.directory.glob('model-*')))}.ymmsl"
        lines = ["ymmsl_version: v0.1", "model:", "  name: short", "  components:"]
        lines += [f"    {name}: {{implementation: {name}, ports: {ports}}}"
                  for name, ports in components.items()]
        lines += ["  conduits:"] + [f"    {sender}: {receiver}" for sender, receiver in conduits.items()]
        lines += ["settings:"] + [f"  {name}: {value}" for name, value in settings.items()]
        lines += ["implementations:"] + [f"  {name}: {program}" for name, program in programs.items()]
        file.write_text("\n".join(lines) + "\n")
        return file

    def python(self, name, text):
        file = self.directory / f"{name}.py"
        file.write_text(text)
        return f"{{executable: python3, args: [{file}]}}"


PLATE = f"{{executable: {HERE / 'build/plate'}}}"
HEATER = f"{{executable: {HERE / 'java'}, args: [{HERE / 'Heater.java'}]}}"
STRANGER = f"{{executable: {HERE / 'build/stranger'}}}"


@pytest.fixture(scope="module", autouse=True)
def built():
    subprocess.run([HERE.parent / "build", HERE.name], check=True)


@pytest.fixture(scope="module")
def java():
    """Returns true if Java code can run here."""
    done = subprocess.run([HERE / "java", "--version"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())


@pytest.fixture
def codes(tmp_path):
    assert shutil.which("ligament"), "there is no command `ligament`; run `make build` first"
    return Codes(tmp_path)


def last_temperatures(run):
    """As [x, y]: the file has a line for each y."""
    return np.loadtxt(run / "instances/plate/workdir/temperature.txt").T


def said(run, instance):
    return (run / "instances" / instance / "output.log").read_text()


def test_the_plate_alone_keeps_its_heat():
    history = simulate(**SHORT | {"target": 0.0})
    assert not history.any()
    history = simulate(**SHORT)
    added = [heating(u, 20.0, 0.5).sum() * 0.2 for u in history[:-1]]
    np.testing.assert_allclose(np.diff(history.sum(axis=(1, 2))), added)


def test_fortran_java_and_c_together_give_what_one_program_gives(java, codes):
    done, run = codes.run(HERE / "heated_plate.ymmsl")
    assert done.returncode == 0, done.stdout
    alone = simulate(**SETTINGS)
    np.testing.assert_allclose(last_temperatures(run), alone[-1], rtol=1e-10)
    lines = said(run, "onlooker").splitlines()
    assert len(lines) == 1 + 300
    for line, u in zip(lines[1:], alone):
        assert line.startswith("temperature at ")
        assert "a column-major array of float64 and shape (40, 24)" in line
        np.testing.assert_allclose(float(line.split()[-1]), u.sum(), rtol=1e-8)


def test_fortran_s_array_is_column_major_in_python_and_python_s_answer_is_rearranged(codes):
    model = codes.model(
        {"plate": "{o_i: temperature, s: heating}", "heater": "{f_init: temperature, o_f: heating}"},
        {"plate.temperature": "heater.temperature", "heater.heating": "plate.heating"},
        SHORT, {"plate": PLATE, "heater": codes.python("heater", PYTHON_HEATER)},
    )
    done, run = codes.run(model)
    assert done.returncode == 0, done.stdout
    np.testing.assert_allclose(last_temperatures(run), simulate(**SHORT)[-1], rtol=1e-10)


def test_java_reads_a_row_major_array_where_python_put_it_and_answers_in_a_loan(java, codes):
    model = codes.model(
        {"plate": "{o_i: temperature, s: heating}", "heater": "{f_init: temperature, o_f: heating}"},
        {"plate.temperature": "heater.temperature", "heater.heating": "plate.heating"},
        SHORT, {"plate": codes.python("plate", PYTHON_PLATE), "heater": HEATER},
    )
    done, _ = codes.run(model)
    assert done.returncode == 0, done.stdout


def test_what_fortran_finds_wrong_ends_the_run_with_its_words(codes):
    model = codes.model({"plate": "{o_i: temperature, s: heating}"}, {}, SHORT, {"plate": PLATE})
    model.write_text(model.read_text().replace("  conduits:\n", ""))
    done, _ = codes.run(model, ["dt=0.5"])
    assert done.returncode == 1
    assert "dt is too long a step for this conductivity" in done.stdout


def test_a_setting_that_is_missing_is_named_in_fortran(codes):
    settings = {name: value for name, value in SHORT.items() if name != "conductivity"}
    model = codes.model({"plate": "{o_i: temperature, s: heating}"}, {}, settings, {"plate": PLATE})
    model.write_text(model.read_text().replace("  conduits:\n", ""))
    done, run = codes.run(model)
    assert done.returncode == 1
    assert 'setting "conductivity"' in said(run, "plate"), done.stdout


def test_a_setting_that_is_missing_is_named_in_java(java, codes):
    settings = {name: value for name, value in SHORT.items() if name != "target"}
    model = codes.model(
        {"plate": "{o_i: temperature, s: heating}", "heater": "{f_init: temperature, o_f: heating}"},
        {"plate.temperature": "heater.temperature", "heater.heating": "plate.heating"},
        settings, {"plate": PLATE, "heater": HEATER},
    )
    done, run = codes.run(model)
    assert done.returncode == 1
    reason = next(line for line in done.stdout.splitlines() if line.startswith("ligament: the run failed"))
    assert "heater" in reason and 'setting "target"' in reason, done.stdout
