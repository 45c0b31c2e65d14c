"""The wheel, built once a session, and an environment that has it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from environment import Environment, build_wheel, pinned  # noqa: E402


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install(pinned("numpy"), wheel)
    return made
