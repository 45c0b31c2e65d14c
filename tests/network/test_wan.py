"""The emulated wide-area link delays, loses and cuts, and a connection over it survives that."""

import re
import time


def test_a_round_trip_takes_as_long_as_was_asked_for(wide_area, plain):
    link = wide_area(rtt=40)
    plain(link.b, "echo", link.b.v4, 7000)
    client = plain(link.a, "talk", link.b.v4, 7000)
    assert client.line() == "connected"
    client.say("hello")
    text, seconds = client.line().split()
    assert text == "hello" and float(seconds) >= 0.04


def test_a_rate_holds(wide_area, transfer):
    link = wide_area(rtt=2, rate=100)
    assert transfer(link.a, link.b, link.b.v4, 8 << 20)["seconds"] > 0.9 * (8 << 20) * 8 / 100e6


def test_segments_are_lost_and_everything_arrives_all_the_same(wide_area, transfer):
    link = wide_area(rtt=10, loss=0.5)
    transfer(link.a, link.b, link.b.v4, 16 << 20)
    link.close()
    assert int(re.search(r"a->b: .*dropped: loss (\d+)", link.said()).group(1)) > 0


def test_a_cut_loses_what_is_under_way_and_the_connection_lives_on(wide_area, plain):
    link = wide_area(rtt=10)
    plain(link.b, "echo", link.b.v4, 7000)
    client = plain(link.a, "talk", link.b.v4, 7000)
    assert client.line() == "connected"
    again = link.a.counted("Tcp", "RetransSegs")
    link.cut()
    client.say("during")
    assert client.line(within=0.5) is None
    # The kernel does not retransmit a segment that still waits to be sent. So the emulator has taken this one,
    # and has lost it.
    until = time.monotonic() + 60
    while link.a.counted("Tcp", "RetransSegs") == again:
        assert time.monotonic() < until
        time.sleep(0.05)
    link.restore()
    assert client.line().startswith("during ")
    link.close()
    assert int(re.search(r"a->b: .* cut (\d+)\+", link.said()).group(1)) > 0
