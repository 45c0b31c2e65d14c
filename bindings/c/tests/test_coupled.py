"""C programs in coupled runs."""

from pathlib import Path

from models import bossed, dealt, echoed, overlaid, served
from programs import run_model
from readme import compile_pieces, first_program

HERE = Path(__file__).parent


def test_every_value_comes_back_as_it_was_sent(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "teller.c"), program(HERE / "echo.c")))
    assert ran.status == 0, ran.output()


def test_ports_settings_waits_loans_and_mistakes(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, bossed(program(HERE / "boss.c"), program(HERE / "worker.c")))
    assert ran.status == 0, ran.output()
    assert "the boss begins" in ran.output()


def test_loans_of_all_sizes_arrive_whole_however_often_their_memory_is_lent(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "loans.c"), program(HERE / "echo.c")))
    assert ran.status == 0, ran.output()


def test_an_array_unlike_the_one_before_in_one_thing_only_arrives_as_what_it_is(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "alike.c"), program(HERE / "echo.c")))
    assert ran.status == 0, ran.output()


def test_a_formal_submodel_runs_its_loop(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "formal.c"), program(HERE / "echo.c")))
    assert ran.status == 0, ran.output()


def test_a_formal_submodel_that_fails_ends_the_run_with_its_reason(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "formal.c"), program(HERE / "echo.c"), ["fail"]))
    assert ran.status == 1, ran.output()
    assert "the third step does not converge" in ran.text


def test_a_call_that_comes_while_another_is_in_progress_is_refused_and_disturbs_nothing(prefix, program,
                                                                                        tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "threads.c"), program(HERE / "echo.c")))
    assert ran.status == 0, ran.output()
    assert ("lig_instance_free: the instance is in the middle of another call: lig_receive of "
            "thread") in ran.output()


def test_a_submodel_s_functions_have_its_instance_while_they_run_and_no_longer(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "threads.c"), program(HERE / "echo.c"),
                                             ["submodel"]))
    assert ran.status == 0, ran.output()
    assert "was called by a function of the instance's own submodel; nothing is freed" in ran.output()


def test_a_submodel_s_function_that_leaves_a_thread_in_a_call_ends_the_run(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "threads.c"), program(HERE / "echo.c"), ["leave"]))
    assert ran.status == 1, ran.output()
    assert "the instance is in the middle of another call: lig_receive of thread" in ran.text


def test_what_is_too_deep_too_large_or_no_time_is_refused_with_a_reason(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, echoed(program(HERE / "limits.c"), program(HERE / "echo.c")))
    assert ran.status == 0, ran.output()
    assert ran.text.count(
        'WARNING  macro: port "out": macro sends timestamp -3 after 12.5 in the same pass') == 1, ran.text
    assert "sends timestamp -4" not in ran.text


def test_the_readme_s_first_program_does_what_it_says(prefix, tmp_path):
    ran = first_program(prefix, HERE.parent / "README.md", "c", tmp_path)
    assert ran.status == 0, ran.output()
    assert "43.75" in ran.output() and "56.25" in ran.output()


def test_an_overlay_is_sent_applied_and_handed_over(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, overlaid(program(HERE / "overlay.c")))
    assert ran.status == 0, ran.output()


def test_a_server_answers_each_request_under_the_settings_that_came_with_it(prefix, program, tmp_path):
    ran = run_model(prefix, tmp_path, served(program(HERE / "serve.c")))
    assert ran.status == 0, ran.output()


def test_a_sender_sets_the_length_of_a_vector_port_that_is_joined_to_a_vector_port(prefix, program, tmp_path):
    slots = program(HERE / "slots.c")
    ran = run_model(prefix, tmp_path, dealt(slots, slots))
    assert ran.status == 0, ran.output()


def test_the_other_pieces_of_code_in_the_pages_compile(prefix, tmp_path):
    opening = """#include <ligament.h>
#include <stdio.h>
void pieces(lig_instance *instance, const lig_message *request, double t, double dt, uint64_t rows, uint64_t columns,
            double *temperatures, lig_value *array, lig_error error)"""
    compile_pieces(prefix, HERE.parent / "README.md", "c", 1, opening, tmp_path)
    compile_pieces(prefix, HERE.parents[2] / "docs/reference/c-api.md", "c", 0, opening, tmp_path)
