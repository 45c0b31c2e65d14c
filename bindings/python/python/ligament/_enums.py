"""The names that ports, logs and instances are described with."""

from enum import Enum, Flag, IntEnum


class Operator(Enum):
    """The moment of the execution loop in which a port is used."""

    NONE = "NONE"
    """Not known."""
    F_INIT = "F_INIT"
    """Receives at the start of each pass."""
    O_I = "O_I"
    """Sends within the loop: an observation of the state."""
    S = "S"
    """Receives within the loop: what the next step needs."""
    O_F = "O_F"
    """Sends at the end of each pass: the final observation."""

    def allows_sending(self) -> bool:
        """True if ports of this operator send."""
        return self in (Operator.O_I, Operator.O_F)

    def allows_receiving(self) -> bool:
        """True if ports of this operator receive."""
        return self in (Operator.F_INIT, Operator.S)


class LogLevel(IntEnum):
    """The importance of a line in the run's log."""

    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3
    CRITICAL = 4

    @staticmethod
    def from_python(level: int) -> "LogLevel":
        """Returns the level for a level of Python's `logging`."""
        return LogLevel(max(0, min(4, level // 10 - 1)))


class InstanceFlags(Flag):
    """Unusual behaviour of an instance."""

    NONE = 0
    DONT_APPLY_OVERLAY = 1
    """Settings overlays that come with messages are handed over in `Message.settings` instead of being
    applied."""
    USES_CHECKPOINT_API = 2
    """The code saves its state by `save_snapshot` and the calls that belong to it."""
    KEEPS_NO_STATE_FOR_NEXT_USE = 4
    """The code keeps nothing from one pass of the reuse loop to the next."""
    STATE_NOT_REQUIRED_FOR_NEXT_USE = 8
    """The code keeps something from one pass to the next, but can do without it."""


def operator_name(operator: "Operator | str") -> str:
    """Returns the operator's name, from an Operator or a text such as ``"O_I"``."""
    return operator.value if isinstance(operator, Operator) else str(operator)
