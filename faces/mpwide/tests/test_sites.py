"""Programs in MPWide's calls over a wide-area link, where each end gives the host of the other one, as MPWide's
users do."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests" / "network"))
import wan  # noqa: E402

LIMIT_S = 120
PORT = 16256


@pytest.fixture
def link(tmp_path):
    """A link with a round trip of 20 ms; it is removed after the test."""
    if reason := wan.no_wan():
        pytest.skip(reason)
    with wan.Wan(wan.build(tmp_path), rtt=20, rate=200) as made:
        yield made


def start(site, other, program, key, rounds):
    return site.start("env", f"LIGAMENT_MPWIDE_KEY={key}", program("sites"), other.v4, PORT, rounds,
                      stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, text=True)


def succeed(*processes):
    for process in processes:
        text, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, text


def test_ends_that_begin_together_find_each_other(link, program, key):
    for _ in range(3):
        succeed(start(link.a, link.b, program, key, 5), start(link.b, link.a, program, key, 5))


@pytest.mark.parametrize("first", ["a", "b"])
def test_an_end_waits_for_the_one_that_begins_later(link, program, key, first):
    early, late = (link.a, link.b) if first == "a" else (link.b, link.a)
    waits = start(early, late, program, key, 5)
    listens = f"ss -ltnH 'sport = :{PORT}'"
    until = time.monotonic() + LIMIT_S
    while str(PORT) not in early.run("sh", "-c", listens) and time.monotonic() < until:
        time.sleep(0.05)
    succeed(start(late, early, program, key, 5), waits)


def test_bytes_arrive_once_and_in_order_over_a_link_that_is_cut(link, program, key):
    ends = [start(link.a, link.b, program, key, 200), start(link.b, link.a, program, key, 200)]
    for end in ends:
        assert end.stdout.readline() == "connected\n"
    link.cut()
    assert [end.poll() for end in ends] == [None, None]
    link.restore()
    succeed(*ends)
