"""The Fortran binding: alone and in coupled runs. That it gets on with the other languages is
conformance/'s."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from kinds import TYPES, program as of_kind
from models import bossed, dealt, echoed, served
from programs import ROOT, run_model, run_program

HERE = Path(__file__).parent
C = HERE.parents[1] / "c" / "tests"
SOURCES = sorted((HERE.parent / "src").rglob("*.*"))


def code_of(page, language, number=0):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)[number]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_no_line_is_longer_than_compilers_must_take(source):
    assert max(map(len, source.read_text().splitlines())) <= 132


def test_values_of_every_kind_are_built_and_read_without_a_run(fortran):
    ran = run_program(fortran(HERE / "values.f90"))
    assert ran.status == 0, ran.text


def test_nothing_is_read_beyond_its_end_and_nothing_is_left(sanitised):
    ran = run_program(sanitised(HERE / "values.f90"))
    assert ran.status == 0, ran.text


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_travels_in_every_rank(prefix, fortran, program, tmp_path, kind):
    (tmp_path / "kinds.f90").write_text(of_kind(kind))
    ran = run_model(prefix, tmp_path, echoed(fortran(tmp_path / "kinds.f90"), program(C / "echo.c")))
    assert ran.status == 0, ran.output()


def test_arrays_of_every_rank_are_read_within_their_bounds(prefix, sanitised, program, tmp_path):
    (tmp_path / "kinds.f90").write_text(of_kind("complex64"))
    ran = run_model(prefix, tmp_path, echoed(sanitised(tmp_path / "kinds.f90"), program(C / "echo.c")))
    assert ran.status == 0, ran.output()


def test_every_value_comes_back_as_it_was_sent(prefix, fortran, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(fortran(HERE / "formal.f90"), fortran(HERE / "echo.f90")))
    assert ran.status == 0, ran.output()


def test_ports_settings_waits_loans_and_mistakes(prefix, fortran, tmp_path):
    ran = run_model(prefix, tmp_path, bossed(fortran(HERE / "boss.f90"), fortran(HERE / "worker.f90")))
    assert ran.status == 0, ran.output()


def test_a_coupled_run_reads_nothing_beyond_its_end(prefix, sanitised, tmp_path):
    ran = run_model(prefix, tmp_path, bossed(sanitised(HERE / "boss.f90"), sanitised(HERE / "worker.f90")))
    assert ran.status == 0, ran.output()


def test_a_sender_sets_the_length_of_a_vector_port(prefix, fortran, tmp_path):
    slots = fortran(HERE / "slots.f90")
    ran = run_model(prefix, tmp_path, dealt(slots, slots))
    assert ran.status == 0, ran.output()


def test_a_server_answers_each_request_under_the_settings_that_came_with_it(prefix, fortran, tmp_path):
    ran = run_model(prefix, tmp_path, served(fortran(HERE / "serve.f90")))
    assert ran.status == 0, ran.output()


@pytest.mark.parametrize("how, words", [
    ("fail", "macro reported an error: the third step does not converge"),
    ("stop", 'macro reported an error: an integer came on port "in" from echo.out, where an array of float64'),
])
def test_a_submodel_that_fails_ends_the_run_with_its_text(prefix, fortran, tmp_path, how, words):
    ran = run_model(prefix, tmp_path, echoed(fortran(HERE / "formal.f90"), fortran(HERE / "echo.f90"), [how]))
    assert ran.status == 1, ran.output()
    assert words in ran.text, ran.text


def ring(program, names, settings=""):
    components = "\n".join(f"    {name}: {{implementation: adder, ports: {{o_i: out, s: in}}}}"
                           for name in names)
    conduits = "\n".join(f"    {a}.out: {b}.in" for a, b in zip(names, names[1:] + names[:1]))
    return f"""ymmsl_version: v0.1
model:
  name: ring
  components:
{components}
  conduits:
{conduits}
settings:
  steps: 4
{settings}
implementations:
  adder: {{executable: {program}}}
ligament: {{light: adder}}
"""


def test_light_components_run_in_one_process(prefix, fortran, tmp_path):
    names = [f"c{i}" for i in range(5)]
    ran = run_model(prefix, tmp_path, ring(fortran(HERE / "adder.f90"), names))
    assert ran.status == 0, ran.output()
    printed = (ran.directory / "light/adder/output.log").read_text()
    assert all(f"{name}: 15\n" in printed for name in names), printed  # 1 + 2 + 4 + 8


def test_a_light_component_that_fails_is_named(prefix, sanitised, tmp_path):
    ran = run_model(prefix, tmp_path, ring(sanitised(HERE / "adder.f90"), ["c0", "c1"], "  fails: c1"))
    assert ran.status == 1, ran.output()
    assert "c1 reported an error: it does not add up" in ran.text, ran.text
    assert "AddressSanitizer" not in ran.output()


MACRO = """
import numpy as np
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(20):
        sent = np.arange(12.0).reshape(3, 4) + step
        instance.send("out", Message(step, step + 1, sent if step % 2 else np.asfortranarray(sent)))
        came = instance.receive("in")
        assert came.timestamp == step and (came.next_timestamp is None) == (step % 5 == 0), came
        np.testing.assert_array_equal(came.data, 2 * sent)
        assert came.data.flags.f_contiguous
