"""Paths without a model, in Python."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ligament
from ligament import path

HERE = Path(__file__).parent
LONG = 60.0


@pytest.fixture
def pair(tmp_path):
    """Both ends of a path, connected."""
    made = []

    def make(**options):
        key = tmp_path / f"path{len(made)}.key"
        path.make_key(key)
        one = path.listen(key, "127.0.0.1:0", **options)
        other = path.open(key, one.addresses, **options)
        other.wait_connected(LONG)
        made.extend((one, other))
        return one, other

    yield make
    for end in made:
        end._core.free()


def test_a_key_is_its_owners_alone(tmp_path):
    path.make_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(ligament.UsageError, match="can be read or written by others"):
        path.listen(tmp_path / "key")
    with pytest.raises(ligament.UsageError, match="has 1 to"):
        (tmp_path / "key").chmod(0o600)
        path.open(tmp_path / "key", "127.0.0.1:1", streams=1000)


def test_arrays_go_and_come_without_a_copy_of_the_receivers(pair):
    one, other = pair()
    field = np.arange(300_000, dtype=np.float64).reshape(3, 100_000)
    one.send(field, LONG)
    came = np.frombuffer(other.receive(LONG)).reshape(3, -1)
    assert np.array_equal(came, field) and came.flags.writeable and not came.flags.owndata
    place = np.empty_like(field)
    other.send(b"")
    other.send(field)
    assert one.receive(LONG).nbytes == 0
    assert one.receive_into(place, LONG) == field.nbytes and np.array_equal(place, field)
    with pytest.raises(BufferError):
        one.send(field[:, ::2])
    with pytest.raises(BufferError):
        one.receive_into(b"not to be written", 0.1)


def test_lengths_are_known_beforehand_and_a_message_that_is_too_long_stays(pair):
    one, other = pair()
    one.send(bytes(100))
    assert other.probe(LONG) == 100
    with pytest.raises(ligament.UnexpectedError, match="has 100 bytes, and there is room for 10"):
        other.receive_into(bytearray(10), LONG)
    assert other.receive(LONG) == bytes(100)
    one.send(b"")
    assert other.receive_into(np.empty(0), LONG) == 0


def test_requests_are_asked_about_waited_for_and_given_up(pair):
    one, other = pair()
    large = np.random.default_rng(1).integers(0, 255, 8 << 20, np.uint8)
    wants = [other.ireceive(), other.ireceive()]
    assert not wants[0].test()
    sends = one.isend(large)
    assert np.array_equal(np.frombuffer(wants[0].wait(LONG), np.uint8), large)
    assert sends.wait(LONG) is None
    with pytest.raises(ligament.TimeoutError, match=r"within 0\.2 s"):
        wants[1].wait(0.2)
    wants[1].cancel()
    with pytest.raises(ligament.UsageError, match="no such request"):
        wants[1].test()
    place = bytearray(3)
    want = other.ireceive()
    one.send(b"abc")
    assert want.wait_into(place, LONG) == 3 and place == b"abc"


def test_both_send_at_once_and_meet_at_a_barrier(pair):
    one, other = pair()
    large = os.urandom(4 << 20)
    came = []

    def there():
        came.append(bytes(other.send_receive(large[::-1], LONG)))
        other.barrier(LONG)

    thread = threading.Thread(target=there)
    thread.start()
    assert one.send_receive(large, LONG) == large[::-1]
    one.barrier(LONG)
    thread.join()
    assert came == [large]
    now = one.statistics
    assert (now.sent, now.received, now.sent_bytes, now.connected) == (1, 1, len(large), True)


def test_a_message_is_sent_on_by_another_path(pair):
    (one, other), (third, fourth) = pair(), pair()
    one.send(b"on its way")
    assert path.cycle(other, third, LONG) == 10
    assert fourth.receive(LONG) == b"on its way"


def test_what_was_sent_arrives_before_the_end_is_told(pair):
    one, other = pair()
    for number in range(100):
        one.send(bytes([number]) * 1000)
    one.close(LONG)
    assert [other.receive(LONG)[0] for _ in range(100)] == list(range(100))
    with pytest.raises(ligament.ClosedError):
        other.receive(LONG)
    with pytest.raises(ligament.ClosedError):
        one.send(b"")
    other.close(LONG)


def test_options_that_cannot_be_are_refused(tmp_path):
    path.make_key(tmp_path / "key")
    for options in ({"patience": float("nan")}, {"patience": -1}, {"streams": -1}, {"streams": 70000},
                    {"window": -1},
                    {"pace": -1}):
        with pytest.raises(ligament.UsageError, match=str(*options.values())):
            path.open(tmp_path / "key", "127.0.0.1:1", **options)
    # A text is one file name, and not one for each of its letters.
    with pytest.raises(ligament.TransportError, match="no.relay: the relay's file cannot be read"):
        path.open(tmp_path / "key", relays=str(tmp_path / "no.relay"))


def test_a_key_that_is_there_is_not_replaced(tmp_path):
    path.make_key(tmp_path / "key")
    before = (tmp_path / "key").read_bytes()
    with pytest.raises(ligament.TransportError, match="already"):
        path.make_key(tmp_path / "key")
    assert (tmp_path / "key").read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_objects_are_not_sent_and_closing_twice_does_nothing(pair):
    one, other = pair()
    with pytest.raises(TypeError, match="objects"):
        one.send(np.array([object()], dtype=object))
    named = np.array([(1.5,)], dtype=[("Output", "f8")])
    one.send(named)
    assert bytes(other.receive(LONG)) == named.tobytes()
    with one:
        one.close(LONG)
    with pytest.raises(ligament.ClosedError):
        other.receive(LONG)


def test_a_request_may_end_with_what_uses_the_path(pair):
    one, other = pair()

    class Last(bytearray):
        def __del__(self):
            one.send(b"its last word")

    request = one.isend(Last(b"first"))
    request.wait(LONG)
    assert [bytes(other.receive(LONG)) for _ in range(2)] == [b"first", b"its last word"]


def test_a_child_of_a_fork_says_nothing_and_the_maker_goes_on(pair):
    one, other = pair()
    request = one.isend(b"before")
    child = os.fork()
    if child == 0:
        said = 1
        try:
            for call in (lambda: one.send(b"child"), lambda: one.receive(1.0), request.test,
                         lambda: one.close(1.0)):
                with pytest.raises(ligament.UsageError, match="fork"):
                    call()
            del request
            said = 0
        finally:
            one._core.free()
            os._exit(said)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    request.wait(LONG)
    one.send(b"after", LONG)
    assert [bytes(other.receive(LONG)) for _ in range(2)] == [b"before", b"after"]
    assert one.statistics.cuts == 0


def test_ctrl_c_ends_a_wait(tmp_path):
    key = tmp_path / "key"
    path.make_key(key)
    program = (
        "import sys; from ligament import path; one = path.listen(sys.argv[1]); print('waits', flush=True); "
               "one.receive()")
    waits = subprocess.Popen([sys.executable, "-c", program, key], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE,
                             text=True)
    assert waits.stdout.readline() == "waits\n"
    waits.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in waits.communicate(timeout=LONG)[1]


def test_the_program_of_the_guide_talks_over_a_path(tmp_path):
    key = tmp_path / "key"
    path.make_key(key)
    program = [sys.executable, HERE / "ping_pong.py"]
    listens = subprocess.Popen([*program, "listen", key, ":0"], stdout=subprocess.PIPE, text=True)
    port = listens.stdout.readline().strip()
    done = subprocess.run([*program, "open", key, f"127.0.0.1:{port}", "5", "100000"], capture_output=True,
                          text=True,
                          timeout=LONG, check=False)
    assert done.returncode == 0 and "5 x 100000 bytes" in done.stdout, done.stderr
    assert listens.wait(LONG) == 0


def test_ends_that_make_the_same_call_meet(tmp_path, pair):
    one, other = pair()
    address = one.addresses[0]
    other.close(LONG)
    one.close(LONG)
    path.make_key(tmp_path / "key")
    with path.meet(tmp_path / "key", address) as first, path.meet(tmp_path / "key", address) as second:
        assert first.addresses and not second.addresses
        second.set_pace(1_000_000)
        second.send(b"met", LONG)
        assert bytes(first.receive(LONG)) == b"met"
        second.set_pace(0)
        with pytest.raises(ligament.UsageError, match="number of bytes in a second"):
            second.set_pace(-1)
