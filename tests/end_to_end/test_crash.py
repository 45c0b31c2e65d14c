"""The report on an instance that crashes explains how to find the place."""

import sys

MODEL = """ymmsl_version: v0.1
model: {{name: crash, components: {{code: {{implementation: code}}}}}}
implementations: {{code: {code}}}
"""


def test_a_segmentation_fault_says_how_to_get_a_trace(run, python_program):
    code = python_program(
        "code", "import os, signal\ninstance = Instance()\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    done = run(MODEL.format(code=code), "--quiet")
    assert done.status == 1
    assert done.text.startswith("ligament: the run failed")
    debugger = f"-ex backtrace --args {sys.executable} {done.directory.parent}/code.py\n"
    for part in ["code crashed (SIGSEGV)", "--manual 'code'", "ligament join latest 'code' -- gdb -ex run",
                 debugger, "core file"]:
        assert part in done.text, done.text


def test_without_a_terminal_a_reason_is_told_once_and_the_log_has_it_too(run, python_program):
    code = python_program("code", "instance = Instance()\nraise ValueError('too hot')\n")
    done = run(MODEL.format(code=code))
    assert done.status == 1
    assert done.text.count("code reported an error") == 1, done.text
    assert "the run failed: code reported an error" in (done.directory / "manager.log").read_text()


def test_of_an_ordinary_failure_nothing_of_it_is_said(run, python_program):
    code = python_program("code", "instance = Instance()\nraise SystemExit(3)\n")
    assert "gdb" not in run(MODEL.format(code=code), "--quiet").text


def test_a_value_in_place_of_a_message_says_what_to_write(run, python_program):
    code = python_program("code", "instance = Instance({Operator.O_F: ['out']})\ninstance.reuse_instance()\n"
                                  "instance.send('out', 2.0)\n")
    done = run(MODEL.format(code=code).replace("{implementation: code}",
                                               "{implementation: code, ports: {o_f: out}}"), "--quiet")
    assert done.status == 1
    assert "TypeError: send() takes a Message, and a value of type float was given" in done.text, done.text
    assert 'send("out", Message(t, data=2.0))' in done.text, done.text
