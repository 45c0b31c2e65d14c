"""Filters that users write, in C, C++, Rust and Python: their results for known messages at either end, their
memory, and runs in which a filter fails, crashes, or gives a forbidden result."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_filters import SINK, SOURCE, array, chained

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

PYTHON = '''
import os
from ligament import Message

def scale(message, by):
    message.data = float(by) * message.data
    return message

def scale_array(message):
    return Message(message.timestamp, message.next_timestamp, 3 * message.data)

def odd(message):
    return message if message.data % 2 else None

def twice(message):
    half = 0.5 * (message.timestamp + message.next_timestamp)
    yield Message(message.timestamp, half, message.data)
    yield Message(half, message.next_timestamp, [message.data, {"again": True}])

class Total:
    def __init__(self, start="0"):
        self.sum, self.time = float(start), None

    def __call__(self, message):
        self.sum, self.time = self.sum + message.data, message.timestamp

    def finish(self):
        if self.time is not None:
            return Message(self.time, None, self.sum)

def fails(message):
    if message.timestamp == 2.5:
        raise ValueError("it is too late")
    return message

def gives(message):
    return eval(os.environ.get("GIVES", "None"))

nothing = 7
'''


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """Compiles the filters of one language, once a session."""
    made = {}
    directory = tmp_path_factory.mktemp("own")
    include = f"-I{ROOT}/crates/capi/include"
    commands = {
        "c": ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", include,
              HERE / "own" / "filters.c"],
        "cpp": ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", include,
                HERE / "own" / "filters.cpp"],
        "rust": ["rustc", "--crate-type=cdylib", "--edition=2021", HERE / "own" / "filters.rs"],
    }

    def library(language):
        if language not in made:
            made[language] = directory / f"{language}.so"
            subprocess.run([*commands[language], "-o", made[language]], check=True, cwd=directory)
        return made[language]

    return library


@pytest.fixture
def through(run, python_program, tmp_path):
    """A run whose conduit has these filters; those in Python are in a file beside the programs."""
    (tmp_path / "my_filters.py").write_text(PYTHON)

    def through(filters, values, times, **more):
        source = SOURCE.replace("{times}", repr(times)).replace("{values}", f"[{', '.join(values)}]")
        return run(chained(python_program("source", source), python_program("sink", SINK), filters, **more))

    return through


def came(done):
    assert done.status == 0, done.text
    return json.loads(done.file("sink", "came.json"))


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize("language", ["c", "cpp", "rust"])
def test_a_function_of_a_library_changes_numbers_and_arrays_of_any_shape_and_order(through, library, language,
                                                                                   end):
    values = ["1.0", "np.arange(6.0).reshape(2, 3)", "np.arange(6.0).reshape(2, 3).T", "np.arange(6.0)[::2]",
              "np.zeros((0, 2))"]
    filters = (f'[{{multiply: 1}}, {{library: {{file: {library(language)}, function: scale, with: "0.5"}}, at: '
               f'{end}}}]')
    assert came(through(filters, values, [0.0, 1.0, 2.0, 3.0, 4.0])) == [
        [0, 1, 0.5],
        [1, 2, array("float64", [2, 3], [[0, 0.5, 1], [1.5, 2, 2.5]])],
        [2, 3, array("float64", [3, 2], [[0, 1.5], [0.5, 2], [1, 2.5]])],
        [3, 4, array("float64", [3], [0, 1, 2])],
        [4, None, array("float64", [0, 2], [])]]


@pytest.mark.parametrize("language", ["c", "cpp", "rust"])
def test_what_such_a_function_says_ends_the_run_or_is_logged(through, library, language):
    own = f"library: {{file: {library(language)}, function: scale, with: '2'}}"
    done = through(f"[{{{own}}}]", ["1.0", "np.zeros(2, 'int32')"], [0.0, 2.5])
    assert done.status == 1, done.text
    assert ("conduit source.out -> sink.in: filter 1 (library), message at time 2.5: only float64 can be scaled"
            in done.text), done.text
    done = through(f"[{{{own}, on_error: skip}}]", ["1.0", "7", "2.0"], [0.0, 1.0, 2.0],
                   more="settings:\n  muscle_remote_log_level: ERROR\n")
    assert [time for time, _, _ in came(done)] == [0, 2]
    assert "only float64 can be scaled; the message is left out" in (done.directory / "manager.log").read_text()


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_function_makes_many_messages_of_one_and_one_of_all(through, library, end):
    def filters(function):
        return f"[{{library: {{file: {library('c')}, function: {function}}}, at: {end}}}]"

    assert came(through(filters("twice"), ["7", "True"], [0.0, 1.0])) == [[0, 0.5, 7], [0.5, 1, 7],
                                                                          [1, None, True], [1, None, True]]
    assert came(through(filters("total"), ["1.0", "2.0", "4.0"], [0.0, 1.0, 2.0])) == [[2, None, 7]]


def test_the_file_of_a_library_is_relative_to_the_model(through, library, tmp_path):
    (tmp_path / "mine.so").write_bytes(library("c").read_bytes())
    assert came(through('[{library: {file: ./mine.so, function: scale, with: "2"}}]', ["1.5"],
                        [0.0])) == [[0, None, 3]]
    (tmp_path / "mine.so").unlink()
    done = through("[{library: {file: ./mine.so, function: scale}}]", ["1.5"], [0.0])
    assert done.status == 2 and "there is no library" in done.text, done.text


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_filter_that_crashes_is_named_with_its_conduit_and_the_message_s_time(through, library, end):
    done = through(f"[{{multiply: 1}}, {{library: {{file: {library('c')}, function: crash}}, at: {end}}}]",
                   ["1.0", "2.0"], [0.0, 2.5])
    assert done.status == 1, done.text
    assert "conduit source.out -> sink.in: filter 2 (library)" in done.text, done.text
    assert 'the function "crash" of' in done.text and "crashed, at message time 2.5" in done.text, done.text


@pytest.mark.parametrize("function, why", [
    ("silent", "the function gave 3, and did not say why"),
    ("huge", "which is too large"),
    ("backwards", "it would make a message of time 1 and next time 0, which cannot be"),
    ("absent", "undefined symbol: absent"),
])
def test_a_function_that_does_what_it_may_not_ends_the_run(through, library, function, why):
    done = through(f"[{{library: {{file: {library('c')}, function: {function}}}}}]", ["1.0"], [1.0])
    assert done.status == 1, done.text
    assert "conduit source.out -> sink.in: filter 1 (library)" in done.text and why in done.text, done.text


PYTHON_KNOWN = {
    "with a text": ("{function: my_filters:scale, with: \"0.5\"}", ["4.0", "5"], [[0, 1, 2], [1, None, 2.5]]),
    "of an array": ("my_filters:scale_array", ["np.arange(3)"], [[0, None, array("int64", [3], [0, 3, 6])]]),
    "lets some pass": ("my_filters:odd", ["1", "2", "3"], [[0, 1, 1], [2, None, 3]]),
    "many of one": ("my_filters:twice", ["7"], [[0, 0.5, 7], [0.5, 1, [7, {"again": True}]]]),
    "an object": ("my_filters:Total", ["1.0", "2.0"], [[1, None, 3]]),
    "an object with a text": ("{function: my_filters:Total, with: \"10\"}", ["1.0", "2.0"], [[1, None, 13]]),
}


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize("what", PYTHON_KNOWN)
def test_a_function_of_python_makes_of_known_messages_what_it_should(through, what, end):
    filters, values, expected = PYTHON_KNOWN[what]
    if what == "many of one":
        more = f"[{{block_after: 0.5}}, {{time_offset: 0}}, {{python: {filters}, at: {end}}}]"
        source = ["7", "8"]
        done = through(more.replace("block_after: 0.5", "every: 1"), source, [0.0, 1.0])
        assert done.status == 1 and "unsupported operand" in done.text, done.text
        return
    assert came(through(f"[{{python: {filters}, at: {end}}}]", values,
                        [float(i) for i in range(len(values))])) == expected


def test_a_generator_of_python_s_makes_many_messages_of_one(through):
    done = through("[{block_after: 0}, {expression: x}, {python: my_filters:twice, on_error: skip}]",
                   ["7.0", "8.0"], [0.0, 1.0])
    assert came(done) == []
    assert "unsupported operand" in (done.directory / "manager.log").read_text()
    done = through("[{python: my_filters:twice, on_error: skip}]", ["7.0", "8.0"], [0.0, 1.0])
    assert came(done) == [[0, 0.5, 7], [0.5, 1, [7, {"again": True}]]]


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_what_python_raises_ends_the_run_with_all_that_is_to_be_known(through, end):
    done = through(f"[{{python: my_filters:fails, at: {end}}}]", ["1.0", "2.0"], [0.0, 2.5])
    assert done.status == 1, done.text
    assert ("conduit source.out -> sink.in: filter 1 (python), message at time 2.5: ValueError: it is too "
            "late") in done.text, done.text
    assert "my_filters.py" in done.text, done.text


@pytest.mark.parametrize("gives, why", [
    ("'text'", "the function gave something of type str, and not a Message"),
    ("[message, 3]", "the function gave something of type int, and not a Message"),
    ("Message(0.0, None, object())", "cannot be sent by a filter"),
    ("Message(float('nan'), None, 1)", "it would make a message of time NaN, which is none"),
    ("Message(0.0, None, 1, settings={'a': 1})", "a message with settings"),
])
def test_what_a_function_of_python_may_not_give_ends_the_run(through, monkeypatch, gives, why):
    monkeypatch.setenv("GIVES", gives)
    done = through("[{python: my_filters:gives}]", ["1.0"], [0.0])
    assert done.status == 1, done.text
    assert ("conduit source.out -> sink.in: filter 1 (python), message at time "
            "0") in done.text and why in done.text, done.text


@pytest.mark.parametrize("function, why", [
    ("no_such_filters:f", "No module named 'no_such_filters'"),
    ("my_filters:no_such", "has no attribute 'no_such'"),
    ("my_filters:nothing", "is no function and no class"),
])
def test_a_function_that_is_not_there_ends_the_run_before_any_message(through, function, why):
    done = through(f"[{{python: \"{function}\"}}]", ["1.0"], [0.0])
    assert done.status == 1 and why in done.text, done.text
    assert "source.out -> sink.in: filter 1 (python)" in done.text, done.text


def test_a_filter_of_python_s_at_an_end_that_is_no_python_program_is_refused_by_name(run, python_program,
                                                                                     compile_c, tmp_path):
    (tmp_path / "my_filters.py").write_text(PYTHON)
    (tmp_path / "sink.c").write_text("""
