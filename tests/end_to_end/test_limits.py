"""Limits of a run: the size of messages, the kept output of an instance, and the options that set them."""

import json
import subprocess

import pytest

PRINTER = """
instance = Instance({Operator.O_F: ["out"]})
while instance.reuse_instance():
    for i in range(200_000):
        print(f"line {i:010}")
    instance.send("out", Message(0.0))
"""

# A component that waits for the order to go on, and prints nothing.
WAITER = """
instance = Instance({Operator.F_INIT: ["in"]})
while instance.reuse_instance():
    instance.receive("in")
"""


def pair(first, second, more=""):
    return f"""ymmsl_version: v0.2
models:
  pair:
    description: Two
    components:
      a: {{description: Sends, implementation: a, ports: {{o_f: out}}}}
      b: {{description: Receives, implementation: b, ports: {{f_init: in}}}}
    conduits: {{a.out: b.in}}
programs:
  a: {first}
  b: {second}
{more}"""


def sends(size):
    return f"""
import numpy
instance = Instance({{Operator.O_F: ["out"]}})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data=numpy.zeros({size} // 8)))
"""


@pytest.mark.parametrize("where", ["message_size: 64 KiB", "message_sizes: {a.out: 64 KiB}",
                                   "--message-size=64KiB"])
def test_a_message_over_the_limit_ends_the_run_and_names_instance_port_size_and_limit(run, python_program,
where):
    more = "" if where.startswith("--") else f"ligament: {{{where}}}"
    arguments = [where] if not more else []
    model = pair(python_program("a", sends(100_000)), python_program("b", WAITER), more)
    done = run(model, *arguments)
    assert done.status == 1
    assert 'sending on port "out" of a: the message has 100' in done.text and "may have 65536" in done.text
    assert "(ligament explain message-too-large)" in done.text


def test_an_option_raises_what_the_model_allows(run, python_program):
    model = pair(python_program("a", sends(100_000)), python_program("b", WAITER),
                 "ligament: {message_size: 64 KiB}")
    done = run(model, "--message-size", "1MiB")
    assert done.status == 0, done.text


def test_of_too_much_output_the_first_and_the_last_lines_are_kept(run, ligament, python_program):
    model = pair(python_program("a", PRINTER), python_program("b", WAITER))
    done = run(model, "--output", "1MiB")
    assert done.status == 0, done.text
    file = done.directory / "instances/a/output.log"
    text = file.read_text()
    lines = text.splitlines()
    assert lines[0] == "line 0000000000" and lines[-1] == "line 0000199999"
    assert 1 << 19 <= len(text) <= 1 << 20 and "\0" not in text
    missing = [line for line in lines if line.startswith("[ligament:")]
    assert len(missing) == 1
    shown = subprocess.run([ligament, "logs", str(done.directory), "a"], capture_output=True, text=True,
                           check=True)
    assert shown.stdout == text


@pytest.mark.parametrize("option", ["--memory", "--budget", "--reader-pinned", "--message-size", "--log",
                                    "--output"])
def test_each_size_has_an_option_which_wants_a_size(ligament, tmp_path, option):
    asked = [ligament, "run", "none.ymmsl", option]
    refused = subprocess.run([*asked, "much"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2 and "such as 64MiB" in refused.stderr
    assert option in subprocess.run([ligament, "run", "--help"], capture_output=True, text=True).stdout
    for shell in ("bash", "zsh", "fish"):
        script = subprocess.run([ligament, "completions", shell], capture_output=True, text=True).stdout
        assert option.removeprefix("--") in script


def test_options_replace_what_the_model_says_and_stand_in_the_run_directory(run, python_program):
    model = pair(python_program("a", sends(8)), python_program("b", WAITER),
                 "ligament: {budget: 1 MiB, wait: spin}")
    done = run(model, "--budget=2MiB", "--wait=park", "--ignore=wait", "--instances=2", "--memory=64MiB",
               "--log=1MiB",
               "--reader-pinned=8MiB")
    assert done.status == 0, done.text
    resolved = (done.directory / "model.ymmsl").read_text()
    for line in ["budget: 2097152", "wait: park", "instances: 2", "memory: 67108864", "log: 1048576",
                 "reader_pinned: 8388608"]:
        assert line in resolved
    assert run(model, "--instances=1").status == 2


def test_a_failure_of_the_run_has_its_code_in_json(ligament, tmp_path, python_program):
    file = tmp_path / "model.ymmsl"
    file.write_text(pair(python_program("a", "raise SystemExit(3)"), python_program("b", WAITER)))
    done = subprocess.run([ligament, "run", "--json", str(file)], cwd=tmp_path, capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert (said["ok"], said["code"]) == (False, "exit-unregistered"), said


FILLER ="""
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
instance = Instance({Operator.O_F: ["out"]})
while instance.reuse_instance():
    with open("large", "wb") as large:
        os.truncate(large.fileno(), 2 << 40)
    instance.send("out", Message(0.0))
"""


@pytest.mark.parametrize("limit, said", [
    (4 << 10, "File too large"),
    (128 << 10, "raise that limit (ulimit -f) before the run"),
    (1 << 40, "a was ended by signal SIGXFSZ (its limit of file size was reached)"),
])
def test_a_limit_of_the_size_of_files_is_named_whoever_reaches_it(ligament, tmp_path, python_program, limit,
                                                                  said):
    (tmp_path / "model.ymmsl").write_text(pair(python_program("a", FILLER), python_program("b", WAITER)))
    done = subprocess.run(["prlimit", f"--fsize={limit}", ligament, "run", "model.ymmsl", "--run-dir", "run"],
                          cwd=tmp_path,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120)
    assert done.returncode in (1, 2) and said in done.stdout, f"{done.returncode}: {done.stdout}"
