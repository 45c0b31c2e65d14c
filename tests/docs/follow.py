#!/usr/bin/env python3
"""Does what a page tells its reader to do, and says where the page is wrong. Needs nothing but Python, so that
it can follow pages on a machine that has nothing else.

follow.py PAGE... follows the pages one after the other, as one reader would: each but the first in an empty
                       directory of its own, with what was exported on the pages before
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from pages import File, pattern, steps  # noqa: E402

LOG_LINE = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z .*\n",
                      re.M)  # `ligament run` shows them where there is no terminal
LIMIT = 600  # s, for one command: a starter in Rust compiles all crates


class Wrong(Exception):
    """The result of a step differs from what the page says."""


class Reader:
    """A user of a shell, in a directory. Exported variables and changes of directory hold for the commands that
    follow."""

    def __init__(self, here, environment):
        self.here, self.environment = Path(here), dict(environment)
        self.in_background = []

    def do(self, line):
        """Gives a line to a shell, and returns its exit status and its output."""
        with tempfile.TemporaryDirectory() as place:
            left = Path(place) / "environment"
            script = f'{line}\nstatus=$?\nenv -0 > "{left}"\nexit $status'
            process = subprocess.Popen(
                ["bash", "-c", script], cwd=self.here, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            )
            if line.endswith("&"):
                self.in_background.append(process.pid)
            try:
                output, _ = process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Wrong(f"`{line}` did not end within {LIMIT} s") from None
            if left.exists():
                pairs = [pair.partition("=") for pair in left.read_text().split("\0") if pair]
                self.environment = {name: value for name, _, value in pairs if name not in ("_", "PWD",
                                                                                            "SHLVL")}
            return process.returncode, output

    def leave(self):
        """Ends the processes that were left in the background."""
        for group in self.in_background:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended, as it should


def follow(text, reader, ours=lambda line: True):
    """Follows a page: writes its files and gives those of its commands for which `ours` is true. Returns the
    number of files and commands."""
    done = 0
    for step in steps(text):
        if isinstance(step, File):
            (reader.here / step.name).parent.mkdir(parents=True, exist_ok=True)
            (reader.here / step.name).write_text(step.text)
        elif ours(step.line):
            obey(step, reader)
        else:
            continue
        done += 1
    return done


def obey(step, reader):
    """Gives one command, and compares its output with that of the page."""
    status, output = reader.do(step.line)
    if step.output is None:
        if status != 0:
            raise Wrong(f"`{step.line}` ended with {status}:\n{output}")
        return
    if step.line.startswith("ligament run"):
        output = LOG_LINE.sub("", output)
    if not pattern(step.output).match(output):
        expected = "\n".join(step.output)
        raise Wrong(f"`{step.line}` printed\n{output}\nand not\n{expected}")


def of_a_clone(line):
    """Returns true if a command is for users who have the repository."""
    return line.startswith(("make ", "git ", "cd ", "export PATH=$PWD/.venv"))


def main():
    environment, passed, failed = dict(os.environ), 0, 0
    for number, page in enumerate(sys.argv[1:]):
        with tempfile.TemporaryDirectory() as empty:
            reader = Reader(Path.cwd() if number == 0 else empty, environment)
            try:
                done = follow(Path(page).read_text(), reader, lambda line: not of_a_clone(line))
                print(f"{page}: {done} steps, all as it says", flush=True)
                passed += 1
            except Wrong as wrong:
                print(f"{page}: {wrong}", flush=True)
                failed += 1
            finally:
                reader.leave()
            environment = reader.environment
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
