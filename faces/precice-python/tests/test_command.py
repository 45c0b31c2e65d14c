"""`ligament convert` with configurations of preCICE: it finds the program of this package, and shows its model
and its messages. Files that are hostile or damaged are refused with a message."""

import json
import os
import random
import shutil
import subprocess
import sys

import pytest
from conftest import HERE, PATHS, ROOT
from precice import Error
from precice.configuration import MAX_DEPTH, MAX_ELEMENTS, MAX_FILE_BYTES, read
from precice.convert import main, model

OSCILLATOR = (HERE / "oscillator.xml").read_text().replace("ACCELERATION", "")
CONVERTER = f"""#!{sys.executable}
import sys
sys.path[:0] = {PATHS!r}
from precice.convert import main
sys.exit(main())
"""
COMMANDS = {"Left-Mass": "python3 mass.py --left 'a b'", "Right-Mass": "python3 mass.py"}
PROGRAMS = [word for name, command in COMMANDS.items() for word in ("--program", f"{name}={command}")]
VALUES = ["", "-", "1e999", "9" * 20, "NaN", "²"]
ENTITIES = '<!DOCTYPE precice-configuration [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;">\n]>\n'


def executable(path, text=CONVERTER):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(scope="session")
def alone(tmp_path_factory):
    """A copy of the command, beside which there is no other program."""
    found = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    assert found, "there is no command `ligament`; run `make build` first"
    return shutil.copy(found, tmp_path_factory.mktemp("alone") / "ligament")


