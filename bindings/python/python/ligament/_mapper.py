"""The mapper: one function makes messages of messages that came together."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from ._enums import Operator
from ._errors import UsageError
from ._instance import Instance
from ._ligament import Message, TimeSeries, _fault
from ._submodel import Submodel, run_submodel

Messages = dict[str, Message | list[Message]]


class Mapper(Submodel):
    """Stands between submodels: what comes on all its F_INIT ports becomes what goes out on its O_F ports.

    Extend it with the ports and with `map`. It is a `Submodel`, so `run_light` and `run` take it too. The reuse
    loop, the times, settings overlays and slots are done here: what is sent has the latest of the timestamps
    that came, the earliest of the next timestamps, and the overlay.
"""

    inputs: Iterable[str] | None = None
    """The names of the ports that receive (F_INIT); ``name[]`` is a vector port. None: those of the model."""
    outputs: Iterable[str] | None = None
    """The names of the ports that send (O_F), likewise."""
    instance: Instance
    """The instance that it runs in, for settings and the log; set before `map` is called."""

    def __init__(self, instance: Instance | None = None) -> None:
        """`run_light` gives the instance; nothing has to be done with it here."""

    @abstractmethod
    def map(self, messages: Messages) -> Mapping[str, Any]:
        """Makes the messages of a pass.

        Args:
            messages: By the name of each F_INIT port that is connected, its `Message`; a list of those of its
                slots for a vector port.

        Returns:
            By the name of each O_F port, the data to send (of a `Message`, its data); a list with one for each
            slot for a vector port. Ports that are not connected can be left out.
"""

    def initialise(self, instance: Instance) -> None:
        """Receives what came."""
        self.instance = instance
        self._came: Messages = {}
        for port in connected(instance, Operator.F_INIT):
            if instance.is_vector_port(port):
                slots = range(instance.get_port_length(port))
                self._came[port] = [instance.receive(port, slot) for slot in slots]
            else:
                self._came[port] = instance.receive(port)

    def is_done(self) -> bool:
        """It makes no steps."""
        return True

    def observe(self, instance: Instance) -> None:
        """It makes no steps."""

    def solve(self, instance: Instance) -> None:
        """It makes no steps."""

    def observe_final(self, instance: Instance) -> None:
        """Sends what `map` makes of what came."""
        came, self._came = self._came, {}
        timestamp, next_timestamp = _times(came)
        given = self.map(came)
        if not isinstance(given, Mapping):
            text = (f"map gave something of type {type(given).__name__}; it gives a dict with the data for "
                    f"each port")
            raise UsageError(_fault("mapper-incomplete", text))
        made = dict(given)
        for port in [*made, *(port for port in connected(instance, Operator.O_F) if port not in made)]:
            if not instance.is_connected(port):
                continue
            if port not in made:
                raise _incomplete(port)
            if not instance.is_vector_port(port):
                instance.send(port, Message(timestamp, next_timestamp, _data(made[port])))
                continue
            values = list(made[port])
            if instance.is_resizable(port):
                instance.set_port_length(port, len(values))
            slots = instance.get_port_length(port)
            if len(values) < slots:
                raise _incomplete(port, f" slot {len(values)}")
            for slot, value in enumerate(values):
                instance.send(port, Message(timestamp, next_timestamp, _data(value)), slot)


def run_mapper(mapper: Mapper) -> None:
    """Joins the run as a mapper, and maps for as long as messages come. An exception of its ends the run with
    its text.

    Raises:
        RegistrationError: There is no run, or the ports do not fit the model.
    """
    ports = None
    if mapper.inputs is not None or mapper.outputs is not None:
        ports = {Operator.F_INIT: mapper.inputs or (), Operator.O_F: mapper.outputs or ()}
    run_submodel(Instance(ports), mapper)


def connected(instance: Instance, operator: Operator) -> list[str]:
    """The ports of an operator to which conduits lead."""
    return [port for port in instance.list_ports().get(operator, ()) if instance.is_connected(port)]


def _times(came: Messages) -> tuple[float, float | None]:
    messages = [one for some in came.values() for one in (some if isinstance(some, list) else [some])]
    timestamp = max((message.timestamp for message in messages), default=0.0)
    nexts = [message.next_timestamp for message in messages if message.next_timestamp is not None]
    next_timestamp = min(nexts, default=None)
    if next_timestamp is None or TimeSeries().is_before(next_timestamp, timestamp):
        return timestamp, None
    # The same time may have been added up in another way, and be a little less.
    return timestamp, max(next_timestamp, timestamp)


def _data(made: Any) -> Any:
    return made.data if isinstance(made, Message) else made


def _incomplete(port: str, slot: str = "") -> UsageError:
    text = (f'the mapper made no message for port "{port}"{slot}; it makes one for each slot of each port that '
            f'is connected')
    return UsageError(_fault("mapper-incomplete", text))
