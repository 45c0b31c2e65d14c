"""Every block of code on every page is run, or says why not, and then is at least well formed and names what
exists.

A block is run if it is a file or a session of a page that is followed. Otherwise a comment before it says `in
part`, for what cannot stand by itself, or `run by` and the test that runs it.
"""

import ast
import re

import pytest
import yaml
from pages import FENCE, NAMED
from test_docs import FOLLOWED, PAGES, ROOT, name_of

CODE = {"c", "cmake", "console", "cpp", "fortran", "java", "make", "python", "rust", "sh", "toml", "yaml"}
MARK = re.compile(r"<!-- (in part|run by (\S+)) -->\Z")
HEADERS = "".join(
    path.read_text() for path in [*ROOT.glob("crates/capi/include/*.h"),
                                  *ROOT.glob("bindings/cpp/include/**/*.hpp"),
                                  *ROOT.glob("faces/*/include/**/*.h*")]
)
FORTRAN = "".join(path.read_text() for path in ROOT.glob("bindings/fortran/src/**/*.f90"))


def blocks(text):
    """Each block: its language, its contents, and the paragraph before it."""
    for match in FENCE.finditer(text):
        yield match.group(1), match.group(2), text[: match.start()].strip().rsplit("\n\n", 1)[-1]


def faults(language, code):
    """Returns the mistakes in a part of a program that can be seen without running it."""
    if language == "python":
        try:
            ast.parse(code)
        except SyntaxError as error:
            return [str(error)]
    if language == "yaml":
        try:
            yaml.safe_load(code)
        except yaml.YAMLError as error:
            return [str(error)]
    if language == "c":
        return [n for n in re.findall(r"\b(?:lig|LIG)_\w+", code) if not re.search(rf"\b{n}\b", HEADERS)]
    if language == "fortran":
        return [n for n in re.findall(r"\bligament_\w+", code, re.I) if not re.search(rf"\b{n}\b", FORTRAN,
                                                                                      re.I)]
    if language == "cpp":
        return [n for n in re.findall(r"(?:\.|::)(\w+)\(", code) if not re.search(rf"\b{n}\b", HEADERS)]
    return []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_code_is_run_or_says_why_not(page):
    wrong = []
    for language, code, before in blocks(page.read_text()):
        followed = page in FOLLOWED and (language == "console" or NAMED.match(before))
        if language not in CODE or followed:
            continue
        first = code.splitlines()[0]
        mark = MARK.search(before)
        if mark is None:
            wrong.append(f"nothing runs the block that begins with `{first}`; mark it, or make it a step")
        elif mark.group(2) and not (ROOT / mark.group(2)).is_file():
            wrong.append(f"there is no {mark.group(2)} to run the block that begins with `{first}`")
        wrong += [f"in the block that begins with `{first}`: {fault}" for fault in faults(language, code)]
    assert not wrong, "\n".join(wrong)


def test_a_block_with_a_name_that_does_not_exist_is_noticed():
    assert faults("c", "lig_snd(instance);") == ["lig_snd"]
    assert faults("cpp", 'instance.sned("port", 1);') == ["sned"]
    assert faults("fortran", "type(ligament_mesage) :: m") == ["ligament_mesage"]
    assert faults("python", "while True print()") and faults("yaml", "a: [b")
    assert not faults("c", "lig_send(instance);") and not faults("yaml", "a: [b]")
