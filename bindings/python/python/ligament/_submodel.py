"""The formal submodel: four functions that the library calls in the order of the execution loop."""

from abc import ABC, abstractmethod

from . import _logging
from ._instance import Instance


class Submodel(ABC):
    """A submodel by its four operators and its end condition: for codes that would rather not write the loop."""

    @abstractmethod
    def initialise(self, instance: Instance) -> None:
        """F_INIT: sets the state, from messages where there are any."""

    @abstractmethod
    def is_done(self) -> bool:
        """Whether this pass is over; asked before each step."""

    @abstractmethod
    def observe(self, instance: Instance) -> None:
        """O_I: shows the state to others."""

    @abstractmethod
    def solve(self, instance: Instance) -> None:
        """S: advances the state by one step."""

    @abstractmethod
    def observe_final(self, instance: Instance) -> None:
        """O_F: shows the final state."""


def run_submodel(instance: Instance, submodel: Submodel) -> None:
    """Runs a submodel for as long as there are start messages. An exception of its ends the run with its text."""
    try:
        while instance.reuse_instance():
            submodel.initialise(instance)
            while not submodel.is_done():
                submodel.observe(instance)
                submodel.solve(instance)
            submodel.observe_final(instance)
    except BaseException as error:
        instance.error_shutdown(_logging.describe(error))
        raise
