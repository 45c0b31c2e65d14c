"""`ligament.testing.play`: a test drives one submodel."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from ligament import Array, ClosedError, Message, RunError, TimeoutError, UsageError
from ligament.testing import play

MICRO = """
import sys, time
import numpy as np
from ligament import Instance, Message, Operator

instance = Instance({Operator.F_INIT: ["start"], Operator.O_I: ["seen"], Operator.S: ["forced[]"],
                     Operator.O_F: ["end"]})
while instance.reuse_instance():
    start = instance.receive("start")
    if "crash" in sys.argv:
        print("no such tissue", file=sys.stderr)
        sys.exit(3)
    if "asleep" in sys.argv:
        time.sleep(600)
    total = 0.0
    if instance.is_connected("seen"):
        instance.send("seen", Message(start.timestamp, data={"level": start.data}))
        total += instance.receive("forced", slot=0).data
        for slot in range(1, instance.get_port_length("forced")):
            total += instance.receive("forced", slot=slot).data
    data = start.data * instance.get_setting("k", "float") + total
    instance.send("end", Message(start.timestamp, start.timestamp + 1, data))
    while "lingering" in sys.argv:
        time.sleep(1)
"""


@pytest.fixture
def temporary():
    """The directory for temporary directories. Its name is short, because the path of a socket must be short. A
    process of a test that was killed may still write into it."""
    # A process of a test that was killed may still write into it.
    with tempfile.TemporaryDirectory(prefix="p-", dir="/tmp", ignore_cleanup_errors=True) as place:
        yield Path(place)


@pytest.fixture
def micro(tmp_path, temporary, monkeypatch):
    (tmp_path / "micro.py").write_text(MICRO)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return {"f_init": ["start"], "o_f": ["end"], "settings": {"k": 2.0}}


def left(temporary):
    return sorted(path.name for path in temporary.iterdir())


def test_a_submodel_answers_as_often_as_it_is_asked_and_leaves_nothing(micro, temporary):
    with play("micro.py", **micro) as p:
        for i in range(3):
            p.send("start", Message(float(i), data=np.arange(4.0)))
            end = p.receive("end")
            assert (end.timestamp, end.next_timestamp) == (i, i + 1)
            assert np.array_equal(end.data, [0, 2, 4, 6])
    assert left(temporary) == []


def test_ports_of_every_operator_and_slots(micro):
    micro.update(o_i=["seen"], s=["forced[]"])
    with play([sys.executable, "micro.py"], **micro) as p:
        p.set_port_length("forced", 2)
        p.send("start", Message(0.0, data=1.0))
        assert p.receive("seen").data == {"level": 1.0}
        assert not p.poll("end")
        for slot in range(2):
            p.send("forced", Message(0.0, data=10.0 * slot), slot=slot)
        assert p.receive("end").data == 12.0


def test_two_submodels_at_once(micro):
    with play("micro.py", **micro) as one, play("micro.py", **{**micro, "settings": {"k": 3.0}}) as other:
        for p, answer in ((one, 2.0), (other, 3.0)):
            p.send("start", Message(0.0, data=1.0))
            assert p.receive("end").data == answer


def test_names_and_unit_of_an_array_go_there_and_back(tmp_path, monkeypatch):
    (tmp_path / "echo.py").write_text("""
from ligament import Instance, Operator
instance = Instance({Operator.F_INIT: ["a"], Operator.O_F: ["b"]})
while instance.reuse_instance():
    instance.send("b", instance.receive("a"))