#include <ligament.h>
#include <stdio.h>
int main(void) {
    const lig_port ports[] = {{LIG_S, "in"}};
    const lig_instance_options options = {.size = sizeof options, .ports = ports, .port_count = 1};
    lig_instance *instance;
    lig_error error;
    bool again = false;
    lig_message *message;
    double number;
    if (lig_instance_create(&options, &instance, &error) != LIG_OK) return fprintf(stderr, "%s\\n", error.message), 1;
    if (lig_reuse_instance(instance, &again, &error) != LIG_OK) return 2;
    if (lig_receive(instance, "in", NULL, &message, &error) != LIG_OK) return 3;
    lig_value_float(lig_message_value(message), &number, &error);
    printf("%g\\n", number);
    lig_message_free(message);
    lig_instance_free(instance);
}
""")
    source = python_program("source", SOURCE.replace("{times}", "[0.0]").replace("{values}", "[3.0]"))
    sink = f"{{executable: {compile_c(tmp_path / 'sink.c')}}}"
    own = 'python: {function: my_filters:scale, with: "2"}'
    done = run(chained(source, sink, f"[{{{own}}}]"))
    assert done.status == 1, done.text
    assert ("source.out -> sink.in: filter 1 (python): a filter of Python's runs in a Python "
            "program") in done.text, done.text
    done = run(chained(source, sink, f"[{{{own}, at: sender}}]"))
    assert done.status == 0, done.text
    assert (done.directory / "instances/sink/output.log").read_text() == "6\n"


@pytest.mark.parametrize("filters, expected", [
    ("[{python: halve}]", "names no function of Python's"),
    ("[{python: \"a b:c\"}]", "names no function of Python's"),
    ("[{library: f.so}]", "lacks \"function\""),
    ("[{library: {file: ./absent.so, function: f}}]", "there is no library"),
])
def test_check_finds_functions_that_cannot_be(ligament, tmp_path, filters, expected):
    program = f"{{executable: {sys.executable}}}"
    (tmp_path / "m.ymmsl").write_text(chained(program, program, filters))
    done = subprocess.run([ligament, "check", "m.ymmsl"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 2 and expected in done.stdout, done.stdout
