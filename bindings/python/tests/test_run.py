"""Whole runs from a script: every call of an instance, as a user makes them."""

import logging
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import ligament
from conftest import dialogue, pipe
from ligament import (
    Array,
    ClosedError,
    Instance,
    InstanceFlags,
    LogLevel,
    Message,
    Model,
    ModelError,
    Operator,
    RunError,
    Settings,
    Submodel,
    UsageError,
    run_submodel,
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


def serve(answer):
    """The function of a `teller` that answers each question with `answer(data)`."""

    def teller():
        instance = Instance({Operator.S: ["question"], Operator.O_I: ["answer"]})
        while instance.reuse_instance():
            while True:
                try:
                    question = instance.receive("question")
                except ClosedError:
                    break
                instance.send("answer", Message(question.timestamp, data=answer(question.data)))

    return teller


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
            read_only = np.zeros(3)
            read_only.flags.writeable = False
            for unfit in [read_only, np.zeros(6)[::2], [0.0] * 3]:
                with pytest.raises(UsageError):
                    instance.receive_into("answer", unfit)

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


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


def drain():
    """A component that takes what comes."""
    instance = Instance()
    while instance.reuse_instance():
        pass


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
            with pytest.raises(UsageError, match="DONT_APPLY_OVERLAY"):
                instance.receive_with_settings("muscle_settings_in")

    result = run_in(model, {"driver": driver, "code": code})
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
            with pytest.raises(UsageError, match="settings"):
                instance.send("out", Message(0.0, settings=Settings()))
            assert instance.is_connected("out") and not instance.is_connected("unused")
            instance.send("unused", Message(0.0, data="into nowhere"))
            assert instance.list_ports() == {Operator.O_F: ["out", "unused"]}
        assert instance.is_over
        with pytest.raises(UsageError, match="over"):
            instance.send("out", Message(0.0))

    def receiver():
        instance = Instance({Operator.F_INIT: ["in", "extra"]})
        while instance.reuse_instance():
            assert instance.receive("extra", default="nothing") == "nothing"

    model = Model("pipe")
    model.add("sender", ports={"O_F": ["out", "unused"]})
    model.add("receiver", ports={"F_INIT": ["in", "extra"]})
    model.connect("sender.out", "receiver.in")
    run_in(model, {"sender": sender, "receiver": receiver})


def test_an_exception_in_a_component_ends_the_run_with_its_text_first(run_in):
    def sender():
        instance = Instance()
        print(instance, "is about to fail")
        raise ValueError("the mesh is tangled")

    with pytest.raises(RunError) as caught:
        run_in(pipe(), {"sender": sender, "receiver": drain})
    first = str(caught.value).splitlines()[0]
    assert first.startswith("sender ") and "ValueError: the mesh is tangled" in first
    assert "test_run.py" in first
    result = caught.value.result
    assert result.state == "failed" and result.failed == "sender"
    assert "is about to fail" in result.output("sender")
    assert "Traceback" in result.output("sender")


def test_a_component_that_exits_with_a_status_fails_the_run(run_in):
    def sender():
        sys.exit(3)

    with pytest.raises(RunError, match="sender"):
        run_in(pipe(), {"sender": sender, "receiver": drain})


def test_a_component_that_is_killed_fails_the_run(run_in):
    def sender():
        Instance()
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(RunError, match="SIGKILL") as caught:
        run_in(pipe(), {"sender": sender, "receiver": drain})
    assert caught.value.result.failed == "sender"


def test_error_shutdown_ends_the_run_with_the_reason(run_in):
    def sender():
        instance = Instance()
        instance.error_shutdown("no convergence after 100 steps")

    with pytest.raises(RunError, match="no convergence after 100 steps"):
        run_in(pipe(), {"sender": sender, "receiver": drain})


def test_a_block_that_raises_ends_the_run_and_one_that_does_not_signs_off(run_in):
    def sender():
        with Instance() as instance:
            instance.send("out", Message(0.0))
        assert instance.is_over
        with pytest.raises(ZeroDivisionError):
            with Instance():
                pass

    def failing():
        with Instance() as instance:
            instance.send("out", Message(0.0))
            1 / 0

    with pytest.raises(RunError, match="ZeroDivisionError: division by zero"):
        run_in(pipe(), {"sender": failing, "receiver": drain})


def test_ctrl_c_in_a_component_is_felt_while_it_waits(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            with pytest.raises(KeyboardInterrupt):
                interrupt_soon(instance)
                instance.receive("answer")
            # The instance can go on after that.
            instance.send("question", Message(0.0, data=5))
            assert instance.receive("answer").data == 5

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def interrupt_soon(instance):
    """Sends this process SIGINT once its main thread sleeps in the system."""
    main = os.getpid()

    def sleeps() -> bool:
        with open(f"/proc/self/task/{main}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "S"

    def interrupt():
        while not sleeps():
            os.sched_yield()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()


def test_a_signal_handlers_own_exception_comes_out_of_the_wait(run_in):
    class Enough(Exception):
        pass

    def handler(number, frame):
        raise Enough

    def asker():
        signal.signal(signal.SIGINT, handler)
        instance = Instance()
        while instance.reuse_instance():
            with pytest.raises(Enough):
                interrupt_soon(instance)
                instance.wait_any(["answer"])

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_other_threads_go_on_while_one_waits(run_in):
    def asker():
        instance = Instance()
        while instance.reuse_instance():
            refused = []

            def work():
                # The main thread waits in receive(), and lets go of the interpreter and not of the instance.
                while True:
                    try:
                        instance.poll("answer")
                    except UsageError as error:
                        refused.append(str(error))
                        break
                os.kill(os.getpid(), signal.SIGUSR1)

            signal.signal(signal.SIGUSR1, lambda number, frame: (_ for _ in ()).throw(InterruptedError))
            threading.Thread(target=work).start()
            with pytest.raises((InterruptedError, UsageError)):
                while True:
                    try:
                        instance.receive("answer", timeout=30)
                    except UsageError:
                        if refused:
                            raise
            assert "another thread" in refused[0]

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_pythons_logging_goes_to_the_runs_log(run_in):
    def sender():
        instance = Instance()
        logging.getLogger("mesh").warning("cell %d is flat", 7)
        logging.getLogger("mesh").debug("not this")
        instance.log(LogLevel.ERROR, "said directly")
        while instance.reuse_instance():
            pass

    result = run_in(pipe(), {"sender": sender, "receiver": drain})
    assert "sender: mesh: cell 7 is flat" in result.log
    assert "said directly" in result.log
    assert "not this" not in result.log


def test_a_formal_submodel_is_driven_through_its_operators(run_in):
    class Counter(Submodel):
        def __init__(self):
            self.calls = []

        def initialise(self, instance):
            self.steps = instance.receive("in").data
            self.calls.append("initialise")

        def is_done(self):
            return self.steps == 0

        def observe(self, instance):
            self.calls.append("observe")

        def solve(self, instance):
            self.steps -= 1
            self.calls.append("solve")

        def observe_final(self, instance):
            self.calls.append("observe_final")
            assert self.calls == ["initialise", *["observe", "solve"] * 3, "observe_final"] * (len(self.calls) // 8)

    def sender():
        instance = Instance({Operator.O_I: ["out"]})
        while instance.reuse_instance():
            instance.send("out", Message(0.0, data=3))
            instance.send("out", Message(1.0, data=3))

    def receiver():
        run_submodel(Instance({Operator.F_INIT: ["in"]}), Counter())

    model = Model("formal")
    model.add("sender", ports={"O_I": ["out"]})
    model.add("receiver", ports={"F_INIT": ["in"]})
    model.connect("sender.out", "receiver.in")
    result = run_in(model, {"sender": sender, "receiver": receiver})
    assert result.instances["receiver"].iterations == 2


def test_functions_and_programs_take_part_in_one_run(run_in, tmp_path):
    program = tmp_path / "doubler.py"
    program.write_text(
        "from ligament import *\n"
        "instance = Instance({Operator.F_INIT: ['in'], Operator.O_F: ['out']})\n"
        "while instance.reuse_instance():\n"
        "    message = instance.receive('in')\n"
        "    instance.send('out', Message(message.timestamp, data=2 * message.data))\n"
    )
    model = Model("mixed")
    model.add("macro", ports={"O_I": ["out"], "S": ["in"]})
    model.add("doubler", program=[sys.executable, program], ports={"F_INIT": ["in"], "O_F": ["out"]})
    model.connect("macro.out", "doubler.in")
    model.connect("doubler.out", "macro.in")

    def macro():
        instance = Instance()
        while instance.reuse_instance():
            for i in range(5):
                instance.send("out", Message(float(i), data=np.arange(i + 1)))
                assert same(instance.receive("in").data, 2 * np.arange(i + 1))

    assert run_in(model, {"macro": macro}).state == "done"


def test_an_uncaught_exception_in_a_program_is_the_runs_reason(run_in, tmp_path):
    program = tmp_path / "failing.py"
    program.write_text("import ligament\ninstance = ligament.Instance()\nraise LookupError('no such isotope')\n")
    model = Model("failing")
    model.add("solver", program=[sys.executable, program])
    with pytest.raises(RunError) as caught:
        run_in(model, {})
    assert "LookupError: no such isotope" in str(caught.value).splitlines()[0]


def test_a_model_with_errors_is_not_run(run_in):
    with pytest.raises(ModelError, match="receiver") as caught:
        run_in(pipe(), {"sender": drain})
    assert caught.value.problems
    with pytest.raises(ModelError, match='"sneder"'):
        run_in(pipe(), {"sneder": drain, "sender": drain, "receiver": drain})


def test_an_instance_outside_a_run_says_how_to_start_one():
    with pytest.raises(ligament.RegistrationError, match="ligament run"):
        Instance({Operator.O_F: ["out"]})


def test_ports_that_do_not_fit_the_model_are_refused(run_in):
    def sender():
        Instance({Operator.F_INIT: ["out"]})

    with pytest.raises(RunError, match="out"):
        run_in(pipe(), {"sender": sender, "receiver": drain})


def test_nothing_of_a_run_is_left_behind(run_in):
    before = set(os.listdir("/proc/self/fd"))
    result = run_in(pipe(), {"sender": drain, "receiver": drain})
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    after = set(os.listdir("/proc/self/fd"))
    # The first run opens what the process keeps for signals.
    assert len(after - before) <= 8
    assert result.directory.is_dir()


def test_a_function_can_be_given_for_an_implementation(run_in):
    model = Model("shared")
    model.add("left", implementation="walker", ports={"O_I": ["out"]})
    model.add("right", implementation="walker", ports={"S": ["in"]})
    model.connect("left.out", "right.in")

    def walker():
        instance = Instance()
        while instance.reuse_instance():
            print(instance.name, end="")

    result = run_in(model, {"walker": walker})
    assert result.output("left") == "left" and result.output("right") == "right"


def test_many_functions_run_beside_each_other(run_in):
    model = Model("crowd")
    model.add("hub", ports={"O_I": ["out"], "S": ["in"]})
    model.add("worker", ports={"F_INIT": ["in"], "O_F": ["out"]}, multiplicity=40)
    model.connect("hub.out", "worker.in")
    model.connect("worker.out", "hub.in")

    def hub():
        instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]})
        while instance.reuse_instance():
            for slot in range(40):
                instance.send("out", Message(0.0, data=np.full(1000, slot)), slot)
            assert [int(instance.receive("in", slot).data) for slot in range(40)] == [1000 * i for i in range(40)]

    def worker():
        instance = Instance()
        while instance.reuse_instance():
            message = instance.receive("in")
            instance.send("out", Message(0.0, data=int(message.data.sum())))

    assert run_in(model, {"hub": hub, "worker": worker}).state == "done"