""")
    monkeypatch.chdir(tmp_path)
    with play("echo.py", f_init=["a"], o_f=["b"]) as p:
        p.send("a", Message(0.0, data={"u": Array(np.ones((2, 3)), ["x", "y"], "K"), "n": None}))
        back = p.receive("b").data
    assert back["u"].names == ["x", "y"] and back["u"].unit == "K" and back["u"].shape == (2, 3)


def test_a_submodel_that_fails_ends_the_test_with_its_last_words(micro):
    with pytest.raises(RunError, match="no such tissue"):
        with play([sys.executable, "micro.py", "crash"], **micro) as p:
            p.send("start", Message(0.0, data=1.0))
            p.receive("end")


def test_an_answer_that_does_not_come_is_a_timeout_and_nothing_stays_behind(micro, temporary):
    with pytest.raises(TimeoutError, match="end"):
        with play([sys.executable, "micro.py", "asleep"], **micro) as p:
            p.send("start", Message(0.0, data=1.0))
            p.receive("end", timeout=0.5)
    assert running(temporary) == []
    assert len(left(temporary)) == 1


def test_a_submodel_that_does_not_end_is_ended(micro, temporary):
    with pytest.raises(TimeoutError, match="did not end within 1.0 s"):
        with play([sys.executable, "micro.py", "lingering"], timeout=1.0, **micro) as p:
            p.send("start", Message(0.0, data=1.0))
            p.receive("end", timeout=120)
    assert running(temporary) == []


def test_a_conduit_that_has_ended_is_closed(micro, tmp_path):
    (tmp_path / "once.py").write_text(MICRO.replace("    while \"lingering\"",
                                                    "    break\n    while \"lingering\""))
    with play("once.py", **micro) as p:
        p.send("start", Message(0.0, data=1.0))
        p.receive("end")
        with pytest.raises(ClosedError):
            p.receive("end")


def test_a_test_that_fails_keeps_its_run_and_says_where(micro, temporary, capsys):
    with pytest.raises(AssertionError):
        with play("micro.py", **micro) as p:
            p.send("start", Message(0.0, data=1.0))
            assert p.receive("end").data == 5.0
    assert "run directory: " in capsys.readouterr().err
    assert ((temporary / left(temporary)[0]) / "run" / "run.json").exists()
    assert running(temporary) == []


def test_a_wrong_port_is_an_error_that_names_it_and_the_test_may_go_on(micro):
    with play("micro.py", **micro) as p:
        with pytest.raises(UsageError, match="strat"):
            p.send("strat", Message(0.0, data=1.0))
        p.send("start", Message(0.0, data=1.0))
        assert p.receive("end").data == 2.0


def test_a_program_that_is_not_there_is_named(micro, temporary):
    with pytest.raises(RunError, match="there-is-none"):
        with play("./there-is-none", **micro):
            pass
    assert left(temporary) == []


@pytest.mark.parametrize("arguments", [{}, {"program": "micro.py", "manual": True},
                                       {"program": "micro.py", "f_init": "start"}])
def test_bad_arguments_are_refused(arguments):
    with pytest.raises(UsageError):
        play(**arguments)


def test_a_submodel_started_by_hand(micro, capsys, tmp_path):
    p = play(manual=True, run_dir=tmp_path / "run", **micro)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    by_hand = None
    with p:
        assert f"ligament join {tmp_path / 'run'} submodel -- PROGRAM" in capsys.readouterr().err
        words = ["ligament", "join", tmp_path / "run", "submodel", "--", sys.executable, tmp_path / "micro.py"]
        by_hand = subprocess.Popen(words, env=environment)
        p.send("start", Message(0.0, data=1.0))
        assert p.receive("end").data == 2.0
    assert by_hand.wait(60) == 0


def until(so):
    """Waits until a condition holds."""
    deadline = time.monotonic() + 60
    while not so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def running(folder):
    """The processes that work below a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "cwd").startswith(f"{folder}/"):
                found.append(process.name)
        except OSError:
            pass
    return found


def test_a_submodel_is_played_within_a_block_and_once(micro):
    p = play("micro.py", **micro)
    for use in (lambda: p.receive("end"), lambda: p.directory):
        with pytest.raises(UsageError, match="within a block"):
            use()
    with p:
        with pytest.raises(UsageError, match="once"):
            p.__enter__()
        p.send("start", Message(0.0, data=1.0))
        p.receive("end")
    with pytest.raises(UsageError, match="within a block"):
        p.receive("end")


def test_what_cannot_be_a_slot_is_refused_and_the_test_may_go_on(micro):
    with play("micro.py", **micro) as p:
        for slot in (-1, 2**70, "a"):
            with pytest.raises(UsageError):
                p.send("start", Message(0.0, data=1.0), slot=slot)
        p.send("start", Message(0.0, data=1.0))
        assert p.receive("end").data == 2.0


def test_two_threads_get_their_own_answers(micro):
    with play("micro.py", **micro) as p:
        polled = []
        looking = threading.Thread(target=lambda: polled.extend(p.poll("end") for _ in range(200)))
        looking.start()
        for i in range(50):
            p.send("start", Message(float(i), data=1.0))
            assert p.receive("end").timestamp == i
        looking.join()
    assert set(polled) <= {True, False}


KILLED = """
import sys, time
from ligament import Message
from ligament.testing import play
with play([sys.executable, "micro.py", "asleep"], f_init=["start"], o_f=["end"], settings={"k": 2.0}) as p:
    p.send("start", Message(0.0, data=1.0))
    print(p.directory, flush=True)
    WAIT
"""


@pytest.mark.parametrize("where", ['p.receive("end")', "time.sleep(600)"],
                         ids=["within a call", "between calls"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_test_that_is_killed_while_it_waits_leaves_no_process(micro, temporary, how, where):
    test = subprocess.Popen([sys.executable, "-c", KILLED.replace("WAIT", where)], stdout=subprocess.PIPE,
                            text=True,
                            env={**os.environ, "TMPDIR": str(temporary)})
    assert test.stdout.readline()
    until(lambda: running(temporary))
    test.send_signal(how)
    test.wait(60)
    until(lambda: running(temporary) == [])


def test_a_signal_while_the_block_ends_leaves_no_process(micro, temporary):
    def give_up(*_):
        raise KeyError("given up")

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        with pytest.raises(KeyError):
            with play([sys.executable, "micro.py", "lingering"], **micro) as p:
                p.send("start", Message(0.0, data=1.0))
                p.receive("end")
                signal.alarm(1)
        assert running(temporary) == []
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
