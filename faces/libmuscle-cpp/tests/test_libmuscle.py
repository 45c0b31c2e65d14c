"""Programs in the calls of MUSCLE 3's libmuscle in C++, each call at least once."""

import os
import re
import subprocess
import sys
from importlib import metadata

import pytest
from conftest import HERE, mpicxx, run_model

PYTHON_PROGRAMS = HERE.parents[1] / "libmuscle-python" / "tests" / "programs"
README = HERE.parent / "README.md"
ROLES = ("driver", "worker", "helper", "splitter", "collector")
LIMIT = 120  # s
GOOD = "all as it should be"

ONE = """ymmsl_version: v0.2
models:
  one:
    description: a test
    components:
      code: {{description: a test, implementation: code, ports: {{{ports}}}}}
      peer: {{description: a test, implementation: peer, multiplicity: 2, ports: {{f_init: start}}}}
    conduits: {{code.many: peer.start}}
settings: {{text: a text, whole: 3}}
programs:
  code: {{description: a test, executable: {code}}}
  peer: {{description: a test, executable: {python}, args: [-c, "{peer}"]}}
"""
PEER = "import ligament; i = ligament.Instance(); i.reuse_instance()"


def records(folder):
    """The lines that each instance has written, by its name, without those about what it sends."""
    return {file.stem: [line for line in file.read_text().splitlines() if not line.startswith("send ")]
            for file in sorted(folder.glob("*.record"))}


@pytest.mark.parametrize("name", ["values"])
def test_values_messages_names_and_settings(program, name):
    done = subprocess.run([program(name)], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.splitlines() == [GOOD] and done.returncode == 0, done.stdout


def test_each_instance_receives_and_is_told_what_it_is_under_muscle3(program, prefix, tmp_path):
    try:
        metadata.distribution("muscle3")
    except metadata.PackageNotFoundError:
        pytest.skip("muscle3 is not installed")
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.mkdir()
    ours.mkdir()
    model = (PYTHON_PROGRAMS / "model.ymmsl").read_text()
    command = [sys.executable, PYTHON_PROGRAMS / "every_call.py", PYTHON_PROGRAMS / "model.ymmsl"]
    variables = os.environ | {"HOME": str(theirs), "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, cwd=theirs, env=variables, check=True, capture_output=True, timeout=LIMIT)
    programs = "programs:\n" + "".join(
        f"  {role}: {{description: a test, executable: {program('every_call')}, args: [{role}, {ours}]}}\n"
        for role in ROLES)
    ran = run_model(prefix, ours, model + programs)
    assert ran.status == 0, ran.output()
    expected, found = records(theirs), records(ours)
    assert set(expected) == set(found) and len(expected["worker[0]"]) > 50
    for name, lines in expected.items():
        assert found[name] == lines, name


def test_a_mistake_raises_the_kind_of_exception_that_it_raises_in_muscle3(program, prefix, tmp_path):
    model = ONE.format(ports="f_init: start, o_i: out many", code=program("mistakes"),
                       python=sys.executable, peer=PEER)
    ran = run_model(prefix, tmp_path / "model", model)
    assert GOOD in ran.output() and ran.status == 0, ran.output()


def test_the_state_is_saved_and_the_run_goes_on_from_it(program, prefix, tmp_path):
    file, code = tmp_path / "end", program("state")
    model = f"""ymmsl_version: v0.2
models:
  one:
    description: a test
    components:
      code: {{description: a test, implementation: code}}
programs:
  code: {{description: a test, executable: {code}, args: ["5", "{file}"]}}
checkpoints: {{at_end: true, simulation_time: [{{at: [2]}}]}}
"""
    ran = run_model(prefix, tmp_path / "first", model)
    assert ran.status == 0 and file.read_text() == "0 15\n", ran.output()
    # The last one is of the end of a pass, so that the next pass begins as each does.
    for number, expected in ((1, "2 15\n"), (2, "0 15\n")):
        resumed = ran.directory / "checkpoints" / str(number) / "resume.ymmsl"
        done = subprocess.run(
            [prefix / "bin" / "ligament", "run", tmp_path / "first" / "model.ymmsl", resumed, "--run-dir",
             tmp_path / f"run{number}"], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0 and file.read_text() == expected, done.stdout + done.stderr


def test_the_ranks_of_an_instance_with_mpi(program, prefix, tmp_path, monkeypatch):
    for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM", "MCA_rmaps_base_oversubscribe"):
        monkeypatch.setenv(f"OMPI_{name}", "1")
    code = program("ranks", "libmuscle_mpi", mpicxx())
    source = """import ligament, numpy
i = ligament.Instance({ligament.Operator.O_I: ['out'], ligament.Operator.S: ['in']})
while i.reuse_instance():
    i.send('out', ligament.Message(4.0, None, numpy.ones(3)))
    got = i.receive('in')
    assert got.timestamp == 4.0 and list(got.data) == [2.0, 3.0, 5.0], got
"""
    (tmp_path / "macro.py").write_text(source)
    model = f"""ymmsl_version: v0.1
model:
  name: ranks
  components:
    macro: {{implementation: macro, ports: {{o_i: out, s: in}}}}
    code: {{implementation: code, ports: {{f_init: [in, unconnected], o_f: out}}}}
  conduits: {{macro.out: code.in, code.out: macro.in}}
settings:
  {{factors: [2.0, 3.0, 5.0], text: a text, truth: true, whole: 3, real: 0.5, wholes: [1, 2],
   table: [[1.0], [3.0]]}}
implementations:
  macro: {{executable: {sys.executable}, args: {tmp_path / "macro.py"}}}
  code: {{executable: {code}, args: [{tmp_path}], execution_model: openmpi}}
resources:
  macro: {{threads: 1}}
  code: {{mpi_processes: 3}}
ligament:
  mpirun: {{code: mpirun.openmpi}}
"""
    ran = run_model(prefix, tmp_path / "model", model)
    assert ran.status == 0, ran.output()
    assert [(tmp_path / str(rank)).read_text() for rank in range(3)] == ["0\n"] * 3, ran.output()


def test_a_program_that_is_outside_of_a_run_says_how_to_start_it(program, tmp_path):
    def call(*words):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LIGAMENT_")}
        done = subprocess.run([program("state"), "1", "file", *words], cwd=tmp_path, env=variables,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode != 0
        return done.stderr

    assert "does not know which instance it is" in call()
    assert "instance code: nothing says where the run is" in call("--muscle-instance=code")
    assert "an address of MUSCLE 3's manager" in call("--muscle-instance=code", "--muscle-manager=tcp:a:1")
    absent = tmp_path / "none"
    assert f"{absent} does not exist" in call("--muscle-instance=code", f"--muscle-manager={absent}")


def test_the_first_program_of_the_readme(program, prefix, tmp_path):
    text = README.read_text()
    source, model = (re.search(rf"```{kind}\n(.*?)```", text, re.S).group(1) for kind in ("cpp", "yaml"))
    (tmp_path / "cooling.cpp").write_text(source)
    code = program("cooling", source=tmp_path / "cooling.cpp")
    ran = run_model(prefix, tmp_path / "model", model.replace("./cooling", str(code)))
    assert ran.status == 0 and "37.5" in ran.output(), ran.output()


if __name__ == "__main__":
    pytest.main([__file__])
