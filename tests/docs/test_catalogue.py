"""Every error has a code where it is made. The tests of `crates/catalogue` hold the pages of errors against the
sources."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = sorted(
    path
    for folder in [*ROOT.glob("crates/*/src"), ROOT / "bindings/python/src"]
    for path in folder.rglob("*.rs")
    # Texts in a starter's files are not messages.
    if path.name != "tests.rs" and "starters" not in path.parts
)
# Finds errors that are bare texts, without a code.
BARE = re.compile(
    r"Result<(?:[^<>;{}]|<(?:[^<>]|<[^<>]*>)*>)*, (?:String|&'static str)>|\bErr\(format!|\bErr\(\"|"
    r"ok_or_else\(\|\| format!|map_err\(\|\w+\| format!"
)


def bare(source):
    """The places where an error is a bare text."""
    code = source.split("#[cfg(test)]\nmod tests {")[0]
    code = re.sub(r"^\s*//.*$", "", code, flags=re.M)
    return [match.group(0) for match in BARE.finditer(code)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_error_is_a_bare_text(path):
    assert not bare(path.read_text()), "give it a code: `errors!` or `fault!` of crates/catalogue"


def test_a_bare_text_is_noticed():
    assert bare('fn f() -> Result<Vec<(u32, String)>, String> { Err(format!("no")) }') == [
        "Result<Vec<(u32, String)>, String>",
        "Err(format!",
    ]
    assert not bare(
        "fn f() -> Result<String, Fault> {\n    // Err(format!\n}\n#[cfg(test)]\nmod tests {\n Err(\"\") }")


def test_every_code_of_a_problem_is_given_to_one():
    listed = re.findall(r'^    ([A-Z0-9_]+) "', (ROOT / "crates/catalogue/src/codes/checks.rs").read_text(),
                        re.M)
    used = {
        name
        for path in SOURCES
        if "catalogue" not in path.parts
        for name in re.findall(r"\bCode::([A-Z0-9_]+)\b", path.read_text())
    }
    assert len(listed) > 90 and not set(listed) - used
