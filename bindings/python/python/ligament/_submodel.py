"""The formal submodel: four functions that the library calls in the order of the execution loop."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _logging
from ._enums import InstanceFlags, Operator, operator_name
from ._errors import UsageError
from ._instance import Instance
from ._ligament import _fault, _Instance, _Lending, _lent_instance, _run_light


class Submodel(ABC):
    """A submodel, given by its four operators and its end condition. It is for codes that do not want to write
    the loop."""

    flags: InstanceFlags = InstanceFlags.NONE
    """The flags of an instance that `run` or `run_mapper` makes for this class. Checkpoints need
    `KEEPS_NO_STATE_FOR_NEXT_USE`, or `USES_CHECKPOINT_API` and the functions `save` and `restore`."""

    @abstractmethod
    def initialise(self, instance: Instance) -> None:
        """F_INIT: sets the state, from messages where there are any."""

    @abstractmethod
    def is_done(self) -> bool:
        """Returns true if this pass is over. Called before each step."""

    @abstractmethod
    def observe(self, instance: Instance) -> None:
        """O_I: sends the state."""

    @abstractmethod
    def solve(self, instance: Instance) -> None:
        """S: advances the state by one step."""

    @abstractmethod
    def observe_final(self, instance: Instance) -> None:
        """O_F: sends the final state."""

    def model_time(self) -> float:
        """The model time that the state has reached, s. It decides when the state is saved. Asked after each
        step, if the instance has the flag `USES_CHECKPOINT_API`."""
        raise _without("model_time")

    def save(self, instance: Instance) -> None:
        """Saves the state by one call of `instance.save_snapshot`. Called after a step or after `observe_final`
        if a checkpoint is due and the instance has the flag `USES_CHECKPOINT_API`."""
        raise _without("save")

    def restore(self, instance: Instance) -> None:
        """Sets the state from the message that `instance.load_snapshot` returns. If the state was saved between
        two passes, `initialise` follows; otherwise the pass goes on."""
        raise _without("restore")


def _without(function: str) -> UsageError:
    text = f"the submodel has no function {function}, which its instance's flag USES_CHECKPOINT_API asks for"
    return UsageError(_fault("checkpoint-flags", text))


def has_state(submodel: Submodel) -> bool:
    """Returns true if a submodel has functions that save and restore its state."""
    # A class need not extend `Submodel`.
    def has(name: str) -> bool:
        return getattr(type(submodel), name, None) not in (None, getattr(Submodel, name))

    return has("save") and has("restore")


def run_submodel(instance: Instance, submodel: Submodel) -> None:
    """Runs a submodel as long as there are messages to start from.

    An exception of the submodel ends the run with its text. After ``sys.exit(0)`` the instance signs off, as at
    the end of a program. If the instance has the flag `USES_CHECKPOINT_API`, the state is saved and restored by
    the submodel's functions, too."""
    try:
        saves = _saves_state(instance, submodel)
        while instance.reuse_instance():
            if _begins_pass(instance, submodel, saves):
                submodel.initialise(instance)
            while not submodel.is_done():
                submodel.observe(instance)
                submodel.solve(instance)
                if saves and instance.should_save_snapshot(submodel.model_time()):
                    _save(instance, submodel)
            submodel.observe_final(instance)
            if saves and instance._is_save_of_submodel_due():
                _save(instance, submodel)
    except BaseException as error:
        if _logging.is_good_end(error):
            instance.finish()
        else:
            instance.error_shutdown(_logging.describe(error))
        raise


def _saves_state(instance: Instance, submodel: Submodel) -> bool:
    # Instances of `ligament.mpi` have no driver of their own.
    if not isinstance(instance, _Instance):
        return False
    instance._note_state_functions(has_state(submodel))
    return instance._saves_state()


def _begins_pass(instance: Instance, submodel: Submodel, saves: bool) -> bool:
    """Restores the state of a run that resumes. Returns false if the pass that was saved goes on."""
    if not saves:
        return True
    if instance.resuming():
        submodel.restore(instance)
        instance._check_state_call("restore")
    return instance.should_init()


def _save(instance: Instance, submodel: Submodel) -> None:
    submodel.save(instance)
    instance._check_state_call("save")


def run_light(
    make: Callable[[Instance], Submodel],
    ports: Mapping[Operator | str, Iterable[str]] | None = None,
    flags: InstanceFlags = InstanceFlags.NONE,
) -> None:
    """Runs all instances of this program, and returns when all of them are over.

    If the model does not say that the program is light (``ligament: {light: [name]}``), the process is one
    instance, which is run alone. A function is called when each connected port of its operator, and each slot,
    has a message or the end of its conduit: F_INIT before `initialise`, and S before `solve`. So a function can
    receive once from each port.

    Args:
        make: Makes the submodel of an instance: a `Submodel` class whose constructor takes the instance, or a
            function. The instance may be used in the constructor, and in the functions that get it.
        ports: The ports of every instance, by operator. Without them, the model's are used.
        flags: Unusual behaviour of every instance.

    Raises:
        RegistrationError: There is no run, or the ports do not fit the model.

    An exception of a submodel ends the run with its text, and is raised again.
"""
    declared = None
    if ports is not None:
        declared = [(operator_name(operator), name) for operator, names in ports.items() for name in names]
    handler = _logging.RunLogHandler(_lent_instance)
    logging.getLogger().addHandler(handler)
    try:
        _run_light(make, _LightInstance, declared, flags.value)
    finally:
        logging.getLogger().removeHandler(handler)


class _LightInstance(Instance):
    """An instance that the scheduler of light components lends to a component's functions."""

    def __new__(cls, lending: _Lending) -> "_LightInstance":
        return _Instance.__new__(cls, None, False, lending)

    def __init__(self, lending: _Lending) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        raise UsageError(
            _fault(
                "light-instance", f"{self.name} is a light component's instance; run_light begins and ends it")
        )

    def finish(self) -> None:
        """Ends all conduits on which this instance sends."""
        _Instance.finish(self)
