"""The pace of a path holds in every language, over a link that could carry more."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ligament import path

HERE = Path(__file__).resolve().parent
PACE, BYTES = 2_000_000, 6_000_000
# Number of bytes that the streams may send at once, before their pace takes effect.
AT_ONCE = 1_000_000


@pytest.fixture(scope="module")
def commands(compile_c, compile_cpp):
    return {"c": [compile_c(HERE / "paced.c")], "cpp": [compile_cpp(HERE / "paced.cpp")],
            "python": [sys.executable, HERE / "paced.py"]}


def seconds(link, command, key, pace):
    """Returns the time that the message takes at this pace; 0 means no pace."""
    path.make_key(key)
    listens = link.b.start(sys.executable, HERE / "paced.py", key, f"{link.b.v4}:0", stdout=subprocess.PIPE,
                           text=True)
    port = int(listens.stdout.readline())
    begun = time.monotonic()
    opens = link.a.start(*command, key, f"{link.b.v4}:{port}", pace, BYTES, stderr=subprocess.PIPE, text=True)
    came, took = listens.stdout.readline(), time.monotonic() - begun
    assert came.strip() == str(BYTES), opens.communicate(timeout=60)
    assert opens.wait(60) == listens.wait(60) == 0
    return took


def test_a_pace_is_kept_in_each_language(wide_area, commands, tmp_path):
    link = wide_area(rtt=15, rate=200)
    for language, command in commands.items():
        paced, as_it_goes = (seconds(link, command, tmp_path / f"{language}-{pace}", pace) for pace in (PACE,
                                                                                                        0))
        # The link itself is not the reason for the long time.
        assert paced > (
            BYTES - AT_ONCE) / PACE and paced > as_it_goes, f"{language}: {paced:.1f} s, {as_it_goes:.1f} s"
