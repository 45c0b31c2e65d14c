"""Models in xMML 0.4: three files are made into model files, checked and run; files with mistakes are refused
with the line of each."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
MODELS = ["canals", "vessel", "weather"]


@pytest.fixture
def ask(ligament, tmp_path):
    """Asks `ligament`; gives standard output and standard error."""

    def ask(*words, status=0):
        done = subprocess.run(
            [ligament, *map(str, words)], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=120
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout, done.stderr

    return ask


@pytest.fixture
def made(ask, tmp_path):
    """A model file that was made from one of the files, with a code for all of its programs beside it."""

    def made(name):
        shutil.copy(HERE / "player.py", tmp_path)
        ask("convert", HERE / f"models/{name}.xmml", "-o", "model.ymmsl")
        return (tmp_path / "model.ymmsl").read_text()

    return made


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_read_checked_and_run(made, ask, tmp_path, name):
    made(name)
    checked, _ = ask("check", "model.ymmsl")
    assert "it can be run" in checked
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["state"] == "done"


def test_a_model_keeps_its_couplings_and_its_scales(made, tmp_path, ask):
    text = made("canals")
    for expected in [
        "      sea_1.flow_out: south.left_in\n", "s: [left_in, right_in]",
        "north: {time_step: 10 min, total_time: 1 yr, space_step: 1 m, extent: 2 km}",
        "south: {time_step: 10 min, total_time: 1 yr, space_step: 1 m, extent: 3 km}",
        "canals.north: {threads: 1}",
    ]:
        assert expected in text, expected
    topology = json.loads(ask("graph", "model.ymmsl", "--json")[0])["topology"]
    assert (len(topology["nodes"]), len(topology["links"])) == (7, 12)


def test_mappers_call_and_release(made):
    text = made("vessel")
    assert "ports: {f_init: [cells], o_f: [lumen, wall]}" in text
    assert ("tissue: {time_step: 1 h, total_time: 14 d, space_step: [30 um, 30 um], extent: [1 mm, 1 "
            "mm]}") in text
    assert "The slow scale: cells grow and divide." in text


def test_filters_do_what_they_did(made, ask, tmp_path):
    text = made("weather")
    assert "    station.rain -> field.rain:\n    - interpolate_space: 2\n" in text
    assert "    field.water -> archive.water:\n    - every: 2\n" in text
    ask("run", "--quiet", "model.ymmsl", "--run-dir", "run")
    assert (tmp_path / "run/instances/archive[1]/output.log").read_text().startswith("2 messages")


# Changes of a file, and the message for each.
MISTAKES = [
    ("canals", '<datatype id="double" size_estimate="8"/>', '<datatype size_estimate="8"/>',
     "<datatype> has no id"),
    ("canals", 'operator="S"', 'operator="T"', 'there is no operator "T"'),
    ("canals", '<in id="left_in" operator="S"', '<in id="left_in" operator="Oi"', "O_I sends"),
    ("canals", '<in id="left_in" operator="S"', '<in id="left_in"', "the port has no operator"),
    ("canals", '<in id="left_in" operator="S" datatype="double"/>',
     '<in id="left_in" operator="S" datatype="duoble"/>',
     'did you mean "double"?'),
    ("canals", 'id="junction"', 'id="1junction"', "it begins with a digit"),
    ("canals", '<instance id="south" submodel="reach"/>', '<instance id="south" submodel="raech"/>',
     'did you mean "reach"?'),
    ("canals", '<instance id="south" submodel="reach"/>', '<instance id="north" submodel="reach"/>',
     'there is an instance "north" already'),
    ("canals", '<instance id="south" submodel="reach"/>',
     '<instance id="south" submodel="reach" multiplicity="dynamic"/>',
     "a pool"),
    ("canals", '<instance id="south" submodel="reach"/>',
     '<instance id="south" submodel="reach" multiplicity="-2"/>',
     "no whole number above 0"),
    ("canals", '<coupling from="spring.flow_out" to="north.left_in"/>',
     '<coupling to="spring.flow_out" from="north.left_in"/>',
     "exchange from and to"),
    ("canals", 'to="middle.a_in"', 'to="middle.a_im"', 'did you mean "a_in"?'),
    ("canals", 'to="middle.a_in"', 'to="muddle.a_in"', 'did you mean "middle"?'),
    ("canals", 'to="middle.a_in"', 'to="middle"', "names no port"),
    ("canals", 'to="middle.b_in"', 'to="middle.a_in"', "two couplings lead to middle.a_in"),
    ("canals", "<coupling from=", "<couplin from=", "did you mean <coupling>?"),
    ("vessel", 'type="fan-out"', 'type="fan-up"', "there is no mapper of the type"),
    ("vessel", '<coupling from="drug.concentration" to="tissue.drug"/>',
     '<coupling from="shape.wall" to="tissue.drug"/>',
     "what is sent is"),
    ("weather", 'type="source"', 'type="spring"', "there is no terminal of the type"),
    ("weather", '<apply filter="seldom" factor="2"/>', '<apply filter="seldon" factor="2"/>',
     'did you mean "seldom"?'),
    ("weather", '<apply filter="seldom" factor="2"/>', '<apply filter="seldom" factor="0"/>',
     "no whole number above 0"),
    ("weather", 'type="reduction"', 'type="reducing"', "there is no filter of the type"),
]


@pytest.mark.parametrize("name, right, wrong, expected", MISTAKES)
def test_a_mistake_is_told_with_its_line(ask, tmp_path, name, right, wrong, expected):
    text = (HERE / f"models/{name}.xmml").read_text()
    at = text.index(right)
    line = text[:at].count("\n") + 1
    (tmp_path / "wrong.xmml").write_text(text[:at] + wrong + text[at + len(right):])
    _, said = ask("convert", "wrong.xmml", status=2)
    found = next((one for one in said.splitlines() if expected in one), said)
    assert expected in found and f"wrong.xmml:{line}:" in found, said
    assert "[bad-xmml]" in found


def test_all_mistakes_are_told_at_once(ask, tmp_path):
    text = (HERE / "models/canals.xmml").read_text()
    (tmp_path / "wrong.xmml").write_text(text.replace('operator="S"', 'operator="T"').replace('delta="10 min"',
                                                                                              'delta="ten"'))
    found = json.loads(ask("convert", "wrong.xmml", "--json", status=2)[0])["problems"]
    lines = {one["line"] for one in found}
    wrong = {number for number, line in enumerate(text.splitlines(),
                                                  1) if 'operator="S"' in line or 'delta="10 min"' in line}
    assert wrong <= lines


@pytest.mark.parametrize("text, expected", [
    ("", "no XML"),
    ("<model", "no XML"),
    ("<model id='a'><definitions></model>", "no XML"),
    ("<html/>", "this is <html>, and no <model>"),
    ("<model id='a' xmml_version='0.4'/>", "the model has no instances"),
    ('<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c '
     '"&b;&b;&b;&b;&b;&b;&b;&b;">'
     '<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;">'
     '<!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">]><model '
     'id="a"><description>&f;&f;&f;&f;</description></model>',
     "the file declares an entity"),
])
def test_what_is_no_model_is_refused(ask, tmp_path, text, expected):
    (tmp_path / "wrong.xmml").write_text(text)
    assert expected in ask("convert", "wrong.xmml", status=2)[1]


def test_a_file_that_is_not_there_is_refused(ask):
    assert "cannot be read" in ask("convert", "nowhere.xmml", status=2)[1]


SCALES = [('delta="10"', '"10" has no unit'), ('delta="10 m"', '"m" is no unit of time'),
          ('delta="0"', '"0" is not above 0'),
          ('delta="1E-6"', '"1E-6" has no unit'), ('delta="ten"', '"ten" begins with no number')]


@pytest.mark.parametrize("wrong, expected", SCALES)
def test_a_scale_that_a_model_cannot_have_is_left_out_with_a_warning(ask, tmp_path, wrong, expected):
    text = (HERE / "models/canals.xmml").read_text()
    (tmp_path / "wrong.xmml").write_text(text.replace('delta="10 min"', wrong, 1))
    shutil.copy(HERE / "player.py", tmp_path)
    _, said = ask("convert", "wrong.xmml", "-o", "model.ymmsl")
    assert f"warning: delta is left out: {expected}" in said
    assert "it can be run" in ask("check", "model.ymmsl")[0]
    assert "total_time: 1 yr" in (tmp_path / "model.ymmsl").read_text()


def test_a_file_that_would_expand_without_bound_is_refused_before_it_is_parsed(ask, tmp_path):
    layers = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
    head = '<model id="M" name="two" xmml_version="0.4" xmlns="http://www.mapper-project.eu/xmml">'
    (tmp_path / "entities.xmml").write_text(f'<!DOCTYPE model [<!ENTITY e0 "x">{layers}]>{head}&e9;</model>')
    assert "declares an entity" in ask("convert", "entities.xmml", status=2)[1]
    many = " ".join(f'a{i}="1"' for i in range(20_000))
    (tmp_path / "attributes.xmml").write_text(f"{head}<topology {many}/></model>")
    assert "an element has 20000 attributes" in ask("convert", "attributes.xmml", status=2)[1]
