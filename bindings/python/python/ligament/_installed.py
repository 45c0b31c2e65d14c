"""The files of the wheel that are not Python."""

import importlib.metadata
import sys
from pathlib import Path


def program() -> Path:
    """Returns the path of the command `ligament` that belongs to this package."""
    try:
        files = importlib.metadata.files("ligament-coupling") or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()  # the package's folder is used as it is
    for file in files:
        if file.parts[-2:] == ("bin", "ligament"):
            return Path(str(file.locate())).resolve()
    return Path(sys.prefix, "bin", "ligament")


def prefix() -> str:
    """Returns the directory that holds the library and the headers."""
    return str(program().parents[1])
