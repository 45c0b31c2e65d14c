"""All cases pass from every language to every other language, in one model. The test prints the table of pairs.
"""

import json
import subprocess

import pytest

import referee
from programs import HERE, LANGUAGES, TARGET

@pytest.fixture(scope="module")
def verdict(driver, tmp_path_factory):
    folder = tmp_path_factory.mktemp("conformance")
    programs = {name: driver(name, "driver") for name in LANGUAGES}
    results = folder / "results.json"
    (folder / "model.ymmsl").write_text(referee.model(programs, HERE, results))
    run = subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet"], cwd=folder,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert run.returncode == 0, run.stdout
    return json.loads(results.read_text())


def table(verdict):
    """Returns a table with the number of cases that each pair has passed. A row belongs to a sender, and a
    column to a receiver."""
    rows = [f"{'from / to':>10}" + "".join(f"{name:>9}" for name in LANGUAGES)]
    for a in LANGUAGES:
        rows.append(f"{a:>10}" + "".join(f"{verdict['counts'][f'{a} {b}']:>9}" for b in LANGUAGES))
    return "\n".join([*rows, f"of {verdict['cases']} cases each"])


def test_every_pair_of_languages_passes_every_case(verdict, capsys):
    with capsys.disabled():
        print("\n" + table(verdict))
    assert verdict["wrong"] == []
    assert set(verdict["counts"].values()) == {verdict["cases"]}
    assert len(verdict["counts"]) == len(LANGUAGES) ** 2


def test_the_referee_sees_one_wrong_bit():
    import cases
    import numpy as np

    sent = cases.bits("float64", (3, 4))
    found = sent.copy()
    found.view(np.uint64)[1, 2] ^= 1
    assert referee.difference(found, sent) == "byte 48 of 96 differs, and 0 more"
    assert referee.difference(sent.copy(), sent) is None
    assert referee.difference([1, {"a": 2.0}], [1, {"a": 2}]) == "[1]: ['a']: 2.0 (float), not 2 (int)"
    assert referee.difference(-0.0, 0.0) is not None
    assert referee.difference(cases.PAYLOAD, float("nan")) is not None
