"""Starters that are made from model files: each program becomes a code in the language that the file names, and
the whole runs."""

import json
import re
import shutil

import pytest
from test_new import ROOT, files, make, slow, user  # noqa: F401

XMML = ROOT / "tests/xmml/models"
CODES = {"c": "{}.c", "cpp": "{}.cpp", "fortran": "{}.f90", "python": "{}.py", "rust": "src/bin/{}.rs"}


def with_languages(text, languages):
    """Returns a file whose definitions have these languages, one after the other, in turns."""
    text = re.sub(r'<implementation language="python" code="player.py"( cores="\d+")?[^/]*/>',
                  "<IMPLEMENTATION/>", text)
    parts = text.split("<IMPLEMENTATION/>")
    out = parts[0]
    for number, part in enumerate(parts[1:]):
        out += f'<implementation language="{languages[number % len(languages)]}"/>' + part
    return out


@pytest.mark.parametrize("name, languages", [
    ("weather", ["C", "Java", "Fortran", "C++"]), ("canals", ["python"]),
    *slow(("canals", ["Fortran", "C", "Java", "C++"]), ("vessel", ["C++", "Python", "Fortran", "C"]),
          ("weather", ["rust"])),
])
def test_a_model_in_xmml_becomes_codes_in_its_languages_that_run(user, name, languages):  # noqa: F811
    (user.path / f"{name}.xmml").write_text(with_languages((XMML / f"{name}.xmml").read_text(), languages))
    made = user("ligament", "new", "model", "first", "--from", f"{name}.xmml")
    assert made.returncode == 0, made.stdout
    found = files(user.path / "first")
    assert {".gitignore", "Makefile", "README.md", "model.ymmsl"} < set(found)
    checked = user("ligament", "check", "--elsewhere", "model.ymmsl", directory="first")
    assert checked.returncode == 0, checked.stdout
    done = make(user, "first", "rust" if "rust" in languages else "")
    assert done.returncode == 0, done.stdout
    assert json.loads((user.path / "first/runs/latest/run.json").read_text())["state"] == "done"
    (user.path / "first/Cargo.lock").unlink(missing_ok=True)
    assert user("make", "clean", directory="first").returncode == 0
    assert files(user.path / "first") == found, "nothing is left that make clean does not know"


@pytest.mark.parametrize("language", ["c", "python", *slow("cpp", "fortran")])
def test_all_kinds_of_ports_and_slots_are_gone_through(user, language):  # noqa: F811
    (user.path / "m.ymmsl").write_text(ALL_PORTS)
    made = user("ligament", "new", "model", "first", "--from", "m.ymmsl", "--language", language)
    assert made.returncode == 0, made.stdout
    assert CODES[language].format("macro") in files(user.path / "first")
    done = make(user, "first", language)
    assert done.returncode == 0, done.stdout
    conduits = json.loads((user.path / "first/runs/latest/run.json").read_text())["instances"]
    sent = {one["name"]: one["sent_messages"] for one in conduits}
    # The macro model makes three steps with two calls each. Each of the micro models answers all of its own
    # calls.
    assert sent["macro"] == 3 * 2 + 3 + 1 and sent["micro[0]"] == sent["micro[1]"] == 3, sent


ALL_PORTS = """ymmsl_version: v0.2
models:
  m:
    description: A macro model that calls two and is listened to
    components:
      macro: {description: "Calls \\"all\\" */ of them", ports: {o_i: [call, show], s: answer, o_f: end}, implementation: macro}
      micro: {ports: {f_init: start, o_f: end}, implementation: micro, multiplicity: 2}
      listener: {ports: {s: shown}, implementation: listener}
      after: {ports: {f_init: start}, implementation: after}
    conduits:
      macro.call: micro.start
      micro.end: macro.answer
      macro.show: listener.shown
      macro.end: after.start
programs:
  macro: {description: "Calls \\"all\\" */ of them", executable: ./macro}
  micro: {executable: ./micro}
  listener: {executable: ./listener}
  after: {executable: ./after}
"""