"""
MICRO = """program micro
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   real(real64) :: field(3, 4), now
   real(real64), allocatable :: next
   integer :: pass = 0
   instance = ligament_instance([ligament_port(LIGAMENT_F_INIT, 'in'), ligament_port(LIGAMENT_O_F, 'out')])
   do while (instance%reuse_instance())
      call instance%receive_into('in', field, timestamp=now)
      field = 2 * field
      if (allocated(next)) deallocate (next)
      if (mod(pass, 5) /= 0) next = now + 1
      call instance%send('out', now, field, next_timestamp=next)
      pass = pass + 1
   end do
   call instance%free()
end program
"""


def test_a_micro_model_is_started_anew_by_a_macro_model_in_python(prefix, fortran, tmp_path):
    (tmp_path / "macro.py").write_text(MACRO)
    (tmp_path / "micro.f90").write_text(MICRO)
    model = echoed(sys.executable, fortran(tmp_path / "micro.f90"), [str(tmp_path / "macro.py")])
    ran = run_model(prefix, tmp_path, model)
    assert ran.status == 0, ran.output()


WRONG = """program wrong
   use ligament
   use, intrinsic :: iso_fortran_env, only: real64
   implicit none
   type(ligament_instance) :: instance
   type(ligament_message) :: message, left
   integer :: number(3), status
   character(len=300) :: text
   instance = ligament_instance()
   if (.not. instance%reuse_instance()) stop 2
   call instance%send('out', 0d0, [1d0, 2d0, 3d0])
   call instance%receive('in', message)
   left = message
   call message%free()
   call left%get(number, ierr=status, errmsg=text)
   if (status /= LIGAMENT_ERR_USAGE .or. index(text, 'received on port "in" is not there any more') == 0) stop 3
   call left%free()
   call instance%send('out', 0d0, [1d0, 2d0, 3d0])
   {mistake}
   print *, 'never'
end program
"""


@pytest.mark.parametrize("mistake, words", [
    ("call instance%receive_into('in', number)", ["macro", 'port "in"', "float64", "int32"]),
    ("call instance%receive_into('in', number(:2))", ["macro", 'port "in"', "[3]"]),
    ("call instance%receive_into('in', number(::2))", ["macro", 'port "in"', "float64", "int32", "[2]"]),
    ("call instance%get_setting('absent', status)", ["macro", 'setting "absent"']),
    ("stop 7", ["macro", "exit status 7"]),
    ("error stop 'it is too cold'", ["macro", "it is too cold"]),
])
def test_what_goes_wrong_ends_the_run_and_names_the_instance(prefix, fortran, tmp_path, mistake, words):
    (tmp_path / "wrong.f90").write_text(WRONG.replace("{mistake}", mistake))
    program = fortran(tmp_path / "wrong.f90", "-Wno-unused-variable")
    ran = run_model(prefix, tmp_path, echoed(program, fortran(HERE / "echo.f90")))
    assert ran.status == 1, ran.output()
    assert all(word in ran.text for word in words), ran.text
    assert "never" not in ran.output()


def test_the_readme_s_first_program_does_what_it_says(prefix, fortran, tmp_path):
    readme = HERE.parent / "README.md"
    (tmp_path / "rod.f90").write_text(code_of(readme, "fortran"))
    ran = run_model(prefix, tmp_path, code_of(readme, "yaml").replace("./rod",
                                                                      str(fortran(tmp_path / "rod.f90"))))
    assert ran.status == 0, ran.output()
    assert "43.75" in ran.output() and "56.25" in ran.output()


CMAKE = """cmake_minimum_required(VERSION 3.18)
project(my_code C Fortran)
find_package(ligament 0.1 REQUIRED COMPONENTS fortran)
add_executable(my_code my_code.f90)
target_link_libraries(my_code PRIVATE ligament::fortran)
"""


def test_cmake_compiles_the_module_with_the_user_s_compilers(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "my_code.f90").write_text(
        "program my_code\n   use ligament\n   print '(a)', ligament_version()\nend program\n")
    subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                   check=True)
    subprocess.run(["cmake", "--build", tmp_path / "build"], check=True)
    assert run_program(tmp_path / "build" / "my_code").text.strip() == "0.1.0"


def test_cmake_says_which_languages_it_needs(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.replace("C Fortran", "C"))
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "needs the languages Fortran and C" in done.stderr


def test_the_sources_are_found_by_the_command_and_by_pkg_config(prefix):
    assert (prefix / "share/ligament/fortran/ligament.f90").read_text() == (
        ROOT / "bindings/fortran/src/ligament.f90").read_text()
    asked = subprocess.run(["pkg-config", "--variable=fortrandir", "ligament"], capture_output=True, text=True,
                           check=True,
                           env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")})
    assert (Path(asked.stdout.strip()) / "ligament_descriptors.c").is_file()
