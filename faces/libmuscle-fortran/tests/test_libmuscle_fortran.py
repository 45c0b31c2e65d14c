"""Programs in the calls of MUSCLE 3's libmuscle in Fortran, each call at least once."""

import os
import re
import subprocess
import sys
from importlib import metadata

import grids
import pytest
from conftest import FACE, HERE, compilers, run_model

sys.path.insert(0, str(FACE / "src"))
import table  # noqa: E402

PYTHON_PROGRAMS = FACE.parent / "libmuscle-python" / "tests" / "programs"
CPP_PROGRAMS = FACE.parent / "libmuscle-cpp" / "tests"
README = FACE / "README.md"
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
ALONE = """ymmsl_version: v0.2
models:
  one:
    description: a test
    components:
      code: {{description: a test, implementation: code{ports}}}
programs:
  code: {{description: a test, executable: {code}, args: {arguments}}}
{more}"""


def records(folder):
    """The lines that each instance has written, by its name, without those about what it sends, and without the
    order of a grid's elements, which a program in Fortran does not see."""
    return {file.stem: [re.sub(r"(Grid\(\w+ \([\d, ]*\)) [CF] ", r"\1 ", line)
                        for line in file.read_text().splitlines() if not line.startswith("send ")]
            for file in sorted(folder.glob("*.record"))}


@pytest.fixture(scope="session")
def every_call(program):
    return program("every_call", [HERE / "record.f90", HERE / "every_call.f90"])


def run_roles(prefix, folder, codes):
    """Runs the model of every call with a program for each role, and gives the records."""
    folder.mkdir()
    programs = "programs:\n" + "".join(
        f"  {role}: {{description: a test, executable: {code}, args: [{role}, {folder}]}}\n"
        for role, code in codes.items())
    ran = run_model(prefix, folder, (PYTHON_PROGRAMS / "model.ymmsl").read_text() + programs)
    assert ran.status == 0, ran.output()
    return records(folder)


