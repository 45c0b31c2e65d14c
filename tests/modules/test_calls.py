"""The functions of a block in C and Fortran agree with the model and with the other blocks."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("source", ["calls.c", "calls.f90"])
@pytest.mark.parametrize("settings, why", [("count: 3, wanted: true", None),
                                           ("count: 4, wanted: true", "the count is another one"),
                                           ("count: 3", "the flag is not set"),
                                           ("count: 0", "count")])
def test_a_block_gives_parameters_and_the_numbers_of_all_blocks(run, model, shared_object, c_driver, tmp_path,
                                                                source, settings, why):
    made = shared_object(HERE / source, tmp_path / "calls.so")
    done = run(model([c_driver, made], settings=f"steps: 2, {settings}"))
    assert (done.status == 0) == (why is None), done.text
    assert why is None or why in done.text
