"""The mutants fit the code, and name the fault and the tests that must notice it. `tests/mutants/run` runs
them."""

import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PATCHES = sorted(HERE.glob("*.patch"))


def test_there_are_ten_mutants_and_more():
    assert len(PATCHES) >= 10


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_mutant_applies_to_the_code(patch):
    check = ["git", "apply", "--check", "--verbose", str(patch)]
    result = subprocess.run(check, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, (f"{result.stderr}\nbring {patch.name} up to date with the code that it "
                                    f"breaks")


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_mutant_says_what_it_breaks_and_who_must_notice(patch):
    first, second = patch.read_text().splitlines()[:2]
    assert first.endswith(".")
    named = re.fullmatch(r"Caught by: (.+)", second)
    assert named, second
    assert set(named.group(1).split(", ")) <= {
        "simulation", "domains", "path", "net", "carrier", "unit", "ways", "wire", "instance", "analysis",
        "manager", "filters", "files", "loom", "surface", "cuts", "runtime", "grid",
        "checkpoint"}