@pytest.mark.parametrize("name", ["settings", "values"])
def test_settings_values_and_messages(program, name):
    done = subprocess.run([program(name)], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.splitlines() == [GOOD] and done.returncode == 0, done.stdout + done.stderr


def test_the_makefile_says_that_the_face_in_cpp_is_missing(tmp_path):
    variables = os.environ | {"PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": str(tmp_path)}
    command = ["make", "-C", FACE, f"BUILD={tmp_path / 'build'}"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode != 0 and "install faces/libmuscle-cpp" in done.stderr, done.stderr
    assert not (tmp_path / "build").exists()


def test_grids_of_all_elements_and_dimensions(program, tmp_path):
    (tmp_path / "grids.f90").write_text(grids.source())
    code = program("grids", [tmp_path / "grids.f90"])
    done = subprocess.run([code], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout.splitlines() == [GOOD] and done.returncode == 0, done.stdout + done.stderr


def test_every_call_of_the_table_is_in_a_program():
    text = "".join(file.read_text() for file in HERE.glob("*.[fF]90")) + grids.source()
    absent = []
    for module in table.modules():
        for type_ in module.types.values():
            for call in type_.calls:
                names = [call.name, *filter(None, [call.generic])]
                long = [f"{module.prefix}_{type_.name}_{name}" for name in names]
                made = [f"{module.prefix}_{type_.name}"] if call.is_static else []
                bound = [] if call.is_static else [f"%{name}" for name in names]
                if not any(re.search(rf"{re.escape(name)}\(", text) for name in [*long, *made, *bound]):
                    absent.append(long[0])
    assert absent == []


def test_each_instance_receives_and_is_told_what_it_is_under_muscle3(every_call, prefix, tmp_path):
    try:
        metadata.distribution("muscle3")
    except metadata.PackageNotFoundError:
        pytest.skip("muscle3 is not installed")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    command = [sys.executable, PYTHON_PROGRAMS / "every_call.py", PYTHON_PROGRAMS / "model.ymmsl"]
    variables = os.environ | {"HOME": str(theirs), "PYTHONWARNINGS": "ignore"}
    subprocess.run(command, cwd=theirs, env=variables, check=True, capture_output=True, timeout=LIMIT)
    expected, found = records(theirs), run_roles(prefix, tmp_path / "ours", dict.fromkeys(ROLES, every_call))
    assert set(expected) | {"splitter"} == set(found) and len(expected["worker[0]"]) > 50
    for name, lines in expected.items():
        assert found[name] == lines, name


@pytest.mark.parametrize("ours", ["driver helper splitter", "worker collector"])
def test_instances_in_fortran_and_in_cpp_exchange_the_same(every_call, program, prefix, tmp_path, ours):
    """Grids of C++ lie in the order of C, which the elements in Fortran are copied from."""
    cpp = program("every_call_cpp", [CPP_PROGRAMS / "every_call.cpp"], "libmuscle", "g++")
    alone = run_roles(prefix, tmp_path / "alone", dict.fromkeys(ROLES, cpp))
    mixed = run_roles(prefix, tmp_path / "mixed",
                      {role: every_call if role in ours.split() else cpp for role in ROLES})
    assert len(alone["worker[0]"]) > 50 and alone == mixed


def test_a_mistake_gives_the_code_and_the_text_of_its_error(program, prefix, tmp_path):
    model = ONE.format(ports="f_init: start, o_i: out many", code=program("mistakes"), python=sys.executable,
                       peer=PEER)
    ran = run_model(prefix, tmp_path / "model", model)
    assert GOOD in ran.output() and ran.status == 0, ran.output()


@pytest.mark.parametrize("which, text", [
    ("send", 'LIBMUSCLE_Instance_send_pm: .*"nowhere"'),
    ("receive", 'LIBMUSCLE_Instance_receive_p: .*"out"'),
    ("setting", 'LIBMUSCLE_Instance_get_setting_as1_real8: the setting "unset" is not set'),
    ("next", "LIBMUSCLE_Message_next_timestamp: "),
    ("operator", "LIBMUSCLE_PortsDescription_add: the LIBMUSCLE_PortsDescription has not been made"),
])
def test_a_mistake_that_is_not_asked_for_ends_the_run_with_its_text(program, prefix, tmp_path, which, text):
    model = ALONE.format(code=program("abort"), arguments=[which], ports=", ports: {o_i: out}", more="")
    ran = run_model(prefix, tmp_path / "model", model)
    assert ran.status != 0 and re.search(f"error in {text}", ran.text), ran.output()
    # The earlier output of the program comes first.
    lines = (ran.directory / "instances" / "code" / "output.log").read_text().splitlines()
    assert lines[-1].startswith("error in ") and len(lines) == (1 if which == "operator" else 2), lines
    assert "not reached" not in ran.output()


def test_the_state_is_saved_and_the_run_goes_on_from_it(program, prefix, tmp_path):
    file, code = tmp_path / "end", program("state")
    model = ALONE.format(code=code, arguments=["'5'", f"'{file}'"], ports="",
                         more="checkpoints: {at_end: true, simulation_time: [{at: [2]}]}\n").replace('"', "")
    ran = run_model(prefix, tmp_path / "first", model)
    assert ran.status == 0 and file.read_text() == "0 15\n", ran.output()
    # The last one is of the end of a pass, so that the next pass begins as each does.
    for number, expected in ((1, "2 15\n"), (2, "0 15\n")):
        resumed = ran.directory / "checkpoints" / str(number) / "resume.ymmsl"
        done = subprocess.run(
            [prefix / "bin" / "ligament", "run", tmp_path / "first" / "model.ymmsl", resumed, "--run-dir",
             tmp_path / f"run{number}"], capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0 and file.read_text() == expected, done.stdout + done.stderr


@pytest.fixture
def with_mpi(monkeypatch):
    """The settings under which Open MPI starts as root, and with more ranks than there are cores."""
    if None in compilers():
        pytest.skip("Open MPI's compilers are not installed")
    for name in ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM", "MCA_rmaps_base_oversubscribe"):
        monkeypatch.setenv(f"OMPI_{name}", "1")


def test_the_ranks_of_an_instance_with_mpi(program, prefix, tmp_path, with_mpi):
    code = program("ranks", None, "libmuscle_mpi_fortran", compilers()[1])
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


def test_an_instance_of_all_ranks_whose_root_is_the_first_one(program, prefix, tmp_path, with_mpi):
    code = program("world", None, "libmuscle_mpi_fortran", compilers()[1])
    model = f"""ymmsl_version: v0.1
model: {{name: world, components: {{code: code}}}}
implementations:
  code: {{executable: {code}, args: [{tmp_path}], execution_model: openmpi}}
resources:
  code: {{mpi_processes: 2}}
ligament:
  mpirun: {{code: mpirun.openmpi}}
"""
    ran = run_model(prefix, tmp_path / "model", model)
    assert ran.status == 0, ran.output()
    assert [(tmp_path / f"world{rank}").read_text() for rank in range(2)] == ["1\n"] * 2, ran.output()


def test_a_program_that_is_outside_of_a_run_says_how_to_start_it(program, tmp_path):
    def call(*words):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("LIGAMENT_")}
        done = subprocess.run([program("state"), "1", "file", *words], cwd=tmp_path, env=variables,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 1 and done.stderr.startswith("error in LIBMUSCLE_Instance_create: ")
        return done.stderr

    assert "does not know which instance it is" in call()
    assert "instance code: nothing says where the run is" in call("--muscle-instance=code")
    assert "an address of MUSCLE 3's manager" in call("--muscle-instance=code", "--muscle-manager=tcp:a:1")


def test_the_first_program_of_the_readme(program, prefix, tmp_path):
    text = README.read_text()
    source, model = (re.search(rf"```{kind}\n(.*?)```", text, re.S).group(1) for kind in ("fortran", "yaml"))
    (tmp_path / "cooling.f90").write_text(source)
    code = program("cooling", [tmp_path / "cooling.f90"])
    ran = run_model(prefix, tmp_path / "model", model.replace("./cooling", str(code)))
    assert ran.status == 0 and "37.5" in ran.output(), ran.output()


if __name__ == "__main__":
    pytest.main([__file__])
