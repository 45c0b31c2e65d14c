"""The files that users of MUSCLE 3 find in a run directory, made from those of Ligament."""

import os
from pathlib import Path

from libmuscle.manager.profile_store import write_profile

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def write_records(run: Path, level: str = "INFO") -> None:
    """Writes the log, the profile and the links of a run that is over.

    Args:
        run: The run directory.
        level: The least level of the run's own lines in `muscle3_manager.log`.
    """
    write_log(run, run / "muscle3_manager.log", level)
    write_profile(run, run / "performance.sqlite")
    _link(run / "configuration.ymmsl", "model.ymmsl")
    for output in run.glob("instances/*/output.log"):
        for name in ("stdout.txt", "stderr.txt"):
            _link(output.with_name(name), output.name)


def write_log(run: Path, file: Path, level: str = "INFO") -> None:
    """Writes the lines of the run's log: those of the run itself that have this level or a higher one, and all
    of the instances, which log what `muscle_remote_log_level` says."""
    low = LEVELS[: LEVELS.index(level)]

    def is_wanted(line: str) -> bool:
        words = line.split(maxsplit=3)
        return len(words) < 3 or words[2] != "run:" or words[1].upper() not in low

    with open(run / "manager.log", encoding="utf-8", errors="replace") as lines:
        chosen = [line for line in lines if is_wanted(line)]
    file.write_text("".join(chosen), encoding="utf-8")


def last_lines(file: Path, count: int) -> str:
    """Returns the last lines of a text file."""
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-count:])


def _link(link: Path, target: str) -> None:
    if not link.exists() and (link.parent / target).exists():
        os.symlink(target, link)
