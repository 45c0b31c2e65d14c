"""The command `ligament`, as `python -m ligament`; the wheel brings the command itself as a program of its own."""

import importlib.metadata
import signal
import sys

from ._ligament import _command_line, _installed_below


def main() -> int:
    """Does what the command line asks for; gives the exit status."""
    # The command waits outside Python, where Python's own handler would have to wait as well.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _installed_below(prefix())
    return _command_line(sys.argv, prefix() if sys.argv[1:2] in (["config"], ["explain"]) else None)


def prefix() -> str:
    """The directory below which the wheel has put the library and the headers; without them, that of Python itself."""
    try:
        files = importlib.metadata.files("ligament-coupling") or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()  # the package's folder is used as it is
    for file in files:
        if file.parts[-2:] == ("include", "ligament.h"):
            return str(file.locate().resolve().parents[1])
    return sys.prefix


if __name__ == "__main__":
    sys.exit(main())
