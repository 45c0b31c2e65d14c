"""Makes the fixtures that the C and C++ faces share available to the tests of the C++ face."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "c" / "tests"))
from fixtures import prefix, program  # noqa: E402, F401
