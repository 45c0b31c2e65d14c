"""Programs in MUSCLE 2's calls, in C++ with C, and in Fortran; mistakes are MUSCLE 2's kind of error."""

import re
import subprocess
from pathlib import Path

import pytest

FACE = Path(__file__).resolve().parents[1]


@pytest.fixture
def run(ligament, tmp_path):
    """Converts and runs a cxa file, and gives the output of an instance. `status` is 0, or 1 for a run that
    fails, or None."""

    def run(text, status=0):
        (tmp_path / "model.cxa.rb").write_text(text)
        made = subprocess.run([ligament, "convert", "model.cxa.rb", "-o", "model.ymmsl"], cwd=tmp_path,
                              capture_output=True, text=True, timeout=120)
        assert made.returncode == 0 and "warning" not in made.stderr, made.stderr
        done = subprocess.run([ligament, "run", "--quiet", "model.ymmsl", "--run-dir", "run"], cwd=tmp_path,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        assert status is None or (done.returncode == 0) == (status == 0), done.stdout + done.stderr
        return lambda name: (tmp_path / f"run/instances/{name}/output.log").read_text()

    return run


def test_codes_in_cpp_and_c_run_coupled(run, program, tmp_path):
    types = "'floats' => 'floats', 'ints' => 'ints', 'longs' => 'longs', 'truths' => 'truths', 'text' => 'text'"
    output = run(f"source = NativeInstance.new('source', '{program('source.cpp')}')\n"
                 f"sink = NativeInstance.new('sink', '{program('sink.c')}')\n"
                 "source.couple(sink, 'level-out' => 'level')\n"
                 "sink.couple(source, { 'answer' => 'answer' }, ['multiply_10'])\n"
                 f"source.couple(sink, {{{types}}}, ['pipe'])\nsource.couple(sink, 'raw')\n"
                 "$env['max_timesteps'] = '2 s'\n$env['default_dt'] = 1\nsource['dt'] = '500 ms'\n"
                 "sink['dt'] = 0.5\nsource['cell-size'] = 2.0\nsource['is_wet'] = true\n")
    assert output("source").splitlines() == ["source 500 ms 2.0 0 true", "2:0", "2:20", "2:40", "2:60",
                                             "4 steps 11"]
    assert output("sink").splitlines() == ["sink 0.5 0", "2 1.5 -2.5", "3 3",
                                           f"2 {-2**63} {2**63 - 1}", "2 1 0", "6 höhe", "3 0 1 2"]
    log = (tmp_path / "run/manager.log").read_text()
    assert "step 1 of source" in log and "100 % wet" in log


def test_a_code_in_fortran_sends_to_itself(run, program):
    output = run(f"ring = NativeInstance.new('ring', '{program('ring.f90')}')\n"
                 "ring.couple(ring, 'out' => 'in', 'text' => 'read')\n"
                 "ring['colour'] = 'red'\nring['T'] = 3\n$env['max_timesteps'] = 100\n")
    assert output("ring").splitlines() == ["ring red 0", "3 3 24.0", "14 green and blue"]


MISTAKES = [
    ("early", "will_stop is called before init"),
    ("twice", "init is called twice"),
    ("setting", "there is no setting colour"),
    ("dt", 'dt is "soon", which is no time'),
    ("complex", "MUSCLE_COMPLEX is not there"),
    ("port", 'there is no port "aut"'),
    ("type", "not text"),
    ("room", "has 2 elements, and there is room for 1"),
    ("late", "after finalize"),
]


@pytest.mark.parametrize("mistake, expected", MISTAKES)
def test_a_mistake_is_an_exception_of_muscle_2(run, program, mistake, expected):
    dt = "'soon'" if mistake == "dt" else "1"
    output = run(f"code = NativeInstance.new('code', '{program('mistakes.cpp')}', args: '{mistake}')\n"
                 f"code.couple(code, 'out' => 'in')\ncode['dt'] = {dt}\n", status=None)
    assert re.search(f"muscle_exception: .*{re.escape(expected)}", output("code")), output("code")


def test_a_mistake_in_c_ends_the_run_with_its_text(run, program, tmp_path):
    run(f"code = NativeInstance.new('code', '{program('mistakes.cpp')}', args: 'c')\n"
        "code.couple(code, 'out' => 'in')\n", status=1)
    assert "MUSCLE_Get_Property: there is no setting colour" in (tmp_path / "run/manager.log").read_text()


def test_a_text_of_fortran_that_is_too_short_is_told(run, program, tmp_path):
    output = run(f"code = NativeInstance.new('code', '{program('mistakes.cpp')}', args: 'short')\n"
                 "code.couple(code, 'out' => 'in')\n$env['colour'] = 'green'\n", status=1)
    log = (tmp_path / "run/manager.log").read_text()
    assert output("code").splitlines()[0] == "gre..." and 'the setting colour is "green" with 5' in log, log
    assert "the message on port in has 5 characters, and there is room for 3" in log, log


# Codes of MUSCLE 2 ask for settings with the instance's name, and for the command that the cxa file gives.
REQUESTS = """
#include <cppmuscle.hpp>
#include <iostream>

int main(int argc, char **argv) {
    muscle::env::init(&argc, &argv);
    for (const char *name : {"the-ring:energy", "energy", "args"})
        std::cout << (muscle::cxa::has_property(name) ? muscle::cxa::get_property(name) : "none") << std::endl;
    std::cout << muscle::cxa::get_property("command") << " " << muscle::env::will_stop() << std::endl;
    // The kinds of exceptions that codes make themselves.
    const muscle::muscle_exception own("own", 7, true), other{std::runtime_error("other")};
    if (own.error_code != 7 || std::string(other.what()) != "other") return 1;
    muscle::env::finalize();
}
"""


def test_codes_get_their_own_settings_by_full_names_and_their_command(run, program, tmp_path):
    (tmp_path / "asks.cpp").write_text(REQUESTS)
    command = program("asks", tmp_path / "asks.cpp")
    output = run(f"NativeInstance.new('the_ring', '{command}', args: '-a  b')\n"
                 f"NativeInstance.new('other', '{command}')\n"
                 "$env['the_ring:energy'] = 1.2\n$env['energy'] = 3\n$env['max_timesteps'] = 0\n")
    assert output("the_ring").splitlines() == ["1.2", "1.2", "-a b", f"{command} 1"]
    assert output("other").splitlines() == ["none", "3", "none", f"{command} 1"]


def test_the_program_of_the_readme_runs(run, program, tmp_path):
    text = (FACE / "README.md").read_text()
    source = tmp_path / "first.cpp"
    source.write_text(re.search(r"```cpp\n(.*?)```", text, re.S).group(1))
    cxa = re.search(r"```ruby\n(.*?)```", text, re.S).group(1).replace("./first", str(program("first", source)))
    assert run(cxa)("right").splitlines() == ["0", "1", "2"]
