"""The ends of runs, and interruptions: exceptions, signals, threads, logs, and programs beside functions."""

import logging
import os
import signal
import sys
import threading

import numpy as np
import pytest

import ligament
from conftest import dialogue, drain, pipe, serve
from ligament import (
    Instance,
    LogLevel,
    Message,
    Model,
    ModelError,
    Operator,
    RunError,
    Submodel,
    UsageError,
    run_submodel,
)
from values import same


def test_an_exception_in_a_component_ends_the_run_with_its_text_first(run_in):
    def sender():
        instance = Instance()
        print(instance, "is about to fail")
        raise ValueError("the mesh is tangled")

    with pytest.raises(RunError) as caught:
        run_in(pipe(), {"sender": sender, "receiver": drain})
    first = str(caught.value).splitlines()[0]
    assert first.startswith("sender ") and "ValueError: the mesh is tangled" in first
    assert "test_endings.py" in first
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
            # The instance can go on after the interruption.
            instance.send("question", Message(0.0, data=5))
            assert instance.receive("answer").data == 5

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def interrupt_soon(instance):
    """Sends SIGINT to this process when its main thread sleeps in the system."""
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
                # The main thread waits in receive(). It has released the interpreter, but not the instance.
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
            assert "poll: the instance is in the middle of another call: receive of thread" in refused[0]

    run_in(dialogue(), {"asker": asker, "teller": serve(lambda data: data)})


def test_times_that_are_none_are_refused_with_port_and_value(run_in):
    def asker():
        nan, inf = float("nan"), float("inf")
        instance = Instance()
        while instance.reuse_instance():
            for data in (None, 1, np.arange(40.0)):
                for _ in range(2):
                    for times, words in [
                        ((nan,), "the timestamp is NaN"), ((inf,), "the timestamp is inf"),
                        ((0.0, nan), "the next timestamp is NaN"), ((0.0, -inf), "the next timestamp is -inf"),
                        ((2.0, 1.5), "the next timestamp 1.5 is earlier than the timestamp 2"),
                    ]:  # fmt: skip
                        with pytest.raises(UsageError, match=f'port "question": {words}'):
                            instance.send("question", Message(*times, data=data))
                    instance.send("question", Message(3.0, 3.0, data=data))
                    assert instance.receive("answer").timestamp == 3

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
            assert self.calls == ["initialise", *["observe", "solve"] * 3,
                                  "observe_final"] * (len(self.calls) // 8)

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
    program.write_text(
        "import ligament\ninstance = ligament.Instance()\nraise LookupError('no such isotope')\n")
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
    # The first run opens descriptors that the process keeps for signals.
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
            assert [int(instance.receive("in", slot).data) for slot in range(40)] == [1000 * i
                                                                                      for i in range(40)]

    def worker():
        instance = Instance()
        while instance.reuse_instance():
            message = instance.receive("in")
            instance.send("out", Message(0.0, data=int(message.data.sum())))

    assert run_in(model, {"hub": hub, "worker": worker}).state == "done"


def test_a_forked_child_that_drops_what_its_parent_received_gives_nothing_back(run_in, tmp_path):
    def sender():
        instance = Instance({Operator.O_I: ["out"]})
        while instance.reuse_instance():
            for step in range(200):
                instance.send("out", Message(float(step), data=np.full(50_000, float(step))))

    def receiver():
        instance = Instance({Operator.S: ["in"]})
        while instance.reuse_instance():
            first = instance.receive("in").data
            if (child := os.fork()) == 0:
                del first
                os._exit(0)
            os.waitpid(child, 0)
            for step in range(1, 200):
                assert instance.receive("in").data[-1] == step
                assert first.max() == 0.0, f"the first array is changed after message {step}"
        (tmp_path / "all").touch()

    model = Model("forks")
    model.add("sender", ports={"O_I": ["out"]})
    model.add("receiver", ports={"S": ["in"]})
    model.connect("sender.out", "receiver.in")
    run_in(model, {"sender": sender, "receiver": receiver})
    assert (tmp_path / "all").exists()
