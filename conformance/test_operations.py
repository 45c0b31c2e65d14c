"""The table of operations: the page is what the table says, and each name is in the binding of its language."""

import json
import re
import subprocess

import pytest

import ligament
import operations
import programs
from programs import ROOT, TARGET

ROWS = [row for group in operations.groups() for row in group["operation"]]


def texts(*patterns):
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def c():
    symbols = subprocess.run(["nm", "-D", "--defined-only", TARGET / "libligament.so"], check=True,
                             capture_output=True, text=True).stdout
    return set(re.findall(r" T (lig_\w+)", symbols))


def cpp():
    return set(re.findall(r"(\w+)\(", texts("bindings/cpp/include/ligament/*.hpp")))


def fortran():
    source = re.sub(r"&\s*\n\s*", "", texts("bindings/fortran/src/parts/*.f90"))
    found = set(re.findall(r"(?:procedure|generic)[^:\n!]*::\s*(\w+)", source))
    return found | set(re.findall(r"^\s*(?:recursive )?subroutine (?:ligament_)?(\w+)", source, re.M))


def java():
    return set(re.findall(r"public [^=;{]*?(\w+)\(", texts("bindings/java/src/main/java/org/ligament/*.java")))


def python():
    found = set(dir(ligament)) | set(dir(ligament.Instance)) | set(dir(ligament.Message))
    return found


def rust():
    source = texts("crates/instance/src/**/*.rs")
    return set(re.findall(r"pub fn (\w+)", source)) | set(re.findall(r"^    pub (\w+):", source, re.M)) | {"Instance::new"}


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_every_name_is_in_the_binding(language):
    there = globals()[language]()
    assert [row["what"] for row in ROWS if row[language] != "-" and row[language] not in there] == []


def is_called(name, source):
    """Whether a source has a call of this name: of an object, or of a function; a member; or an object that is made."""
    if name == "create":
        name = "ligament_instance"  # which Fortran's users write for it
    calls = rf"[.%]{name}\b|\b(?:ligament_)?{name}(?:<[^<>]*>)?\s*[({{]|\b{name} \w+[;(]"
    return re.search(calls, source) is not None


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_every_operation_is_called_by_the_language_s_drivers(language):
    source = programs.sources(language)
    assert [row["what"] for row in ROWS if row[language] != "-" and not is_called(row[language], source)] == []
    assert not is_called("frobnicate", source)


MODEL = """ymmsl_version: v0.1
model:
  name: operations
  components:
    giver: {{implementation: giver, ports: {{o_i: [deal, plain], s: [back, nothing]}}}}
    taker: {{implementation: taker, ports: {{s: deal, o_i: back}}}}
    lone: {{implementation: lone}}
  conduits:
    giver.deal: taker.deal
    taker.back: giver.back
settings:
  ratio: 0.25
  count: 3
implementations:
{implementations}"""

SAID = """name giver
index 0
run 1
ports 2 2
connected 1 0
vector 1 0
resizable 1 0
length 2
setting 1
settings 2
first 0 1
came 5 1
overlay 0
into 3
nothing 0
any 0 7
"""


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_every_operation_does_in_every_language_what_it_does_in_the_others(language, tmp_path):
    command = programs.LANGUAGES[language]("operations", tmp_path)
    lines = [f"  {role}: {{executable: {json.dumps(command[0])}, args: {json.dumps([*command[1:], role])}}}\n"
             for role in ("giver", "taker", "lone")]
    (tmp_path / "model.ymmsl").write_text(MODEL.format(implementations="".join(lines)))
    run = subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet"], cwd=tmp_path,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "run/instances/giver/output.log").read_text() == SAID
    assert "said by the giver" in (tmp_path / "run/manager.log").read_text()


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_an_operation_that_a_language_lacks_has_a_note(language):
    assert [row["what"] for row in ROWS if row[language] == "-" and "note" not in row] == []


def test_the_page_is_what_the_table_says():
    assert operations.PAGE.read_text() == operations.page(), "say conformance/operations.py --write"
