"""The command `ligament`."""

import signal
import sys

from ._ligament import _command_line


def main() -> int:
    """Does what the command line asks for; gives the exit status."""
    # The command waits outside Python, where Python's own handler would have to wait as well.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _command_line(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
