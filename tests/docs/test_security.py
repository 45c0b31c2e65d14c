"""The tests that SECURITY.md names exist, and its numbers are those of the code."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SECURITY = (ROOT / "SECURITY.md").read_text()
PROMISES = [line.strip().strip("|").split("|") for line in SECURITY.splitlines()
            if line.startswith("| ") and not line.startswith(("| ---", "| promise"))]


def places_of(name):
    """The files of the repository that a name in the column "tested by" stands for."""
    return list(ROOT.glob(name)) + [path for folder in ("crates",
                                                        "tests") for path in (ROOT / folder).rglob(name)
                                    if path.is_file()]


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise[0].strip()[:60])
def test_every_promise_names_tests_that_are_there(promise):
    _, tests = promise
    named = re.findall(r"`([^`]+)`", tests)
    assert named or "the same" in tests, f"no test is named: {tests}"
    fuzz = {name for part in re.findall(r"fuzz targets? ((?:`\w+`(?:, | and )?)+)", tests)
            for name in re.findall(r"`(\w+)`", part)}
    mutants = {name for part in re.findall(r"mutants? ((?:`[\w*-]+`(?:, | and )?)+)", tests)
               for name in re.findall(r"`([\w*-]+)`", part)}
    for name in fuzz:
        assert (ROOT / f"fuzz/fuzz_targets/{name}.rs").is_file(), name
    for name in mutants:
        assert list((ROOT / "tests/mutants").glob(f"{name}.patch")), name
    for name in set(named) - fuzz - mutants - {"rustls"}:
        assert places_of(name), name


def number(file, expression):
    """A number in a source, by an expression with one group."""
    return re.search(expression, (ROOT / file).read_text()).group(1)


def test_the_numbers_are_those_of_the_code(ligament):
    text = re.sub(r"\s+", " ", SECURITY)
    greeting = number("crates/net/src/tuning.rs", r"greeting: (\d+) \* second")
    assert f"and closes after {greeting} s" in text
    unknown = number("crates/net/src/admission.rs", r"MAX_UNIDENTIFIED_CONNECTIONS: usize = (\d+);")
    assert f"At most {unknown} connections wait" in text
    memory = number("crates/net/src/relay/server.rs", r"const MAX_PAIRS_BYTES: usize = (\d+) << 20;")
    assert f"whoever does not read: {memory} MiB" in text
    circuits = number("crates/net/src/relay/trunk/circuits.rs", r"const MAX_CIRCUITS: u32 = (\d+);")
    assert f"48 with {circuits} circuits" in text
    said = subprocess.run([ligament, "run", "--help"], capture_output=True, text=True, timeout=60,
                          check=True).stdout
    patience = re.search(r"--patience <TIME>.*?\[default: (\d+)s\]", said, re.S).group(1)
    assert f"dialled again for {patience} s by default (`--patience`)" in text
    domains = (ROOT / "docs/reference/domains.md").read_text()
    assert f"before the run is given up ({patience} s)" in domains
