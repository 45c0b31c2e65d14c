"""The fault matrix: every cell once, with a seed of the day, and the reading of the expected results."""

import importlib.machinery
import importlib.util
import os
import random
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def _load():
    """The program `run` beside this file has no ending, so it is loaded by its path."""
    loader = importlib.machinery.SourceFileLoader("fault_matrix", str(HERE / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fault_matrix", loader))
    loader.exec_module(module)
    return module


matrix = _load()
from cells import CELLS, FAULTS, MOMENTS, WHO, plan  # noqa: E402


@pytest.fixture(scope="session")
def results(tmp_path_factory, request):
    """The result of each chosen cell. All cells run before the first check, several at a time."""
    seed = int(os.environ.get("FAULTS_SEED", random.randrange(1 << 31)))
    items = [item for item in request.session.items if hasattr(item, "callspec")]
    chosen = {item.callspec.params.get("cell") for item in items}
    runner = matrix.Matrix(matrix.build(tmp_path_factory.mktemp("built")), keep=True)
    runs = [(cell, seed) for cell in CELLS if cell in chosen]
    return {one["cell"]: one for one in runner.all(runs, 2 * (os.cpu_count() or 1))}


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_a_run_ends_as_is_written_down(cell, results):
    result = results[str(cell)]
    if result["skipped"]:
        pytest.skip("needs memory groups, or mounts, that this user may make")
    problems = "\n".join(result["problems"])
    again = f"tests/faults/run --cell {cell} --seed {result['seed']}"
    assert not problems, f"{problems}\nrepeat it with: {again}"


def test_every_cell_has_an_expectation():
    expected = matrix.expectations()
    assert len(CELLS) == len(WHO) * len(FAULTS) * len(MOMENTS) == len(expected)
    assert all(one.why and one.states and one.exits for one in expected.values())


def test_a_seed_decides_everything():
    for cell in CELLS:
        assert plan(cell, 5, True, True) == plan(cell, 5, True, True)
    seen = [plan(CELLS[2], seed, True, True) for seed in range(20)]
    assert len({(one.victim, one.detail, one.step, one.size) for one in seen}) > 5
