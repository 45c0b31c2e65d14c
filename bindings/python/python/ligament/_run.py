"""Runs a model from a script."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ._errors import ModelError, RunError
from ._fork import Waiting
from ._installed import prefix
from ._ligament import Settings, _fault, _installed_below, _Prepared
from ._model import Model
from ._submodel import Submodel, run_light


@dataclass(frozen=True)
class InstanceSummary:
    """The record of one instance. Times are in s."""

    name: str
    state: str
    exit: str | None
    model_time: float | None
    iterations: int
    total: float
    computing: float
    waiting: float
    transferring: float
    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int


@dataclass(frozen=True)
class RunResult:
    """The result of a run."""

    directory: Path
    """The run directory, with everything that the run did."""
    state: str
    """"done", "failed", "stopped" or "interrupted"."""
    reason: str | None
    """The reason of a failure; None if the run did not fail."""
    duration: float
    """The duration of the run, s."""
    instances: dict[str, InstanceSummary]
    """What each instance did, by name."""
    failed: str | None = None
    """Which instance failed first."""
    last_lines: tuple[str, ...] = ()
    """What that one printed last."""

    def output(self, instance: str) -> str:
        """Returns the output of an instance, or of one of its ranks, such as ``flow:2``."""
        home, rank = self._home(instance), instance.partition(":")[2]
        own = home / f"output.{rank}.log"
        return (own if own.exists() else home / "output.log").read_text(errors="replace")

    def _home(self, instance: str) -> Path:
        """Returns the directory of the process that ran an instance: its own, or that of its light program."""
        for names in (self.directory / "light").glob("*/instances"):
            if instance in names.read_text().splitlines():
                return names.parent
        return self.directory / "instances" / instance.partition(":")[0]

    @property
    def log(self) -> str:
        """The run's log."""
        return (self.directory / "manager.log").read_text(errors="replace")


def run(
    model: Model | str | PathLike[str],
    functions: Mapping[str, Callable[[], Any] | type[Submodel]] | None = None,
    *,
    settings: Settings | Mapping[str, Any] | None = None,
    run_dir: str | PathLike[str] | None = None,
    show: str = "log",
    ignore: Iterable[str] = (),
) -> RunResult:
    """Runs a model on this machine and waits for its end.

    Args:
        model: The model, or a file to read it from.
        functions: Python functions, by the name of the component (or implementation) that they run as. Each of
            its instances is a forked process, in which the function makes an `Instance`. If the function is a
            `Submodel` class, all instances are light components of one process, as with `run_light`.
        settings: Settings that override those of the model.
        run_dir: The run directory; by default ``runs/<model>-<time>``.
        show: The output on standard error during the run: "nothing", "log", or "view", which redraws the
            terminal.
        ignore: Features of the model that a run cannot use yet, and that are ignored: "checkpoints", "resume",
            "wait"; or "deadlocks", to run although a deadlock is foreseen.

    Raises:
        ModelError: The model has errors; all of them are in its `problems`.
        RunError: The run failed; its text begins with the reason, and its `result` has the rest.
        KeyboardInterrupt: The run was interrupted, and has ended in order.

    Call it before the script starts threads, unless these threads tolerate a fork.
"""
    if not isinstance(model, Model):
        model = Model.load(model)
    functions = dict(functions or {})
    light = []
    for name, function in functions.items():
        if isinstance(function, type) and issubclass(function, Submodel):
            light.append(name)
            functions[name] = partial(run_light, function, flags=function.flags)
    problems, prepared = _Prepared.make(model, list(functions), light, settings, list(ignore))
    if prepared is None:
        raise ModelError("\n".join(str(problem) for problem in problems if problem.is_error), tuple(problems))
    _installed_below(prefix())
    waiting = Waiting()
    try:
        for instance, name in prepared.functions():
            waiting.fork(instance, functions[name])
        directory = None if run_dir is None else fspath(run_dir)
        record, directory, failed = prepared.run(waiting.start, directory, show)
    finally:
        waiting.end()
    record = json.loads(record)
    result = _result(record, Path(directory), failed)
    if result.state == "interrupted":
        raise KeyboardInterrupt
    if result.state != "done":
        raise RunError(_why(result, record.get("code") or ""), result)
    return result


def _result(record: dict[str, Any], directory: Path, failed: tuple[str, list[str]] | None) -> RunResult:
    fields = InstanceSummary.__dataclass_fields__
    instances = {
        one["name"]: InstanceSummary(**{field: one.get(field) for field in fields})
        for one in record["instances"]
    }
    name, lines = failed or (None, [])
    return RunResult(
        directory, record["state"], record["reason"], record["duration"] or 0.0, instances, name, tuple(lines)
    )


def _why(result: RunResult, code: str) -> str:
    text = _fault(code, result.reason or f"the run was {result.state}")
    if result.last_lines:
        text += f"\nThe last lines of {result.failed}:\n  " + "\n  ".join(result.last_lines)
    return f"{text}\nRun directory: {result.directory}"
