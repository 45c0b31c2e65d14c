"""`python -m ligament`: the command `ligament`."""

import sys

from ._cli import main

sys.exit(main())
