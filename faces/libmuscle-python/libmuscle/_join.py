"""Joining a run by hand: a program that was started with `--muscle-instance` and `--muscle-manager`, or the
variables for them, finds its run as one started by `ligament join`."""

import os
import shlex
import subprocess
import sys
from pathlib import Path


def _option(name: str, variable: str) -> str | None:
    """Returns the value of ``--name=VALUE`` on the command line, or of the environment's variable."""
    start = f"--{name}="
    for word in sys.argv[1:]:
        if word.startswith(start):
            return word.removeprefix(start)
    return os.environ.get(variable)


def join_by_hand() -> None:
    """Sets the environment that an instance needs, if this process was not started by a run.

    Raises:
        RuntimeError: The process does not say which instance it is, or where its run is.
    """
    if "LIGAMENT_INSTANCE" in os.environ:
        return
    instance = _option("muscle-instance", "MUSCLE_INSTANCE")
    if instance is None:
        raise RuntimeError(
            "this program does not know which instance it is: start it by `muscle_manager --start-all` or"
            " `ligament run`, or say --muscle-instance=NAME or MUSCLE_INSTANCE=NAME"
        )
    run = _option("muscle-manager", "MUSCLE_MANAGER")
    if run is None or run.startswith("tcp:"):
        given = "nothing says where the run is" if run is None else f"{run} is an address of MUSCLE 3's manager"
        raise RuntimeError(
            f"instance {instance}: {given}; say --muscle-manager=DIRECTORY or MUSCLE_MANAGER=DIRECTORY, with"
            " the run directory that muscle_manager prints or writes to --location-file"
        )
    run = run.strip()
    if not Path(run).is_dir():
        raise RuntimeError(f"instance {instance}: the run directory {run} does not exist (MUSCLE_MANAGER)")
    command = [sys.executable, "-m", "ligament", "join", run, instance]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"instance {instance} cannot join {run}: {answer.stderr.strip()}")
    for line in answer.stdout.splitlines():
        for word in shlex.split(line)[1:]:
            name, _, value = word.partition("=")
            os.environ[name] = value
