"""Starters are tried with an installation, like that of a user."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings" / "c" / "tests"))
from fixtures import prefix  # noqa: E402, F401


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow: another compilation of what is compiled already; of the suite \"all starters\"")
