"""The number of streams of a path follows from its round-trip time. If streams are stuck, new ones are opened
beside them."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from namespaces import connections

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "benchmarks"))
from lib.ligament import Ligament  # noqa: E402

SOURCE = Path(__file__).with_name("streams.c")
SIZES = [1, 20 << 10, 256 << 10, 3 << 20, 64, 9 << 20]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program for both ends, and a key."""
    absent = Ligament().missing()
    if absent:
        pytest.skip(absent[0])
    folder = tmp_path_factory.mktemp("streams")
    words = ["gcc", "-std=gnu11", "-O1", "-Wall", SOURCE, "-o", folder / "streams", *Ligament().flags()]
    subprocess.run(words, check=True)
    library = ctypes.CDLL(str(Ligament().library / "libligament.so"))
    assert library.lig_path_key_make(os.fsencode(folder / "key"), None) == 0
    return folder


class Ends:
    """Both ends of a path over a link, from `a` to `b`."""

    def __init__(self, program, link):
        self.link = link
        self.b = link.b.start(program / "streams", "b", link.b.v4, 7000, program / "key")
        self.a = link.a.start(program / "streams", "a", link.b.v4, 7000, program / "key", stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, bufsize=1)
        assert self.a.stdout.readline() == "connected\n"

    def say(self, size):
        self.a.stdin.write(f"{size}\n")
        self.a.stdin.flush()

    def exchange(self, sizes):
        """Sends messages there and back, one after the other."""
        for size in sizes:
            self.say(size)
            assert self.a.stdout.readline() == "the same\n"

    def end(self):
        self.a.stdin.close()
        assert self.a.wait(60) == 0 and self.b.wait(60) == 0

    def opened(self):
        """Returns the number of connections that `a` has opened since its start."""
        return self.link.a.counted("Tcp", "ActiveOpens")


def soon(so):
    """Waits until a condition holds."""
    until = time.monotonic() + 60
    while not so():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_long_way_has_many_streams_and_a_short_one_few_and_all_goes_through(wide_area, program):
    for rtt, least, most in ((1, 2, 8), (30, 65, 256)):
        found = []
        # If this machine delays the first round trip of a link, the link counts as long, however short it is.
        # Then another one is tried.
        for _ in range(4):
            link = wide_area(rtt=rtt)
            ends = Ends(program, link)
            soon(lambda: len(connections(link.a)) >= least)
            ends.exchange(SIZES)
            found.append(len(connections(link.a)))
            ends.end()
            if least <= found[-1] <= most:
                break
        else:
            raise AssertionError(f"streams over a way of {rtt} ms: {found}")


def test_where_segments_are_lost_everything_comes_whole_and_in_order(wide_area, program):
    ends = Ends(program, wide_area(rtt=30, loss=0.5))
    ends.exchange(SIZES)
    ends.end()


def test_streams_that_are_stuck_get_fresh_ones_beside_them_while_they_still_live(wide_area, program):
    link = wide_area(rtt=30)
    ends = Ends(program, link)
    soon(lambda: len(connections(link.a)) >= 65)
    ends.exchange([1 << 20])
    before = ends.opened()
    link.cut()
    ends.say(1 << 20)
    # A connection is tried repeatedly while no answer comes, long before the streams count as dead.
    soon(lambda: ends.opened() >= before + 2)
    assert ends.opened() < before + 64
    link.restore()
    assert ends.a.stdout.readline() == "the same\n"
    ends.exchange(SIZES)
    ends.end()


def test_over_a_link_that_is_down_every_few_seconds_everything_comes_whole_and_in_order(wide_area, program):
    ends = Ends(program, wide_area(rtt=40, rate=100, more=("--cut-every", "4:1")))
    ends.exchange([256 << 10] * 60)
    ends.end()


@pytest.mark.slow
def test_a_message_of_a_gibibyte_comes_back_the_same_over_a_link_that_loses_segments(wide_area, program):
    ends = Ends(program, wide_area(rtt=60, loss=0.01))
    ends.exchange([1 << 30, 64])
    ends.end()
