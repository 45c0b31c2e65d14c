"""The Rust programs of the tests: examples of the crates."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "target" / "release" / "examples"


def example(name, package=None):
    """Returns the path of an example. tests/run builds all examples before its suites begin and then sets
    LIGAMENT_EXAMPLES_BUILT; without that, the example is built here."""
    if "LIGAMENT_EXAMPLES_BUILT" not in os.environ:
        of = ["-p", package] if package else []
        subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", *of, "--example", name],
                       cwd=ROOT, check=True)
    return PROGRAMS / name
