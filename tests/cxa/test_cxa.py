"""cxa files of MUSCLE 2: files with every form are made into model files and checked, one is run; files with
mistakes are refused with the line of each."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def ask(ligament, tmp_path):
    """Asks `ligament`; gives standard output and standard error."""

    def ask(*words, status=0, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "MUSCLE_HOME"}
        done = subprocess.run(
            [ligament, *map(str, words)], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=120, env=environment | variables
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout, done.stderr

    return ask


def test_a_model_is_converted_and_checked(ask, tmp_path):
    made, said = ask("convert", HERE / "models/canal.cxa.rb")
    assert made == (HERE / "models/canal.ymmsl").read_text() and said == ""
    (tmp_path / "canal.ymmsl").write_text(made)
    checked, said = ask("check", "--elsewhere", "canal.ymmsl")
    assert "error" not in checked + said


@pytest.mark.parametrize("name, count", [("old", 2), ("languages", 5)])
def test_what_is_left_out_is_named_with_its_line(ask, tmp_path, name, count):
    made, said = ask("convert", HERE / f"models/{name}.cxa.rb", "-o", "model.ymmsl")
    assert made == "model.ymmsl\n"
    warnings = [line for line in said.splitlines() if f"{name}.cxa.rb:" in line and "warning" in line]
    assert len(warnings) == count and all("[bad-cxa]" in line for line in warnings), said
    checked, said = ask("check", "--elsewhere", "model.ymmsl")
    assert "error" not in checked + said


def test_the_environment_counts(ask):
    made, _ = ask("convert", HERE / "models/languages.cxa.rb", MUSCLE_HOME="/opt/muscle")
    assert "run('/opt/muscle/share/examples/receiver.m'); exit" in made
    made, _ = ask("convert", HERE / "models/canal.cxa.rb", CANAL_BIN="/opt/canal")
    assert 'executable: "/opt/canal/gate"' in made


# Codes of a model, and what each of them does.
CODES = {
    "w.py": "for step in range(4): instance.send('data_out', Message(step, None, np.full(2, step)))",
    "r.py": "while instance.has_next('data'): print(instance.receive('data').data.tolist())",
}


def test_a_model_is_run(ask, tmp_path):
    for name, work in CODES.items():
        (tmp_path / name).write_text("import numpy as np\nfrom ligament import Instance, Message\n"
                                     f"instance = Instance()\ninstance.reuse_instance()\n{work}\n"
                                     "instance.reuse_instance()\n")
    text = ("w = NativeInstance.new('w', 'python3', args: 'w.py')\n"
            "all = %w(r s).map { |name| NativeInstance.new(name, 'python3', args: 'r.py') }\n"
            "dup = Instance.new('dup', 'muscle.core.kernel.DuplicationMapper')\n"
            "w.couple(dup, 'data-out' => 'in')\n"
            "all.each_with_index { |one, i| dup.couple(one, \"out#{i}\" => 'data') unless i > 0 }\n"
            "dup.couple(all[1], { 'more' => 'data' }, ['multiply_0.5', 'drop_2'])\n")
    (tmp_path / "model.cxa.rb").write_text(text)
    ask("convert", "model.cxa.rb", "-o", "model.ymmsl")
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "run")
    of = {name: (tmp_path / f"run/instances/{name}/output.log").read_text() for name in "rs"}
    assert of["r"].split("\n")[:4] == ["[0, 0]", "[1, 1]", "[2, 2]", "[3, 3]"], of
    assert of["s"].split("\n")[:2] == ["[0.0, 0.0]", "[1.0, 1.0]"], of


def test_a_model_becomes_codes_that_run(ask, tmp_path):
    made, said = ask("new", "model", "first", "--from", HERE / "models/canal.cxa.rb", "--language", "python")
    codes = ["gate", "reach1", "reach2", "reach3"]
    assert sorted(path.stem for path in (tmp_path / "first").glob("*.py")) == codes
    assert all(f"  {code}.py\n" in made for code in codes), made
    # The gate takes a level in each step, and "drop_2" would leave steps without one.
    assert 'the filter "every" of "reach3.level -> gate.level" is left out' in said
    assert "mpi" not in (tmp_path / "first/model.ymmsl").read_text()
    ask("run", "--quiet", "first/model.ymmsl", "--run-dir", "run")
    record = json.loads((tmp_path / "run/run.json").read_text())
    sent = {one["name"]: one["sent_messages"] for one in record["instances"]}
    # Three steps each; the gate sends to both sinks.
    assert record["state"] == "done" and {code: sent[code] for code in codes} == dict.fromkeys(codes, 3) | {
        "gate": 6}, sent


def test_codes_have_the_language_that_the_file_shows(ask, tmp_path):
    made, said = ask("new", "model", "first", "--dry-run", "--language", "c", "--from",
                     HERE / "models/languages.cxa.rb")
    assert all(f"  {name}\n" in made for name in ("Java.java", "python.py", "matlab.c", "debugged.c")), made
    assert "languages.cxa.rb:" in said and not (tmp_path / "first").exists()
    _, said = ask("new", "model", "first", "--from", HERE / "models/languages.cxa.rb", status=2)
    assert "debugged, loose, matlab; give one with --language" in said


def test_no_codes_are_made_of_a_file_with_mistakes(ask, tmp_path):
    text = (HERE / "models/canal.cxa.rb").read_text().replace("split.couple(sink", "splt.couple(sink")
    (tmp_path / "wrong.cxa.rb").write_text(text)
    _, said = ask("new", "model", "first", "--from", "wrong.cxa.rb", "--language", "c", status=2)
    assert "wrong.cxa.rb:27:" in said and "nothing is made" in said and not (tmp_path / "first").exists()
    (tmp_path / "bytes.cxa.rb").write_bytes(b"a = '\xff\xfe'\n")
    assert "UTF-8" in ask("new", "model", "first", "--from", "bytes.cxa.rb", status=2)[1]
    (tmp_path / "p.xml").write_text("<precice-configuration/>")
    assert "ligament convert p.xml" in ask("new", "model", "first", "--from", "p.xml", status=2)[1]


@pytest.mark.parametrize("wrong, line, expected", [
    ("gate = MPIInstance.new('gate', )))", 17, "is expected"),
    ("splt.couple(sink, 'out1' => 'in')", 28, 'did you mean "split"?'),
    ("$env['cells'] = 2 ** 400", 34, "beyond whole numbers"),
    ("abort 'too slow'", 25, "too slow"),
    ("x = `date`", 33, "command of the shell"),
])
def test_a_mistake_is_told_with_its_line(ask, tmp_path, wrong, line, expected):
    lines = (HERE / "models/canal.cxa.rb").read_text().splitlines()
    lines[line - 1] = wrong
    (tmp_path / "wrong.cxa.rb").write_text("\n".join(lines) + "\n")
    _, said = ask("convert", "wrong.cxa.rb", status=2)
    assert any(f"wrong.cxa.rb:{line}:" in one and expected in one and "[bad-cxa]" in one
               for one in said.splitlines()), said
    problems = json.loads(ask("convert", "--json", "wrong.cxa.rb", status=2)[0])["problems"]
    assert line in {problem["line"] for problem in problems}


def test_what_is_no_text_or_endless_is_refused(ask, tmp_path):
    (tmp_path / "bytes.cxa.rb").write_bytes(b"a = '\xff\xfe'\n")
    assert "UTF-8" in ask("convert", "bytes.cxa.rb", status=2)[1]
    (tmp_path / "loop.cxa.rb").write_text("i = 0\nwhile true\n  i += 1\nend\n")
    assert "loop without an end" in ask("convert", "loop.cxa.rb", status=2)[1]
    (tmp_path / "long.cxa.rb").write_text("#" * 2_000_000)
    assert "are the most" in ask("convert", "long.cxa.rb", status=2)[1]
    assert "cannot be read" in ask("convert", "nowhere.cxa.rb", status=2)[1]


def test_a_cxa_file_in_the_place_of_a_model_is_known(ask, tmp_path):
    shutil.copy(HERE / "models/old.cxa.rb", tmp_path)
    found = "\n".join(ask("check", "old.cxa.rb", status=2))
    assert "ligament convert old.cxa.rb" in found
