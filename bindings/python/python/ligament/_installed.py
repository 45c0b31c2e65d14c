"""Where the wheel has put what is not Python."""

import importlib.metadata
import sys
from pathlib import Path


def program() -> Path:
    """The command `ligament`, as the wheel was installed."""
    try:
        files = importlib.metadata.files("ligament-coupling") or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()  # the package's folder is used as it is
    for file in files:
        if file.parts[-2:] == ("bin", "ligament"):
            return Path(str(file.locate())).resolve()
    return Path(sys.prefix, "bin", "ligament")


def prefix() -> str:
    """The directory below which the library and the headers are."""
    return str(program().parents[1])
