"""Wide-area links for programs that use paths: those of tests/network."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "network"))
import wan  # noqa: E402


@pytest.fixture
def wide_area(tmp_path):
    """Makes wide-area links as `wan.Wan` does; they are removed after the test."""
    reason = wan.no_wan()
    if reason:
        pytest.skip(reason)
    emulator, made = wan.build(tmp_path), []

    def make(**options):
        made.append(wan.Wan(emulator, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()
