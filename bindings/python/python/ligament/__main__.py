"""`python -m ligament`: replaces this process by the command `ligament`, which is a program in the wheel."""

import os
import signal
import sys

from ._installed import program
from ._ligament import _fault


def main() -> None:
    """Runs the command line. Python ignores some signals, and the command would inherit that, so they are
    reset."""
    # Python ignores these signals, and the command would inherit that.
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
