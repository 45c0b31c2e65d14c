"""`python -m ligament`: becomes the command `ligament`, which the wheel brings as a program of its own."""

import os
import signal
import sys

from ._installed import program
from ._ligament import _fault


def main() -> None:
    """Does what the command line asks for."""
    # Python ignores these signals, and what it becomes would go on ignoring them.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    command = program()
    try:
        os.execv(command, [command, *sys.argv[1:]])
    except OSError as error:
        why = error.strerror
        text = _fault(
            "incomplete-installation",
            f"the command {command} of this package cannot be started: {why}; install the wheel again",
        )
        sys.exit(f"ligament: {text}")


main()
