"""Common parts of the tests: a watchdog, models of two components, components that send and receive, and runs
in a directory of their own."""

import faulthandler
import sys
from collections.abc import Callable

import pytest

import ligament
from ligament import ClosedError, Instance, Message, Model, Operator, RunResult

TOO_LONG = 120
"""Seconds after which a test is taken to hang: all threads are shown, and the process ends."""


@pytest.fixture(autouse=True)
def watchdog():
    faulthandler.dump_traceback_later(TOO_LONG, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def run_in(tmp_path):
    """Runs a model, with its run directory in the test's directory."""

    def run(model: Model, functions: dict[str, Callable], **options) -> RunResult:
        return ligament.run(model, functions, run_dir=tmp_path / "run", show="nothing", **options)

    return run


def pipe(sender_ports: str = "out", receiver_ports: str = "in", **multiplicity) -> Model:
    """A model of `sender` (O_F) and `receiver` (F_INIT)."""
    model = Model("pipe")
    model.add("sender", ports={"O_F": sender_ports.split()}, multiplicity=multiplicity.get("sender", ()))
    model.add("receiver", ports={"F_INIT": receiver_ports.split()},
              multiplicity=multiplicity.get("receiver", ()))
    for sending, receiving in zip(sender_ports.split(), receiver_ports.split()):
        model.connect(f"sender.{sending}", f"receiver.{receiving}")
    return model


def dialogue() -> Model:
    """A model in which `asker` (O_I, S) asks and `teller` (S, O_I) answers, any number of times."""
    model = Model("dialogue")
    model.add("asker", ports={"O_I": ["question"], "S": ["answer"]})
    model.add("teller", ports={"S": ["question"], "O_I": ["answer"]})
    model.connect("asker.question", "teller.question")
    model.connect("teller.answer", "asker.answer")
    return model


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


def drain():
    """A component that receives all messages."""
    instance = Instance()
    while instance.reuse_instance():
        pass
