"""Whole runs from a script: every call of an instance, as a user makes them."""

import time
from array import array

import numpy as np
import pytest

import ligament
from conftest import dialogue, drain, pipe, serve
from ligament import (
    Array,
    ClosedError,
    Instance,
    InstanceFlags,
    Message,
    Model,
    Operator,
    Settings,
    UsageError,
)
from values import DTYPES, PLAIN, array_of, same, shapes


def every_value():
    """Plain values, and arrays of every type and number of dimensions."""
    yield from PLAIN
    for dtype in DTYPES:
        for shape in shapes():
            yield array_of(dtype, shape)
    yield array_of("float64", (40, 50)).T
    yield array_of("float64", (40, 50))[::-2, 3:]
    yield Array(array_of("float32", (30, 40)), names=["x", "y"], unit="K")
    yield {"field": array_of("float64", (100, 100)), "step": 3, "tags": ["a", b"b" * 100]}


def test_values_of_every_type_come_back_as_they_were(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            for value in every_value():
                instance.send("question", Message(0.5, data=value))
                assert same(instance.receive("answer").data, value), value

    result = run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})
    assert result.state == "done"
    count = len(list(every_value()))
    assert result.instances["asker"].sent_messages == result.instances["asker"].received_messages == count


def test_what_the_sender_changes_after_send_is_never_seen(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            array = np.zeros(100_000)
            for i in range(20):
                array[:] = i
                instance.send("question", Message(float(i), data=array))
                array[:] = -1
            for i in range(20):
                assert instance.receive("answer").data == i

    def teller():
        instance = Instance()
        while instance.reuse_instance():
            kept = [instance.receive("question").data for _ in range(20)]
            for i, array in enumerate(kept):
                assert (array == i).all()
                instance.send("answer", Message(0.0, data=i))

    run_in(dialogue(), {"asker": asker, "teller": teller})


def test_views_that_are_kept_for_ever_stay_as_they_were(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            for i in range(300):
                instance.send("question", Message(0.0, data=np.full(10_000, i)))
                instance.receive("answer")

    def teller():
        kept = []
        instance = Instance()
        while instance.reuse_instance():
            for _ in range(300):
                kept.append(instance.receive("question").data)
                instance.send("answer", Message(0.0))
            assert all((array == i).all() for i, array in enumerate(kept))
        del instance
        assert all((array == i).all() for i, array in enumerate(kept)), "also after the instance is gone"

    run_in(dialogue(), {"asker": asker, "teller": teller})


def test_a_message_carries_its_times(run_in):
    def sender():
        instance = Instance({Operator.O_F: ["out"]})
        while instance.reuse_instance():
            instance.send("out", Message(1.5, 2.25, "x"))

    def receiver():
        instance = Instance({Operator.F_INIT: ["in"]})
        while instance.reuse_instance():
            message = instance.receive("in")
            assert (message.timestamp, message.next_timestamp, message.data) == (1.5, 2.25, "x")
            assert message.settings is None

    run_in(pipe(), {"sender": sender, "receiver": receiver})


def test_receive_into_fills_the_callers_array(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            for order in "CF":
                instance.send("question", Message(1.0, 2.0, array_of("float32", (30, 40))))
                into = np.zeros((30, 40), "float32", order=order)
                message = instance.receive_into("answer", into)
                assert message.data is into and message.timestamp == 1.0
                assert np.array_equal(into, array_of("float32", (30, 40)))
            instance.send("question", Message(0.0, data=np.zeros(3)))
            with pytest.raises(ligament.UnexpectedError, match="float64 with shape"):
                instance.receive_into("answer", np.zeros(4))
            # Any object with the buffer protocol can be received into, not only NumPy arrays.
            for into in [array("d", [0.0] * 3), memoryview(bytearray(24)).cast("d"),
                         Array(np.zeros(3), unit="K")]:
                instance.send("question", Message(0.0, data=np.arange(3.0)))
                assert instance.receive_into("answer", into).data is into
                assert np.array_equal(np.asarray(into), np.arange(3.0))
            read_only = np.zeros(3)
            read_only.flags.writeable = False
            for unfit in [read_only, np.zeros(6)[::2], [0.0] * 3]:
                with pytest.raises(UsageError):
                    instance.receive_into("answer", unfit)

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_an_array_that_is_not_what_was_expected_is_named_with_port_and_sender(run_in):
    def asker():
        instance = Instance(ranks=2, threads=3)
        while instance.reuse_instance():
            instance.send("question", Message(0.0, data=np.zeros((2, 3))))
            message = instance.receive("answer")
            assert message.array(dtype=float, shape=(None, 3)) is message.data
            words = r'float64 with shape \[2, 3\] came on port "answer" from teller\.answer, where an array'
            with pytest.raises(ligament.UnexpectedError, match=words + " of int32 was expected"):
                message.array(dtype="int32")
            with pytest.raises(ligament.UnexpectedError, match=words + " with 1 dimension was expected"):
                message.array(ndim=1)
            instance.send("question", Message(0.0, data="text"))
            words = (r'came on port "answer" from teller\.answer, where an array of float64 with shape \[4\] '
                     r'was expected')
            with pytest.raises(ligament.UnexpectedError, match="text " + words):
                instance.receive_into("answer", np.zeros(4))

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_an_exception_out_of_the_library_is_reported_with_the_line_of_the_code(run_in):
    def sender():
        instance = Instance()
        while instance.reuse_instance():
            instance.get_setting("absent", "int")

    def receiver():
        instance = Instance()
        while instance.reuse_instance():
            pass

    with pytest.raises(ligament.RunError, match=r"absent.* \(\S*test_run\.py:\d+, in sender\)"):
        run_in(pipe(), {"sender": sender, "receiver": receiver})


def test_large_arrays_come_whole_into_an_array_however_they_are_received(run_in):
    shape, count = (300, 1000), 60

    def field(i):
        return np.arange(300_000.0).reshape(shape) + i

    def sender():
        instance = Instance()
        while instance.reuse_instance():
            for i in range(count):
                instance.send("question", Message(float(i), data=field(i)))
                if i % 4 == 3:
                    time.sleep(0.003)  # the receiver sleeps meanwhile

    def receiver():
        instance = Instance()
        while instance.reuse_instance():
            into, other_order = np.zeros(shape), np.zeros(shape, order="F")
            for i in range(count):
                if i % 10 == 9:
                    assert np.array_equal(instance.receive("question").data, field(i)), i
                    continue
                array = other_order if i % 10 == 8 else into
                message = instance.receive_into("question", array, timeout=60.0 if i % 10 == 7 else None)
                assert np.array_equal(array, field(i)) and message.timestamp == i, i

    run_in(dialogue(), {"asker": sender, "teller": receiver})


def test_a_loan_is_filled_in_place_and_read_only_once_sent(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            for order in "CF":
                loan = instance.loan((200, 300), "float32", order)
                assert loan.array.shape == (200, 300) and loan.array.dtype == np.float32
                assert loan.array.flags.c_contiguous == (order == "C")
                loan.array[:] = array_of("float32", (200, 300))
                instance.send_loan("question", 1.0, 2.0, loan)
                assert loan.sent and not loan.array.flags.writeable
                with pytest.raises(UsageError, match="sent already"):
                    instance.send("question", Message(0.0, data=loan))
                assert np.array_equal(instance.receive("answer").data, array_of("float32", (200, 300)))
            loan = instance.loan(5, int)
            array = loan.array
            array[:] = range(5)
            instance.send("question", Message(0.0, data=loan))
            assert same(instance.receive("answer").data, np.arange(5))
            with pytest.raises(UsageError, match="float16"):
                instance.loan(5, "float16")
        del instance, loan
        assert array.sum() == 10, "a view of a loan can be read for as long as it lives"

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_loans_that_were_never_sent_go_back(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            array = instance.loan(100_000).array
            array[:] = 1
            for _ in range(50):
                instance.loan(100_000).array[:] = 2
            assert (array == 1).all(), "a loan lives as long as its array"
            addresses = {instance.loan(100_000).array.ctypes.data for _ in range(50)}
            assert len(addresses) < 10

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_a_wait_with_a_timeout_ends(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            began = time.monotonic()
            with pytest.raises(TimeoutError, match="answer"):
                instance.receive("answer", timeout=0.05)
            with pytest.raises(ligament.TimeoutError):
                instance.wait_any(["answer"], timeout=0)
            with pytest.raises(ligament.TimeoutError):
                instance.receive_any(["answer"], timeout=0.05)
            assert time.monotonic() - began >= 0.1
            assert not instance.poll("answer")
            with pytest.raises(UsageError, match="-1"):
                instance.receive("answer", timeout=-1)
            instance.send("question", Message(0.0, data=1))
            assert instance.wait_any(["answer"], timeout=60) == "answer"
            assert instance.poll("answer")
            assert instance.receive("answer", timeout=60).data == 1

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_receive_any_takes_whoever_comes_first_until_all_have_ended(run_in):
    model = Model("many")
    model.add("source", ports={"O_I": ["out"]}, multiplicity=3)
    model.add("sink", ports={"S": ["in"]})
    model.connect("source.out", "sink.in")

    def source():
        instance = Instance()
        while instance.reuse_instance():
            for i in range(10 * (1 + instance.index[0])):
                instance.send("out", Message(float(i), data=instance.index[0]))

    def sink():
        instance = Instance({Operator.S: ["in[]"]})
        while instance.reuse_instance():
            assert instance.is_vector_port("in") and instance.get_port_length("in") == 3
            seen = [0, 0, 0]
            slots = [("in", slot) for slot in range(3)]
            with pytest.raises(ClosedError, match="ended"):
                while True:
                    (_, slot), message = instance.receive_any(slots)
                    assert message.data == slot and message.timestamp == seen[slot]
                    seen[slot] += 1
            assert seen == [10, 20, 30]

    run_in(model, {"source": source, "sink": sink})


def test_vector_ports_reach_each_instance_by_its_slot(run_in):
    model = Model("ensemble")
    model.add("macro", ports={"O_I": ["start"], "S": ["result"]})
    model.add("micro", ports={"F_INIT": ["start"], "O_F": ["result"]}, multiplicity=4)
    model.connect("macro.start", "micro.start")
    model.connect("micro.result", "macro.result")

    def macro():
        instance = Instance({Operator.O_I: ["start[]"], Operator.S: ["result[]"]})
        while instance.reuse_instance():
            for step in range(3):
                for slot in range(instance.get_port_length("start")):
                    instance.send("start", Message(step, data=[step, slot]), slot)
                for slot in reversed(range(4)):
                    assert instance.receive("result", slot).data == [step, slot, f"micro[{slot}]"]
            with pytest.raises(UsageError, match="slots 0 to 3"):
                instance.send("start", Message(0.0), 4)
            with pytest.raises(UsageError, match="say which slot"):
                instance.receive("result")
            assert not instance.is_resizable("start")
            instance.set_port_length("start", 4)
            with pytest.raises(UsageError, match="has 4 slots"):
                instance.set_port_length("start", 5)

    def micro():
        instance = Instance({Operator.F_INIT: ["start"], Operator.O_F: ["result"]})
        while instance.reuse_instance():
            message = instance.receive("start")
            instance.send("result", Message(message.timestamp, data=[*message.data, instance.name]))

    result = run_in(model, {"macro": macro, "micro": micro})
    assert sorted(result.instances) == ["macro", *(f"micro[{i}]" for i in range(4))]
    assert all(result.instances[f"micro[{i}]"].iterations == 3 for i in range(4))


def test_settings_are_found_by_the_longest_name_and_of_the_wanted_type(run_in):
    def sender():
        instance = Instance()
        while instance.reuse_instance():
            assert instance.get_setting("x") == 2 and instance.get_setting("y", "int") == 3
            assert instance.get_setting("y", float) == 3.0
            assert type(instance.get_setting("y", "float")) is float
            assert instance.get_setting("grid", "[[float]]") == [[1.0, 2.0], [3.0]]
            assert instance.get_setting("flag", bool) is True
            assert instance.get_setting("none", default="d") == "d"
            with pytest.raises(KeyError, match="none"):
                instance.get_setting("none")
            with pytest.raises(TypeError, match="label"):
                instance.get_setting("label", "int")
            with pytest.raises(UsageError, match=r"\[float\]"):
                instance.get_setting("x", "double")
            assert {"x", "y", "label"} <= set(instance.list_settings())

    model = pipe()
    model.settings.update({"x": 1, "sender.x": 2, "y": 0, "label": "text", "grid": [[1.0, 2.0], [3.0]]})
    run_in(model, {"sender": sender, "receiver": drain}, settings={"y": 3, "flag": True})


def test_an_overlay_reaches_those_it_is_sent_to_and_goes_on_with_their_messages(run_in):
    model = Model("sweep")
    model.add("driver", ports={"O_I": ["settings"], "S": ["result"]})
    model.add("code", ports={"F_INIT": [], "O_F": ["result"]})
    model.connect("driver.settings", "code.muscle_settings_in")
    model.connect("code.result", "driver.result")
    model.settings["x"] = 0

    def driver():
        instance = Instance(flags=InstanceFlags.DONT_APPLY_OVERLAY)
        while instance.reuse_instance():
            for x in (1, 2, 3):
                instance.send("settings", Message(0.0, data=Settings({"x": x})))
                message = instance.receive_with_settings("result")
                assert message.data == x
                assert message.settings == {"x": x}

    def code():
        instance = Instance()
        while instance.reuse_instance():
            instance.send("result", Message(0.0, data=instance.get_setting("x", "int")))
            with pytest.raises(UsageError, match="was received already"):
                instance.receive_with_settings("muscle_settings_in")

    result = run_in(model, {"driver": driver, "code": code})
    assert result.instances["code"].iterations == 3


def test_a_balancer_passes_messages_on_under_the_settings_that_they_came_with(run_in):
    """Two members of an ensemble use one code through a component that serves both."""
    model = Model("ensemble")
    model.add("members", ports={"O_I": ["start"], "S": ["end"]})
    model.add("balancer", ports={"F_INIT": ["start"], "O_I": ["work"], "S": ["done"], "O_F": ["end"]})
    model.add("code", ports={"F_INIT": ["work"], "O_F": ["done"]})
    for sender, receiver in [("members.start", "balancer.start"), ("balancer.work", "code.work"),
                             ("code.done", "balancer.done"), ("balancer.end", "members.end")]:
        model.connect(sender, receiver)
    model.settings["x"] = 0

    def members():
        instance = Instance(flags=InstanceFlags.DONT_APPLY_OVERLAY)
        while instance.reuse_instance():
            for x in (5, 7, 5):
                data = "go" if x == 5 else instance.loan(1)
                instance.send("start", Message(float(x), data=data, settings=Settings({"x": x})))
                message = instance.receive_with_settings("end")
                assert (message.data, message.settings) == (x, {"x": x})

    def balancer():
        instance = Instance(flags=InstanceFlags.DONT_APPLY_OVERLAY)
        while instance.reuse_instance():
            instance.send("work", instance.receive_with_settings("start"))
            instance.send("end", instance.receive_with_settings("done"))

    def code():
        instance = Instance()
        while instance.reuse_instance():
            time = instance.receive("work").timestamp
            instance.send("done", Message(time, data=instance.get_setting("x", "int")))

    result = run_in(model, {"members": members, "balancer": balancer, "code": code})
    assert result.instances["code"].iterations == 3


def test_what_is_not_there_is_named(run_in):
    def sender():
        instance = Instance({Operator.O_F: ["out", "unused"]})
        while instance.reuse_instance():
            for call in [
                lambda: instance.send("uot", Message(0.0)),
                lambda: instance.receive("out"),
                lambda: instance.send("out", Message(0.0), 1),
                lambda: instance.receive("none"),
            ]:
                with pytest.raises(UsageError, match='port "'):
                    call()
            with pytest.raises(TypeError, match="type object"):
                instance.send("out", Message(0.0, data=object()))
            assert instance.is_connected("out") and not instance.is_connected("unused")
            instance.send("unused", Message(0.0, data="into nowhere"))
            assert instance.list_ports() == {Operator.O_F: ["out", "unused"]}
            instance.send("out", Message(0.0))
        assert instance.is_over
        with pytest.raises(UsageError, match="over"):
            instance.send("out", Message(0.0))

    def receiver():
        instance = Instance({Operator.F_INIT: ["in", "extra"]})
        while instance.reuse_instance():
            assert instance.receive("extra", default="nothing") == "nothing"
            assert instance.receive("in", default="nothing").data is None
            with pytest.raises(UsageError, match="no port"):
                instance.receive("none", default="nothing")

    model = Model("pipe")
    model.add("sender", ports={"O_F": ["out", "unused"]})
    model.add("receiver", ports={"F_INIT": ["in", "extra"]})
    model.connect("sender.out", "receiver.in")
    run_in(model, {"sender": sender, "receiver": receiver})