@pytest.fixture
def ask(alone, tmp_path):
    """Asks `ligament` beside a configuration. The program of the package is alone on the search path."""
    command = tmp_path / "command" / "ligament"
    command.parent.mkdir()
    os.link(alone, command)
    executable(tmp_path / "bin" / "precice-to-ligament")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "precice-config.xml").write_text(OSCILLATOR)

    def ask(*words, status=0):
        done = subprocess.run([command, *map(str, words)], cwd=tmp_path / "here", stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": f"{tmp_path / 'bin'}:."})
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout, done.stderr

    ask.here, ask.bin, ask.beside = (tmp_path / name for name in ("here", "bin", "command"))
    return ask


def test_a_configuration_is_converted_and_checked(ask):
    made, said = ask("convert", "precice-config.xml", *PROGRAMS)
    assert made == model(read(ask.here / "precice-config.xml"), COMMANDS) and said == ""
    assert ask("convert", "precice-config.xml", "-o", "model.ymmsl", *PROGRAMS) == ("model.ymmsl\n", "")
    assert (ask.here / "model.ymmsl").read_text() == made
    checked, said = ask("check", "--elsewhere", "model.ymmsl")
    assert "error" not in checked + said
    several, _ = ask("convert", "precice-config.xml", "--samples", "4", *PROGRAMS)
    assert "precice_samples: 4" in several
    # The configuration is not replaced by its model.
    assert "made from" in ask("convert", "precice-config.xml", "-o", "./precice-config.xml", *PROGRAMS,
                              status=2)[1]


def test_a_name_like_an_option_is_that_of_a_file(ask):
    (ask.here / "precice-config.xml").rename(ask.here / "--samples=0.xml")
    assert "ymmsl_version" in ask("convert", *PROGRAMS, "--", "--samples=0.xml")[0]


def test_each_mistake_is_told_with_its_line(ask):
    text = OSCILLATOR.replace('<max-time value="1"/>', '<max-time value="-1"/>')
    text = text.replace('<exchange data="Left-Displacement"', '<exchange colour="é" data="Left-Displacement"')
    text = text.replace('<provide-mesh name="Right-Mesh"/>',
                        '<provide-mesh name="Right-Mesh"><x/></provide-mesh>')
    (ask.here / "wrong.xml").write_text(text)
    expected = {'"value" of <max-time>': '<max-time value="-1"', '"colour" of <exchange>': "colour=",
                "<x> in <provide-mesh>": "<x/>"}
    lines = {said: text[:text.index(what)].count("\n") + 1 for said, what in expected.items()}
    _, said = ask("convert", "wrong.xml", *PROGRAMS, status=2)
    for what, line in lines.items():
        assert any(one.startswith(f"wrong.xml:{line}: error: ") and what in one
                   and one.endswith("[bad-precice]") for one in said.splitlines()), said
    assert "3 errors; the model is not converted" in said
    told = json.loads(ask("convert", "--json", "./wrong.xml", *PROGRAMS, status=2)[0])
    assert not told["ok"]
    assert {(one["file"], one["line"]) for one in told["problems"]} == {("./wrong.xml", line)
                                                                        for line in lines.values()}


def test_a_warning_is_told_with_its_line(ask):
    text = OSCILLATOR.replace('<provide-mesh name="Left-Mesh"/>',
                              '<provide-mesh name="Left-Mesh"/><export:vtu directory="out"/>')
    (ask.here / "precice-config.xml").write_text(text)
    made, said = ask("convert", "precice-config.xml", *PROGRAMS)
    assert "precice-config.xml:15: warning: <export:vtu> is left out" in said and made
    told = json.loads(ask("convert", "--json", "precice-config.xml", *PROGRAMS)[0])
    assert told["ok"] and told["model"] == made
    assert [(one["severity"], one["line"]) for one in told["problems"]] == [("warning", 15)]


def test_a_participant_without_a_program_is_named(ask):
    _, said = ask("convert", "precice-config.xml", status=2)
    assert "say how Left-Mass and Right-Mass are started: --program 'Left-Mass=" in said


def test_options_for_configurations_are_refused_with_other_files(ask):
    for name, text in (("m.xml", "<model/>"), ("m.cxa.rb", "a = 1")):
        (ask.here / name).write_text(text)
        for option in (["--program", "a=b"], ["--samples", "2"]):
            assert "are for a configuration of preCICE" in ask("convert", name, *option, status=2)[1]


def test_a_configuration_in_the_place_of_a_model_is_known(ask):
    found = "\n".join(ask("check", "precice-config.xml", status=2))
    assert "a configuration of preCICE" in found and "ligament convert precice-config.xml" in found


def test_a_package_that_is_not_installed_is_asked_for(ask):
    (ask.bin / "precice-to-ligament").unlink()
    _, said = ask("convert", "precice-config.xml", *PROGRAMS, status=2)
    assert "install the package ligament-precice" in said and "(ligament explain converter-unusable)" in said
    told = json.loads(ask("convert", "--json", "precice-config.xml", *PROGRAMS, status=2)[0])
    assert told["code"] == "converter-unusable"
    # A relative directory of the search path is not searched.
    executable(ask.here / "precice-to-ligament")
    assert "there is no program" in ask("convert", "precice-config.xml", *PROGRAMS, status=2)[1]


def test_the_program_beside_the_command_comes_first(ask):
    executable(ask.bin / "precice-to-ligament", "#!/bin/sh\nexit 3\n")
    executable(ask.beside / "precice-to-ligament")
    assert "ymmsl_version" in ask("convert", "precice-config.xml", *PROGRAMS)[0]


@pytest.mark.parametrize("kind", ["directory", "no right", "link to nothing", "pipe"])
def test_what_is_no_program_is_not_run(ask, kind):
    place = ask.bin / "precice-to-ligament"
    place.unlink()
    if kind == "directory":
        place.mkdir()
    elif kind == "no right":
        place.write_text(CONVERTER)
        place.chmod(0o644)
    elif kind == "pipe":
        os.mkfifo(place, 0o755)
    else:
        place.symlink_to("nowhere")
    _, said = ask("convert", "precice-config.xml", *PROGRAMS, status=2)
    assert f"{place} is no file that can be executed" in said


@pytest.mark.parametrize("script, expected", [
    ("#!/nowhere/python\n", "cannot be started"),
    ("#!/bin/sh\necho hello\n", "has printed no model"),
    ("#!/bin/sh\nexit 3\n", "exit status: 3"),
    ("#!/bin/sh\nkill -9 $$\n", "signal: 9"),
    ("#!/bin/sh\necho ImportError: no numpy >&2; exit 1\n", "ImportError: no numpy"),
])
def test_a_program_that_fails_is_an_error(ask, script, expected):
    executable(ask.bin / "precice-to-ligament", script)
    _, said = ask("convert", "precice-config.xml", *PROGRAMS, status=2)
    assert expected in said


def nested(depth):
    return "<precice-configuration>" + "<a>" * depth + "</a>" * depth + "</precice-configuration>"


@pytest.mark.parametrize("content, expected", [
    (OSCILLATOR.replace("Left-Mass", "L\xe9ft").encode("latin-1"), ":14: this is no text in UTF-8"),
    (OSCILLATOR.encode("utf-16"), ":1: this is no text in UTF-8"),
    (OSCILLATOR.replace("<precice", ENTITIES + "<precice", 1).encode(), ":3: the file declares an entity"),
    (OSCILLATOR.replace("<precice", '<!DOCTYPE p SYSTEM "p.dtd">\n<precice', 1).replace(
        'value="1"', 'value="1&more;"').encode(), ":31: this entity is not declared"),
    (OSCILLATOR.replace('value="1"', 'value="&more;"').encode(), ":30: undefined entity"),
    (b"<precice-configuration>" + b" " * MAX_FILE_BYTES, "has more than 1 MiB"),
    (nested(100_000).encode(), f":1: <a> is in more than {MAX_DEPTH} elements"),
    (b"<precice-configuration>" + b"\n<a/>" * MAX_ELEMENTS, f":{MAX_ELEMENTS + 1}: the file has more than"),
    (OSCILLATOR.replace('value="50"', f'value="{"9" * 4000}"').encode(), ":32: \"value\" of <max-iterations>"),
    (b"<precice-configuration>\0</precice-configuration>", ":1: "),
    (b"", "no element found"),
])
def test_a_hostile_file_is_refused(tmp_path, content, expected):
    file = tmp_path / "config.xml"
    file.write_bytes(content)
    with pytest.raises(Error) as error:
        read(file)
    said = str(error.value)
    assert len(said) < 10_000 and "config.xml" in said and expected in said, said[:1000]


def test_what_is_no_file_is_refused(tmp_path, ask):
    os.mkfifo(tmp_path / "pipe")
    for path, expected in ((tmp_path, "no regular file"), (tmp_path / "pipe", "no regular file"),
                           (tmp_path / "nowhere", "No such file")):
        with pytest.raises(Error, match=f"{path.name} cannot be read: .*{expected}"):
            read(path)
        assert "cannot be read" in ask("convert", path, status=2)[1]
    (ask.here / "latin.xml").write_bytes(OSCILLATOR.replace("Left-Mass", "L\xe9ft").encode("latin-1"))
    assert "UTF-8" in ask("convert", "latin.xml", status=2)[1]


def test_a_document_type_without_entities_is_taken(tmp_path):
    file = tmp_path / "config.xml"
    text = OSCILLATOR.replace("<precice", '<!DOCTYPE precice-configuration SYSTEM "p.dtd">\n<precice', 1)
    file.write_text(text)
    assert read(file).settings["until"] == 1.0


def test_long_names_and_many_mistakes_stay_readable(tmp_path):
    file = tmp_path / "config.xml"
    names = ["x" * 500_000, *map(str, range(100))]
    wrong = "".join(f'<mesh name="{name}" dimensions="2"/>' for name in names)
    wrong += '<participant name="P">' + '<provide-mesh name="no"/>' * 2000 + "</participant>"
    file.write_text(f"<precice-configuration>{wrong}</precice-configuration>")
    with pytest.raises(Error) as error:
        read(file)
    assert max(map(len, str(error.value).splitlines())) < 1200


def test_changed_configurations_are_read_or_refused_without_another_error(tmp_path, capsys):
    dice = random.Random(5)
    file = tmp_path / "config.xml"
    names = [(HERE / name).read_text() for name in ("oscillator.xml", "heat.xml", "chain.xml")]
    for _ in range(400):
        text = dice.choice(names).replace("ACCELERATION", "")
        for _ in range(dice.randint(1, 3)):
            lines = text.splitlines()
            at, other = dice.randrange(len(lines)), dice.choice(lines)
            words = other.split()
            lines[at] = dice.choice([
                "", other, lines[at] + other, lines[at].replace('"', '"&#10;', 1),
                lines[at].replace('value="', f'value="{dice.choice(VALUES)}'),
                lines[at].replace(dice.choice(words) if words else "", dice.choice(words) if words else ""),
            ])
            text = "\n".join(lines)
        file.write_text(text)
        assert main([str(file), *(word for name in ("Left-Mass", "Right-Mass", "Dirichlet", "Neumann")
                                  for word in ("--program", f"{name}=x"))]) in (0, 1)
        capsys.readouterr()
