"""The calls of MUSCLE 3's Python library, over Ligament.

A program that was written for MUSCLE 3 0.11 runs as it is. `docs/faces/libmuscle-python.md` says for each call
whether it is the same.
"""

from libmuscle._conflict import refuse_muscle3

refuse_muscle3()

from libmuscle.version import __version__  # noqa: E402, I001
from libmuscle.communicator import Message  # noqa: E402
from libmuscle.grid import Grid  # noqa: E402
from libmuscle.instance import Instance, InstanceFlags  # noqa: E402
from libmuscle.manager.profile_database import ProfileDatabase  # noqa: E402
from libmuscle.profiling import ProfileEventType  # noqa: E402
from libmuscle import runner  # noqa: E402

DONT_APPLY_OVERLAY = InstanceFlags.DONT_APPLY_OVERLAY
USES_CHECKPOINT_API = InstanceFlags.USES_CHECKPOINT_API
KEEPS_NO_STATE_FOR_NEXT_USE = InstanceFlags.KEEPS_NO_STATE_FOR_NEXT_USE
STATE_NOT_REQUIRED_FOR_NEXT_USE = InstanceFlags.STATE_NOT_REQUIRED_FOR_NEXT_USE

__all__ = [
    "DONT_APPLY_OVERLAY",
    "KEEPS_NO_STATE_FOR_NEXT_USE",
    "STATE_NOT_REQUIRED_FOR_NEXT_USE",
    "USES_CHECKPOINT_API",
    "Grid",
    "Instance",
    "InstanceFlags",
    "Message",
    "ProfileDatabase",
    "ProfileEventType",
    "__version__",
    "runner",
]