def test_nothing_is_written_in_a_dry_run(user):  # noqa: F811
    shutil.copy(XMML / "vessel.xmml", user.path)
    done = user("ligament", "new", "model", "first", "--from", "vessel.xmml", "--dry-run")
    assert done.returncode == 0 and ("first would "
                                     "have") in done.stdout and "  tissue.py\n" in done.stdout, done.stdout
    assert files(user.path) == ["vessel.xmml"]


def test_what_is_there_is_not_overwritten(user):  # noqa: F811
    shutil.copy(XMML / "vessel.xmml", user.path)
    (user.path / "first").mkdir()
    (user.path / "first/mine").write_text("mine")
    for more in ([], ["--dry-run"]):
        done = user("ligament", "new", "model", "first", "--from", "vessel.xmml", *more)
        assert done.returncode == 2 and "first is there already" in done.stdout, done.stdout
    assert files(user.path / "first") == ["mine"]


@pytest.mark.parametrize("change, expected", [
    (('language="python" code="player.py"', 'language="cobol"'), "give one with --language"),
    (('operator="S"', 'operator="T"'), 'there is no operator "T"'),
    (("</model>", ""), "this is no XML"),
    (('id="shape"', 'id="2shape"'), "it begins with a digit"),
])
def test_a_model_that_no_code_can_be_made_of_is_refused(user, change, expected):  # noqa: F811
    (user.path / "m.xmml").write_text((XMML / "vessel.xmml").read_text().replace(*change))
    done = user("ligament", "new", "model", "first", "--from", "m.xmml")
    assert done.returncode == 2 and expected in done.stdout, done.stdout
    assert "(ligament explain starter-not-made)" in done.stdout
    assert files(user.path) == ["m.xmml"]


def test_a_file_that_is_not_there_is_refused(user):  # noqa: F811
    done = user("ligament", "new", "model", "first", "--from", "nowhere.xmml")
    assert done.returncode == 2 and "nowhere.xmml" in done.stdout, done.stdout


STUDY = """ymmsl_version: v0.2
models:
  sampled:
    components:
      study: {ports: {o_i: settings, s: results}, implementation: study}
      growth: {ports: {o_f: size}, implementation: growth, multiplicity: 2}
      chief: {ports: {o_i: chosen}, implementation: chief}
      helper: {implementation: helper}
    conduits:
      study.settings: growth.muscle_settings_in
      growth.size: study.results
      chief.chosen: helper.muscle_settings_in
programs:
  study: {executable: ligament, args: study}
  growth: {executable: python3, args: growth.py}
  chief: {executable: python3, args: chief.py}
  helper: {executable: python3, args: helper.py}
settings: {study.sampler: grid, study.parameters: rate = 0.0 .. 1.0, study.grid: [3]}
"""


def test_a_study_stays_one_and_no_skeleton_sends_settings(user):  # noqa: F811
    (user.path / "sampled.ymmsl").write_text(STUDY)
    made = user("ligament", "new", "model", "first", "--from", "sampled.ymmsl")
    assert made.returncode == 0, made.stdout
    assert re.search(r'"chief.chosen -> helper.muscle_settings_in" is left out', made.stdout), made.stdout
    assert "study.py" not in files(user.path / "first")
    done = make(user, "first", "python")
    assert done.returncode == 0, done.stdout
    results = user.path / "first/runs/latest/instances/study/workdir/results.csv"
    assert len(results.read_text().splitlines()) == 1 + 3


def test_a_model_is_not_replaced_by_what_is_made_from_it(user):  # noqa: F811
    shutil.copy(XMML / "weather.xmml", user.path)
    before = (user.path / "weather.xmml").read_text()
    done = user("ligament", "convert", "weather.xmml", "-o", "./weather.xmml")
    assert done.returncode == 2 and "made from" in done.stdout, done.stdout
    assert (user.path / "weather.xmml").read_text() == before
