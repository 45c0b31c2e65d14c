"""`muscle_manager`: runs a model, as MUSCLE 3's command of this name does."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import ligament
import yaml

from libmuscle.manager.records import LEVELS, last_lines, write_records

_MAX_LINES = 50
_BAD_USE = 2  # the head's exit status if the model or the directory is wrong
_PROGRAM_BY_HAND = "started_by_hand"


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status: 0 if the run is done, 1 if it failed, 2 for bad use."""
    options = _parser().parse_args(words)
    if not options.ymmsl_files:
        _parser().print_help()
        return 2
    try:
        model = None if options.start_all else ligament.Model.load(*options.ymmsl_files)
    except ligament.ModelError as error:
        print(f"Failed to start the simulation, found a configuration error:\n{error}", file=sys.stderr)
        return 1
    run = _run_directory(options)
    with tempfile.TemporaryDirectory() as folder:
        if model is not None:
            options.ymmsl_files.append(_write_programs(model, options.model or model.name, Path(folder)))
        status = _run_head(options, run, [] if model is None else model.instances())
    if status == _BAD_USE:
        return 1  # the head has said why it could not begin; the directory may hold another run
    write_records(run, options.log_level)
    _say_end(run, status)
    return 1 if status else 0


def _write_programs(model: ligament.Model, root: str, folder: Path) -> str:
    """Writes a model file that adds a program for each component that has none, because MUSCLE 3 asks for no
    program of an instance that is started by hand. Returns its name."""
    document = yaml.load(model.to_yaml(), Loader=yaml.BaseLoader)
    models = document["models"]
    known = {*models, *document.get("programs", {})}
    components = {name: each.get("components") or {} for name, each in models.items()}
    names = {part["implementation"] for all in components.values() for part in all.values()
             if "implementation" in part}
    without = [f"{root}.{name}" for name, part in components.get(root, {}).items()
               if "implementation" not in part]
    names |= {_PROGRAM_BY_HAND} if without else set()
    program = {"executable": sys.executable, "execution_model": "manual"}
    programs = {name: dict(program) for name in sorted(names - known)}
    file = folder / "by_hand.ymmsl"
    file.write_text(yaml.safe_dump({
        "ymmsl_version": "v0.2",
        "programs": programs,
        "custom_implementations": dict.fromkeys(without, _PROGRAM_BY_HAND),
    }), encoding="utf-8")
    return str(file)


def _run_head(options: argparse.Namespace, run: Path, manual: list[str]) -> int:
    """Runs the model and returns the exit status of the run. The instances `manual` are started by hand."""
    command = [sys.executable, "-m", "ligament", "run", "--quiet", "--run-dir", str(run)]
    command += [f"--manual={name}" for name in manual]
    if options.model:
        command.append(f"--model={options.model}")
    head = subprocess.Popen([*command, *options.ymmsl_files])
    try:
        if manual or options.location_file:
            _tell_location(head, run, options.location_file)
        return head.wait()
    except KeyboardInterrupt:
        # The head has got the signal too, and ends the run in order.
        return head.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="muscle_manager", description="Runs a coupled model, with Ligament.")
    parser.add_argument("ymmsl_files", nargs="*", type=_file,
                        help="model files; later ones add to earlier ones")
    parser.add_argument("--start-all", action=argparse.BooleanOptionalAction, default=False,
                        help="start all instances; without it they are started by hand")
    parser.add_argument("--run-dir", type=Path, help="an empty directory [default: run_MODEL_DATE_TIME]")
    parser.add_argument("--log-level", type=str.upper, choices=LEVELS, default="INFO",
                        help="the least level of the run's own lines in muscle3_manager.log [default: INFO]")
    parser.add_argument("--location-file", type=Path, metavar="FILE",
                        help="where to write MUSCLE_MANAGER for instances that are started by hand")
    parser.add_argument("-m", "--model", help="the model to run, if the files have several")
    return parser


def _file(name: str) -> str:
    if not Path(name).is_file():
        raise argparse.ArgumentTypeError(f"there is no file {name}")
    return name


def _run_directory(options: argparse.Namespace) -> Path:
    if options.run_dir is not None:
        return options.run_dir.resolve()
    name = options.model or _model_name(options.ymmsl_files)
    while True:
        run = Path.cwd() / f"run_{name}_{datetime.now():%Y%m%d_%H%M%S}"
        if not run.exists():
            return run
        time.sleep(0.1)  # a directory of this second's name exists; the next second has another name


def _model_name(files: Sequence[str]) -> str:
    try:
        return ligament.Model.load(*files).name
    except ligament.ModelError:
        return "model"  # the head says what is wrong


def _tell_location(head: subprocess.Popen[bytes], run: Path, file: Path | None) -> None:
    """Says where the run is, once instances can join it."""
    while head.poll() is None and not (run / "token").is_file():
        time.sleep(0.02)  # the head writes the file when it can be joined, and tells nobody
    if head.poll() is not None:
        return
    if file is None:
        print(run, flush=True)
    else:
        file.write_text(str(run), encoding="utf-8")


def _say_end(run: Path, status: int) -> None:
    log = run / "muscle3_manager.log"
    if status == 0:
        shown = run.relative_to(Path.cwd()) if run.is_relative_to(Path.cwd()) else run
        print(f"Simulation completed successfully.\nOutput may be found in {shown}")
        return
    line = "-" * 80
    print("An error occurred during execution, and the simulation was shut down.")
    print(f"The last lines of the manager log:\n\n{line}\n{last_lines(log, _MAX_LINES)}\n{line}\n")
    print(f"The full log is {log}")


if __name__ == "__main__":
    sys.exit(main())
