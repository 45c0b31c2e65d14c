"""Ligament couples simulation codes into one multiscale model.

A code joins a run as an `Instance`, which sends and receives each `Message` through its ports. A `Model` has
components, which are joined by conduits. `run` runs a model; a Python function can be a component.
"""

from ._attach import AttachedRun, TappedPort, TappedValue, attach
from ._enums import InstanceFlags, LogLevel, Operator
from ._errors import (
    ClosedError,
    Error,
    ModelError,
    OutOfMemoryError,
    RegistrationError,
    RunEndsError,
    RunError,
    SettingError,
    SettingTypeError,
    SettingUnsetError,
    TimeoutError,
    TransportError,
    UnexpectedError,
    UnsendableError,
    UsageError,
)
from ._grid import Domain
from ._instance import Instance
from ._ligament import Array, Loan, Message, Problem, Settings, __version__
from ._mapper import Mapper, run_mapper
from ._model import Model, Size
from ._run import InstanceSummary, RunResult, run
from ._submodel import Submodel, run_light, run_submodel

__all__ = [
    "Array",
    "AttachedRun",
    "ClosedError",
    "Domain",
    "Error",
    "Instance",
    "InstanceFlags",
    "InstanceSummary",
    "Loan",
    "LogLevel",
    "Mapper",
    "Message",
    "Model",
    "ModelError",
    "Operator",
    "OutOfMemoryError",
    "Problem",
    "RegistrationError",
    "RunEndsError",
    "RunError",
    "RunResult",
    "SettingError",
    "SettingTypeError",
    "SettingUnsetError",
    "Settings",
    "Size",
    "Submodel",
    "TappedPort",
    "TappedValue",
    "TimeoutError",
    "TransportError",
    "UnexpectedError",
    "UnsendableError",
    "UsageError",
    "__version__",
    "attach",
    "run",
    "run_light",
    "run_mapper",
    "run_submodel",
]
