"""The wheel, and an environment that has it."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from environment import ROOT, Environment, build_wheel, pinned  # noqa: E402


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel that `make build` has made for this machine. With `LIGAMENT_WHEEL=others`, as the long packages
    have it, that for older machines, whose build takes minutes."""
    if os.environ.get("LIGAMENT_WHEEL") == "others":
        return build_wheel(tmp_path_factory.mktemp("dist"))
    made = list((ROOT / "target/wheels").glob("*.whl"))
    assert len(made) == 1, "there is no wheel in target/wheels; run `make build` first"
    return made[0]


@pytest.fixture(scope="session")
def environment(wheel, tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("environment"))
    made.install(pinned("numpy"), wheel)
    return made
