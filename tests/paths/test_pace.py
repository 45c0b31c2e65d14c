"""A path's pace is kept whatever language sets it, over a way that would carry more."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ligament import path

HERE = Path(__file__).resolve().parent
PACE, BYTES = 2_000_000, 6_000_000
# What the streams may send at once, before their pace counts.
AT_ONCE = 1_000_000


@pytest.fixture(scope="module")
def commands(compile_c, compile_cpp):
    return {"c": [compile_c(HERE / "paced.c")], "cpp": [compile_cpp(HERE / "paced.cpp")],
            "python": [sys.executable, HERE / "paced.py"]}


def seconds(link, command, key, pace):
    """How long the message takes at such a pace; 0 is none."""
    path.make_key(key)
    listens = link.b.start(sys.executable, HERE / "paced.py", key, f"{link.b.v4}:0", stdout=subprocess.PIPE, text=True)
    port = int(listens.stdout.readline())
    begun = time.monotonic()
    opens = link.a.start(*command, key, f"{link.b.v4}:{port}", pace, BYTES, stderr=subprocess.PIPE, text=True)
    came, took = listens.stdout.readline(), time.monotonic() - begun
    assert int(came) == BYTES, opens.communicate(timeout=60)
    assert opens.wait(60) == listens.wait(60) == 0
    return took


def test_a_pace_is_kept_in_each_language(wide_area, commands, tmp_path):
    link = wide_area(rtt=15, rate=200)
    for language, command in commands.items():
        took = seconds(link, command, tmp_path / language, PACE)
        assert took > (BYTES - AT_ONCE) / PACE, f"{language}: {took:.1f} s"
    # The way itself is not what takes so long.
    assert seconds(link, commands["python"], tmp_path / "none", 0) < (BYTES - AT_ONCE) / PACE
