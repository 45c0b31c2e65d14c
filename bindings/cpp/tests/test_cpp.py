"""The C++ face, alone and in coupled runs. `conformance/` tests it against the other languages."""

import subprocess
from pathlib import Path

import pytest
from models import bossed, dealt, echoed, served
from programs import CPP, flags, run_model, run_program
from readme import compile_pieces, first_program

HERE = Path(__file__).parent
C = HERE.parents[1] / "c" / "tests"
ECHO = C / "echo.c"


@pytest.mark.parametrize("header", ["error", "span", "array", "value", "message", "uncaught", "loan",
                                    "instance", "submodel", "light", "path", "ligament"])
def test_each_header_compiles_alone_and_without_warnings(prefix, header, tmp_path):
    (tmp_path / "alone.cpp").write_text(f"#include <ligament/{header}.hpp>\nint main() {{}}\n")
    cflags, _ = flags(prefix)
    subprocess.run([*CPP, *cflags, "-c", tmp_path / "alone.cpp", "-o", tmp_path / "alone.o"], check=True)


def test_spans_are_the_language_s_own_where_it_has_them(prefix, tmp_path):
    (tmp_path / "spans.cpp").write_text(
        "#include <ligament/ligament.hpp>\n#include <type_traits>\n"
        "static_assert(std::is_same_v<ligament::Span<double>, std::span<double>>);\n"
        f'#include "{HERE / "values.cpp"}"\n'
    )
    cflags, _ = flags(prefix)
    command = [*CPP, *cflags, "-std=c++20", "-c", tmp_path / "spans.cpp", "-o", tmp_path / "spans.o"]
    subprocess.run(command, check=True)


def test_values_of_every_kind_are_built_and_read_without_a_run(program):
    ran = run_program(program(HERE / "values.cpp"))
    assert ran.status == 0, ran.text


def test_a_path_without_a_model_does_what_it_says(program, tmp_path):
    ran = run_program(program(HERE / "path.cpp"), str(tmp_path))
    assert ran.status == 0, ran.text


def test_every_value_comes_back_as_it_was_sent(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "teller.cpp"), program(ECHO)))
    assert ran.status == 0, ran.output()


def test_ports_settings_waits_loans_and_mistakes(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, bossed(program(HERE / "boss.cpp"), program(HERE / "worker.cpp")))
    assert ran.status == 0, ran.output()


def test_threads_take_turns_with_an_instance_and_share_messages(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "threads.cpp"), program(ECHO)))
    assert ran.status == 0, ran.output()


def test_a_formal_submodel_runs_its_loop(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "formal.cpp"), program(ECHO)))
    assert ran.status == 0, ran.output()


def test_an_exception_of_a_formal_submodel_ends_the_run_with_its_text(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "formal.cpp"), program(ECHO), ["fail"]))
    assert ran.status == 1, ran.output()
    assert "the third step does not converge" in ran.text


def test_the_readme_s_first_program_does_what_it_says(prefix, tmp_path):
    ran = first_program(prefix, HERE.parent / "README.md", "cpp", tmp_path)
    assert ran.status == 0, ran.output()
    assert "43.75" in ran.output() and "56.25" in ran.output()


def test_a_server_answers_each_request_under_the_settings_that_came_with_it(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, served(program(HERE / "serve.cpp")))
    assert ran.status == 0, ran.output()


def test_a_sender_sets_the_length_of_a_vector_port_that_is_joined_to_a_vector_port(prefix, program, tmp_path):
    slots = program(HERE / "slots.cpp")
    ran = run_model(prefix, tmp_path, dealt(slots, slots))
    assert ran.status == 0, ran.output()


@pytest.mark.parametrize(
    "what, reason",
    [
        ("library", 'ligament::UnexpectedError: the value is text, not a number'),
        ("standard", "std::out_of_range: cell 7 is not there"),
        ("own", "simulation::Diverged: in step 3"),
        ("number", "an exception that is no std::exception"),
        ("binary", "an exception whose text is not UTF-8"),
    ],
)
def test_an_exception_that_nobody_catches_ends_the_run_with_its_text(prefix, program, tmp_path, what, reason):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "uncaught.cpp"), program(ECHO), [what]))
    assert ran.status == 1, ran.output()
    assert f"macro reported an error: {reason}" in ran.text and "SIGABRT" in ran.text, ran.text
    assert "the handler before" in ran.output()


@pytest.mark.parametrize("what", ["thread", "fork"])
def test_an_exception_of_a_thread_or_a_child_is_not_reported_for_the_instance(prefix, program, tmp_path, what):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "uncaught.cpp"), program(ECHO), [what]))
    assert "reported an error" not in ran.text, ran.text
    assert ran.status == (1 if what == "thread" else 0), ran.output()


def test_an_exception_that_is_caught_outside_the_instance_s_scope_ends_the_run(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "uncaught.cpp"), program(ECHO), ["caught"]))
    assert ran.status == 1, ran.output()
    assert "an exception ended the code" in ran.text and "main says: cell 7" in ran.text, ran.text


def test_the_other_pieces_of_code_in_the_readme_compile(prefix, tmp_path):
    opening = """#include <ligament/ligament.hpp>
using namespace ligament;
void pieces(Instance &instance, double t, double dt, const std::vector<double> &temperatures, const double *data,
            std::size_t rows, std::size_t columns, const std::vector<double> &field);
void pieces(Instance &instance, double t, double dt, const std::vector<double> &temperatures, const double *data,
            std::size_t rows, std::size_t columns, const std::vector<double> &field)"""
    compile_pieces(prefix, HERE.parent / "README.md", "cpp", 1, opening, tmp_path)
