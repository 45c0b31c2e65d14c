"""A grid whose blocks are in two domains gives the same numbers as one process."""

import itertools
import sys
from pathlib import Path

import pytest
from slow_cases import slow
from test_domains import spread  # noqa: F401

GRID = Path(__file__).resolve().parents[1] / "grid"
CANAL = Path(__file__).resolve().parents[2] / "examples/canal"
sys.path += [str(GRID), str(CANAL)]
import alone  # noqa: E402
import compilers  # noqa: E402
import numpy  # noqa: E402
import test_wave  # noqa: E402
import wave_model  # noqa: E402

BLOCK = [sys.executable, str(GRID / "block.py")]

TWO_DOMAINS = ("--on", "1={0}[0][0][0],{0}[1][1][0]", "--on", "2={0}[0][1][0],{0}[1][0][0]")
DUCT = """ymmsl_version: v0.2
models: {{m: {{components: {{duct: {{implementation: duct}}}}}}}}
programs: {{duct: {{executable: {program}}}}}
settings: {{t_max: 7.0, dt: 1.0, viscosity: 0.05, acceleration: 2.0e-4, noise: 0.01, overlap: {overlap},
           ghosts: {ghosts}}}
ligament:
  overcommit: true
  grids: {{duct: {{shape: [14, 9, 7], blocks: [2, 2, 1], periodic: [x]}}}}
"""


def on_domains(component):
    return [word.format(component) for word in TWO_DOMAINS]


@pytest.mark.parametrize("more", ["overcommit: true", "overcommit: true\n  budgets: {wave.ghosts_out: 100 kB}",
                                  "overcommit: true\n  filters: {wave.ghosts_out: [{compress: zstd}]}"])
def test_blocks_in_two_domains_are_those_of_one_process(spread, tmp_path, more):  # noqa: F811
    shape, edges = (30, 17, 9), ("periodic", "mirrored", "open")
    file = tmp_path / "wave.ymmsl"
    file.write_text(test_wave.model(BLOCK, tmp_path, shape, (2, 2, 1), edges, more=more))
    run = spread(file, *on_domains("wave"))
    assert run.wait() == [0, 0, 0], run.text()
    fields, _ = test_wave.assembled(tmp_path, shape, 4)
    assert all((one == other).all() for one, other in zip(fields, wave_model.alone(shape, edges, 6)))


@pytest.mark.parametrize("split, ghosts", [(True, 3), *slow((False, 1), (False, 3), (True, 1))])
def test_wide_ghosts_and_both_halves_of_an_exchange_do_too(spread, tmp_path, split, ghosts):  # noqa: F811
    shape, edges = (12, 17, 9), ("periodic", "periodic", "periodic")
    file = tmp_path / "wave.ymmsl"
    file.write_text(test_wave.model(BLOCK, tmp_path, shape, (2, 2, 1), edges, split=split, ghosts=ghosts))
    run = spread(file, *on_domains("wave"))
    assert run.wait() == [0, 0, 0], run.text()
    fields, _ = test_wave.assembled(tmp_path, shape, 4)
    for one, other in zip(fields, wave_model.alone(shape, edges, 6)):
        assert one.tobytes() == other.tobytes()


@pytest.fixture(scope="module")
def duct(tmp_path_factory):
    program = tmp_path_factory.mktemp("canal") / "duct"
    return compilers.compiled(["g++", "-std=c++17", *test_wave.EXACT], CANAL / "duct.cpp", program)


@pytest.mark.parametrize("overlap, ghosts", [("true", 2), *slow(("false", 1), ("false", 2), ("true", 1))])
def test_the_canal_in_two_domains_is_that_of_one_program(spread, tmp_path, duct, overlap, ghosts):  # noqa: F811
    file = tmp_path / "duct.ymmsl"
    file.write_text(DUCT.format(program=duct, overlap=overlap, ghosts=ghosts))
    run = spread(file, *on_domains("duct"))
    assert run.wait() == [0, 0, 0], run.text()
    expected = alone.simulate((14, 9, 7), 7, 0.05, 2e-4, 0.01)
    for number, (x, y) in enumerate(itertools.product(((0, 7), (7, 14)), ((0, 4), (4, 9)))):
        [part] = tmp_path.rglob(f"flow-{number}.npy")
        assert numpy.load(part).tobytes() == expected[slice(*x), slice(*y)].tobytes()
