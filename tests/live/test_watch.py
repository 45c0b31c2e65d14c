"""The run's own socket: its answers to viewers, and its reaction to viewers who ask too much."""

import json
import re
import socket
import struct
import time

PROTOCOL = int(
    re.search(r"PROTOCOL: u32 = (\d+)", (__import__("pages").HERE.parent.parent / "crates/wire/src/control.rs")
                         .read_text()).group(1))


def cbor(value):
    """Reads lists, texts and numbers below 65536, as RFC 8949 defines them."""
    def head(kind, n):
        return bytes([kind << 5 | n]) if n < 24 else bytes([kind << 5 | 25]) + struct.pack(">H", n)

    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    return head(4, len(value)) + b"".join(map(cbor, value))


class Watcher:
    """A client of the run's socket."""

    def __init__(self, place):
        record = place.record()
        address = record["agent"]
        self.token = (place.path / "run/token").read_text().strip()
        self.line = socket.socket(socket.AF_UNIX)
        self.line.settimeout(120)
        self.line.connect("\0" + address[1:] if address.startswith("@") else address)

    def sends(self, body):
        self.line.sendall(struct.pack("<II", len(body), 0) + body)

    def asks(self, every=100, token=None):
        self.sends(cbor([8, [PROTOCOL, token or self.token, [5, [every]]]]))

    def hears(self):
        """The answer: its kind, and its JSON or text."""
        length, _ = struct.unpack("<II", self.exactly(8))
        body = self.exactly(length)
        kind = body[1]
        return kind, body[body.index(b"{"):].decode() if kind == 10 else body.decode(errors="replace")

    def exactly(self, count):
        got = b""
        while len(got) < count:
            piece = self.line.recv(count - len(got))
            if not piece:
                raise EOFError
            got += piece
        return got

    def news(self, every=100):
        self.asks(every)
        kind, text = self.hears()
        assert kind == 10, text
        return json.loads(text)


def test_a_watcher_is_told_all_and_then_what_is_new_no_faster_than_it_asked(place):
    place.starts()
    watcher = Watcher(place)
    # The time is taken before the request for everything: the next answer is due from then on, however late it
    # is read.
    began = time.monotonic()
    whole = watcher.news()
    assert set(whole["instances"]) == {"0", "1"} and set(whole["conduits"]) == {"0", "1"} and whole["run"][
        "run"] == "run"
    pictures = [watcher.news(300)["picture"] for _ in range(3)]
    # The interval is a lower limit; a slow machine may take longer.
    assert time.monotonic() - began >= 0.85
    assert pictures == sorted(set(pictures))
    # A stopped run has no news.
    place.tells("hold")
    while {"instances", "conduits"} & set(watcher.news()):
        pass
    assert place.is_over()["state"] == "done"


def test_one_that_asks_and_does_not_read_costs_the_run_nothing_and_reads_no_old_news_for_long(place):
    place.starts()
    slow, began = Watcher(place), time.monotonic()
    for _ in range(500):
        slow.asks()
    quick = Watcher(place)
    for _ in range(5):
        newest = quick.news()
    # There are as many answers as were due, and not one for each request.
    due = 15 + int((time.monotonic() - began) / 0.1)
    heard = [json.loads(slow.hears()[1])]
    slow.line.settimeout(2)
    try:
        while len(heard) < due:
            heard.append(json.loads(slow.hears()[1]))
    except TimeoutError:
        pass
    assert len(heard) < min(due, 500) and heard[-1]["picture"] <= newest["picture"] + 20
    assert place.is_over()["state"] == "done"


def test_strangers_nonsense_and_too_many_are_refused_and_the_run_goes_on(place):
    place.starts()
    stranger = Watcher(place)
    stranger.asks(token="0" * 32)
    assert stranger.hears()[0] == 1
    for nonsense in (b"\xff" * 20, cbor([8, [PROTOCOL, "x"]]), cbor([99, []]), b""):
        one = Watcher(place)
        one.sends(nonsense)
        try:
            assert one.hears()[0] == 1
        except (EOFError, ConnectionResetError):
            pass
    many = [Watcher(place) for _ in range(33)]
    for one in many[:32]:
        one.news()
    many[32].asks()
    kind, text = many[32].hears()
    assert kind == 1 and "32 clients watch this run already" in text
    for one in many:
        one.line.close()
    assert place.is_over()["state"] == "done"
