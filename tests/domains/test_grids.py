"""A grid whose blocks are in two domains gives the same numbers as one process."""

import sys
from pathlib import Path

import pytest
from test_domains import spread  # noqa: F401

GRID = Path(__file__).resolve().parents[1] / "grid"
sys.path.append(str(GRID))
import test_wave  # noqa: E402
import wave_model  # noqa: E402

BLOCK = [sys.executable, str(GRID / "block.py")]


@pytest.mark.parametrize("more", ["overcommit: true", "overcommit: true\n  budgets: {wave.ghosts_out: 100 kB}",
                                  "overcommit: true\n  filters: {wave.ghosts_out: [{compress: zstd}]}"])
def test_blocks_in_two_domains_are_those_of_one_process(spread, tmp_path, more):  # noqa: F811
    shape, edges = (30, 17, 9), ("periodic", "mirrored", "open")
    file = tmp_path / "wave.ymmsl"
    file.write_text(test_wave.model(BLOCK, tmp_path, shape, (2, 2, 1), edges, more=more))
    run = spread(file, "--on", "1=wave[0][0][0],wave[1][1][0]", "--on", "2=wave[0][1][0],wave[1][0][0]")
    assert run.wait() == [0, 0, 0], run.text()
    fields, _ = test_wave.assembled(tmp_path, shape, 4)
    assert all((one == other).all() for one, other in zip(fields, wave_model.alone(shape, edges, 6)))
