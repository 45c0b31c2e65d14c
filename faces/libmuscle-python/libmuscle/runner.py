"""Runs a model whose components are Python functions."""

import copy
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import ligament
import yaml
import ymmsl
from ymmsl import Document, v0_1
from ymmsl.v0_2 import Configuration, Operator, Ports, Settings

from libmuscle._values import settings_to_ligament
from libmuscle.manager.profile_store import write_profile
from libmuscle.manager.records import write_log

__all__ = ["run_simulation"]


def run_simulation(configuration: Document, implementations: dict[str, Callable[[], Any]]) -> None:
    """Runs a model and waits for its end. Each instance is a process, which works in the caller's directory and
    prints to the caller's output.

    The caller's directory then has `muscle3_manager.log`, `performance.sqlite` and a `muscle3.NAME.log` of each
    instance; the run directory is `runs/MODEL-TIME`.

    Args:
        configuration: The model, of yMMSL v0.1 or v0.2, without imports.
        implementations: Functions, by the name of the implementation.

    Raises:
        ValueError: The model names an implementation that is not given.
        RuntimeError: The model has errors, or the run failed; the text begins with the reason.
    """
    with catch_warnings():
        simplefilter("ignore")
        configuration = _of_version_2(configuration)
        text = _dumped(configuration)
    if configuration.imports:
        raise RuntimeError("a model with imports is not run from Python; save it, and call muscle_manager")
    functions = _chosen(configuration, implementations)
    folder = Path.cwd()
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary, "model.ymmsl")
        file.write_text(text, encoding="utf-8")
        model = ligament.Model.load(file)
        model.settings = settings_to_ligament(configuration.settings)
        sys.stdout.flush()
        sys.stderr.flush()
        outputs = os.dup(1), os.dup(2)
        processes = {name: partial(_live, code, folder, outputs) for name, code in functions.items()}
        result = None
        try:
            result = ligament.run(model, processes, show="nothing")
        except ligament.RunError as error:
            result = error.result
            raise
        finally:
            for output in outputs:
                os.close(output)
            if result is not None:
                _record(result.directory, folder)


def _of_version_2(configuration: Document) -> Configuration:
    if isinstance(configuration, v0_1.PartialConfiguration):
        return ymmsl.convert_to(Configuration, configuration)
    if not isinstance(configuration, Configuration):
        raise RuntimeError(f"a model is a Configuration of yMMSL, not a {type(configuration).__name__}")
    return configuration


def _dumped(configuration: Configuration) -> str:
    """Returns the model as text, without its settings, since ymmsl 0.18 writes the text "1e3" as a number."""
    bare = copy.copy(configuration)
    bare.settings = Settings()
    text = ymmsl.dump(bare)
    lines = text.splitlines(keepends=True)
    for line, missing in sorted(_missing_ports(configuration, text), reverse=True):
        lines.insert(line, missing)
    return "".join(lines)


def _missing_ports(configuration: Configuration, text: str) -> Iterator[tuple[int, str]]:
    """Yields lines that the text lacks, each with the number of the line before which it belongs: ymmsl 0.18
    leaves out the O_I and S ports of a component's own timeline if it has ports on other timelines, too."""
    document = yaml.compose(text, Loader=yaml.BaseLoader)
    for place, ports in _all_ports(configuration):
        node = document
        for key in place:
            node = node and next((value for name, value in node.value if name.value == key), None)
        if node is None or not any(port.timeline for port in ports.values()):
            continue
        written = {name.value for name, _ in node.value}
        for operator in (Operator.O_I, Operator.S):
            own = [str(port.name) for port in ports.values() if port.operator is operator and not port.timeline]
            key = operator.name.lower()
            if own and key not in written:
                yield node.start_mark.line, f"{' ' * node.start_mark.column}{key}: {' '.join(own)}\n"


def _all_ports(configuration: Configuration) -> Iterator[tuple[tuple[str, ...], Ports]]:
    """Yields the ports of each model and component, with their place in the document."""
    for model_name, model in configuration.models.items():
        place = "models", str(model_name)
        yield (*place, "ports"), model.ports
        for name, component in model.components.items():
            yield (*place, "components", str(name), "ports"), component.ports


def _chosen(
    configuration: Configuration, implementations: dict[str, Callable[[], Any]]
) -> dict[str, Callable[[], Any]]:
    """Returns the functions that the model names."""
    models = {str(name) for name in configuration.models}
    names = {
        str(component.implementation)
        for model in configuration.models.values()
        for component in model.components.values()
        if component.implementation is not None
    }
    for name in sorted(names - models):
        if name not in implementations:
            raise ValueError(
                f'the model names the implementation "{name}", and those given are: '
                f"{', '.join(sorted(implementations)) or 'none'}"
            )
    return {name: implementations[name] for name in names - models}


def _live(code: Callable[[], Any], folder: Path, outputs: tuple[int, int]) -> None:
    """Runs one instance as MUSCLE 3 does: in the caller's directory, and with the caller's output."""
    os.chdir(folder)
    for here, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, here)
        os.close(output)
    name = os.environ["LIGAMENT_INSTANCE"]
    sys.argv.append(f"--muscle-instance={name}")
    log = logging.FileHandler(f"muscle3.{name}.log", "w")
    log.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(filename)s:%(lineno)d %(message)s"))
    logging.getLogger().addHandler(log)
    code()


def _record(run: Path, folder: Path) -> None:
    write_log(run, folder / "muscle3_manager.log")
    write_profile(run, folder / "performance.sqlite")
