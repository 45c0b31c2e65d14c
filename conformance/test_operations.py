"""The table of operations: the page is what the table says, and each name is in the binding of its language."""

import re
import subprocess
from pathlib import Path

import pytest

import ligament
import operations

ROOT = Path(__file__).resolve().parent.parent
ROWS = [row for group in operations.groups() for row in group["operation"]]


def texts(*patterns):
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def c():
    symbols = subprocess.run(["nm", "-D", "--defined-only", ROOT / "target/release/libligament.so"], check=True,
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


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_an_operation_that_a_language_lacks_has_a_note(language):
    assert [row["what"] for row in ROWS if row[language] == "-" and "note" not in row] == []


def test_the_page_is_what_the_table_says():
    assert operations.PAGE.read_text() == operations.page(), "say conformance/operations.py --write"
