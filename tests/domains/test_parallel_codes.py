"""The example with MPI, OpenMP, Java and Python over three domains: blood in one, cells in another."""

import pytest
from test_domains import spread  # noqa: F401
from example_models import Restenosis

PLACES = """ymmsl_version: v0.2
ligament:
  place:
    0: [geometry, drug, recorder]
    1: flow
    2: cells
"""


@pytest.fixture
def example(ligament, tmp_path, monkeypatch):
    for name, value in Restenosis.environment.items():
        monkeypatch.setenv(name, value)
    return Restenosis(tmp_path, ligament)


def test_restenosis_over_three_domains_gives_what_it_gives_on_one(example, spread, tmp_path):  # noqa: F811
    places = tmp_path / "places.ymmsl"
    places.write_text(PLACES)
    run = spread(example.model, str(places), *example.options)
    assert run.wait() == [0, 0, 0], run.text()
    domains = {instance["name"]: instance["domain"] for instance in run.record()["instances"]}
    assert domains == {"cells": 2, "geometry": 0, "flow": 1, "drug": 0, "recorder": 0}
    example.check(run.directory)
