"""The mapper: one function that makes messages from the messages of one pass."""

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
    """A mapper is between submodels: it makes the messages on its O_F ports from those on its F_INIT ports.
    Extend it with the ports and with `map`. It is a `Submodel`, so `run_light` and `run` also take it.

    The class does the reuse loop, times, settings overlays and slots: a sent message has the latest timestamp
    and the earliest next timestamp of the received ones, and their overlay."""

    inputs: Iterable[str] | None = None
    """The names of the ports that receive (F_INIT); ``name[]`` is a vector port. None: those of the model."""
    outputs: Iterable[str] | None = None
    """The names of the ports that send (O_F), likewise."""
    instance: Instance
    """The instance in which the mapper runs, for settings and the log; set before `map` is called."""

    def __init__(self, instance: Instance | None = None) -> None:
        """`run_light` gives the instance; the mapper does not need it yet."""

    @abstractmethod
    def map(self, messages: Messages) -> Mapping[str, Any]:
        """Makes the messages of a pass.

        Args:
            messages: The `Message` of each connected F_INIT port, by the port's name. For a vector port, it is
                a list with one message for each slot.

        Returns:
            The data to send on each O_F port, by the port's name. For a vector port, it is a list with one item
            for each slot. If an item is a `Message`, its data is sent. Ports that are not connected can be left
            out.
"""

    def initialise(self, instance: Instance) -> None:
        """Receives the messages of a pass."""
        self.instance = instance
        self._came: Messages = {}
        for port in connected(instance, Operator.F_INIT):
            if instance.is_vector_port(port):
                slots = range(instance.get_port_length(port))
                self._came[port] = [instance.receive(port, slot) for slot in slots]
            else:
                self._came[port] = instance.receive(port)

    def is_done(self) -> bool:
        """A mapper makes no steps."""
        return True

    def observe(self, instance: Instance) -> None:
        """A mapper makes no steps."""

    def solve(self, instance: Instance) -> None:
        """A mapper makes no steps."""

    def observe_final(self, instance: Instance) -> None:
        """Sends the messages that `map` makes."""
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
    """Joins the run as a mapper, and maps as long as messages come. An exception of the mapper ends the run
    with its text.

    Raises:
        RegistrationError: There is no run, or the ports do not fit the model.
    """
    ports = None
    if mapper.inputs is not None or mapper.outputs is not None:
        ports = {Operator.F_INIT: mapper.inputs or (), Operator.O_F: mapper.outputs or ()}
    run_submodel(Instance(ports, mapper.flags), mapper)


def connected(instance: Instance, operator: Operator) -> list[str]:
    """Returns the connected ports of an operator."""
    return [port for port in instance.list_ports().get(operator, ()) if instance.is_connected(port)]


def _times(came: Messages) -> tuple[float, float | None]:
    messages = [one for some in came.values() for one in (some if isinstance(some, list) else [some])]
    timestamp = max((message.timestamp for message in messages), default=0.0)
    nexts = [message.next_timestamp for message in messages if message.next_timestamp is not None]
    next_timestamp = min(nexts, default=None)
    if next_timestamp is None or TimeSeries().is_before(next_timestamp, timestamp):
        return timestamp, None
    # The next timestamp may be meant to equal the timestamp, but be a little less because of rounding in sums.
    return timestamp, max(next_timestamp, timestamp)


def _data(made: Any) -> Any:
    return made.data if isinstance(made, Message) else made


def _incomplete(port: str, slot: str = "") -> UsageError:
    text = (f'the mapper made no message for port "{port}"{slot}; it makes one for each slot of each port that '
            f'is connected')
    return UsageError(_fault("mapper-incomplete", text))
