"""Finds the Ligament to measure: below LIGAMENT_PREFIX, as `make install` fills it, or in the build of this
repository."""

import os
from pathlib import Path

from lib.machine import REPOSITORY, first_line


class Ligament:
    """The command, the library and the headers."""

    def __init__(self):
        prefix = os.environ.get("LIGAMENT_PREFIX")
        if prefix:
            root = Path(prefix)
            self.command, self.library, self.headers = root / "bin/ligament", root / "lib", root / "include"
        else:
            target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "release"
            self.command, self.library = target / "ligament", target
            self.headers = REPOSITORY / "crates/capi/include"

    def missing(self):
        """Returns one sentence for each missing file, with advice."""
        files = [self.command, self.library / "libligament.so", self.headers / "ligament.h"]
        return [f"{file} is missing; build Ligament first: make build" for file in files if not file.exists()]

    def flags(self):
        """Returns the flags for compiling against this library."""
        return [f"-I{self.headers}", f"-L{self.library}", f"-Wl,-rpath,{self.library}", "-lligament"]

    def version(self):
        return first_line(str(self.command), "--version")
