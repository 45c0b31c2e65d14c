"""The output of the commands: about runs, about instances that do not exist, and about nothing; colours;
completions."""

import json
import os
import shutil
import subprocess
import sys

import pytest

MODEL = """ymmsl_version: v0.1
model:
  name: pairs
  components:
    fox: {{implementation: fox, ports: {{o_f: out}}}}
    prey: {{implementation: prey, ports: {{f_init: in}}, multiplicity: 1}}
    hare: {{implementation: hare, multiplicity: 3}}
  conduits: {{fox.out: prey.in}}
implementations:
  fox: {fox}
  prey: {prey}
  hare: {hare}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory, ligament):
    """A directory with two runs: one that is done, and one that failed."""
    tmp_path = tmp_path_factory.mktemp("place")

    def python_program(name, body):
        (tmp_path / f"{name}.py").write_text("from ligament import *\n" + body)
        return f"{{executable: {sys.executable}, args: [{tmp_path / name}.py]}}"

    fox = """
instance = Instance({Operator.O_F: ["out[]"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data=1), slot=0)
    FAILS
"""
    prey = """
instance = Instance({Operator.F_INIT: ["in"]})
while instance.reuse_instance():
    print("heard", instance.receive("in").data)
"""
    hare = "instance = Instance()\nwhile instance.reuse_instance(): pass\n"
    for name, fails, status in [("good", "pass", 0), ("bad", "raise SystemExit(3)", 1)]:
        text = MODEL.format(fox=python_program(f"fox_{name}", fox.replace("FAILS", fails)),
                            prey=python_program("prey", prey), hare=python_program("hare", hare))
        (tmp_path / f"{name}.ymmsl").write_text(text)
        done = subprocess.run([ligament, "run", f"{name}.ymmsl", "--run-dir", f"runs/{name}", "--quiet"],
                              cwd=tmp_path)
        assert done.returncode == status

    def call(*words, status=0, **environment):
        done = subprocess.run([ligament, *words], cwd=tmp_path, capture_output=True, text=True,
                              env=os.environ | environment)
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout, done.stderr

    call.path = tmp_path
    return call


def test_runs_are_listed_with_when_how_long_and_how_they_ended(place):
    out, _ = place("runs")
    heading, good, bad = out.splitlines()
    assert heading.split() == ["name", "began", "(UTC)", "state", "took", "how", "it", "ended"]
    assert good.startswith("good") and " done " in good
    assert bad.startswith("bad") and " failed " in bad and "fox ended with exit status 3" in bad
    told = json.loads(place("runs", "--json")[0])["runs"]
    assert [(one["name"], one["state"]) for one in told] == [("good", "done"), ("bad", "failed")]
    assert all(one["duration"] > 0 and one["started"] for one in told)


def test_where_there_are_no_runs_that_is_said(place):
    out, error = place("runs", "elsewhere")
    assert out == "" and "there are no runs in elsewhere" in error


@pytest.mark.parametrize("words", [["logs", "runs/good", "prey"], ["peek", "runs/good", "prey"],
                                   ["logs", "prey"]])
def test_of_a_component_with_copies_the_copy_is_suggested(words, place):
    _, error = place(*words, status=2)
    assert 'has no instance "prey"; did you mean "prey[0]"?' in error


def test_of_several_copies_all_are_named(place):
    _, error = place("logs", "runs/good", "hare", status=2)
    assert 'did you mean one of "hare[0]", "hare[1]", "hare[2]"?' in error


def test_silence_says_that_there_is_nothing(place):
    out, error = place("logs", "runs/good", "fox")
    assert (out, error) == ("", "fox printed nothing\n")
    out, error = place("peek", "runs/good", "fox")
    assert (out, error) == ("", "its directory is empty\n")
    assert place("logs", "runs/good", "prey[0]") == ("heard 1\n", "")


def test_colours_are_only_where_they_are_wanted(place):
    words = ["profile", "runs/good", "-o", "profile.svg"]
    assert "\x1b[" not in place(*words)[0]
    assert "\x1b[" in place(*words, "--color", "always")[0]
    # The command line counts more than the environment.
    assert "\x1b[" in place(*words, "--color=always", NO_COLOR="1")[0]
    assert "\x1b[" not in place(*words, "--color", "never")[0]


def test_help_of_a_command(place):
    assert place("help", "run")[0] == place("run", "--help")[0]
    assert "  runs " in place("help")[0] and "  names " not in place("help")[0]


def test_shells_complete_the_names_of_runs_and_instances(place, ligament):
    assert place("names")[0].split() == ["bad", "good", "latest"]
    assert place("names", "good")[0].split() == ["fox", "hare[0]", "hare[1]", "hare[2]", "prey[0]"]
    script = place("completions", "bash")[0]
    (place.path / "complete").write_text(script)

    def complete(*words):
        """The completions that bash offers for the last word."""
        given = " ".join(f"'{word}'" for word in words)
        asks = f"source complete; COMP_WORDS=({given}); COMP_CWORD={len(words) - 1}; _ligament_names ligament '{words[-1]}' " \
               f"'{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        path = f"{os.path.dirname(ligament)}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", asks], cwd=place.path, capture_output=True, text=True,
                              env=os.environ | {"PATH": path})
        return done.stdout.split()

    assert complete("ligament", "status", "") == ["bad", "good", "latest"]
    assert complete("ligament", "logs", "-f", "g") == ["good"]
    assert complete("ligament", "logs", "good", "p") == ["prey[0]"]
    assert "status" in complete("ligament", "sta")
    assert "--json" in complete("ligament", "status", "--")


@pytest.mark.parametrize("shell, words", [("zsh", ":_ligament_runs'"),
                                          ("fish", "(ligament names 2>/dev/null)")])
def test_other_shells_ask_for_them_too(shell, words, place):
    script = place("completions", shell)[0]
    assert words in script
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=script, text=True, check=True)


def test_names_that_a_terminal_would_obey_are_shown_as_numbers(ligament, tmp_path):
    (tmp_path / "m.ymmsl").write_text(
        'ymmsl_version: v0.1\nmodel: {name: "a\\e[2J\\u202e\\r"}\nsettings: {"b\\e]0;x\\a": 1}\n')
    for words in (["check", "m.ymmsl"], ["run", "m.ymmsl"], ["graph", "m.ymmsl"], ["status", "no\x1b[2J\u202e"],
                  ["convert", "no\x1b[2J.xmml"], ["explain", "no\u2066"]):
        done = subprocess.run([ligament, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and done.stderr.strip()
        assert not any(c in done.stderr for c in "\x1b\x07\r\u202e\u2066"), (words, done.stderr)
        assert "\\u001b" in done.stderr or "\\u2066" in done.stderr, (words, done.stderr)


def test_a_model_time_below_zero_is_a_time(ligament, tmp_path):
    for words in (["latest", "D=1", "--at", "-5"], ["latest", "--until", "-5.5"]):
        done = subprocess.run([ligament, "steer", *words], cwd=tmp_path, capture_output=True, text=True,
                              timeout=60)
        assert "no-such-run" in done.stderr, done.stderr
