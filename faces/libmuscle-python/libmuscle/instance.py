"""The instance: a simulation code joins a run with it."""

import logging
from enum import Flag, auto
from typing import Any

import ligament
from ymmsl.v0_2 import Operator, Reference

from libmuscle._join import join_by_hand
from libmuscle._values import (
    message_from_ligament,
    message_to_ligament,
    settings_from_ligament,
    state_from_ligament,
    state_to_ligament,
)
from libmuscle.communicator import Message
from libmuscle.errors import PortNameError

_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_TYPES = ("str", "int", "float", "bool", "[int]", "[float]", "[[float]]")


class InstanceFlags(Flag):
    """Properties of an instance, to be combined by ``|``."""

    DONT_APPLY_OVERLAY = auto()
    """Overlays that come with F_INIT messages are not applied; `receive_with_settings` hands them over."""
    USES_CHECKPOINT_API = auto()
    """The code saves its state by `save_snapshot` and the calls that belong to it."""
    KEEPS_NO_STATE_FOR_NEXT_USE = auto()
    """The code keeps nothing from one pass of the reuse loop to the next."""
    STATE_NOT_REQUIRED_FOR_NEXT_USE = auto()
    """The code keeps something from one pass to the next, but can do without it."""


class Instance:
    """An instance of a component in a running model.

    Args:
        ports: The names of the ports by operator; ``name[]`` is a vector port. Without them, the model's.
        flags: Properties of this instance.

    Raises:
        RuntimeError: There is no run to join, or the ports do not fit the model.
    """

    def __init__(
        self, ports: dict[Operator, list[str]] | None = None, flags: InstanceFlags = InstanceFlags(0)
    ) -> None:
        join_by_hand()
        named = None if ports is None else {operator.name: names for operator, names in ports.items()}
        self._flags = InstanceFlags(flags)
        core_flags = ligament.InstanceFlags.NONE
        for flag in self._flags:
            core_flags |= ligament.InstanceFlags[flag.name]
        self._core = ligament.Instance(named, core_flags)
        self._instance_id = Reference(self._core.name)
        # Bound once, since each message needs them.
        self._send, self._receive = self._core.send, self._core.receive
        self._let_lines_through()

    def _let_lines_through(self) -> None:
        """Lets Python's root logger have the lines that the model wants in the run's log. By itself it drops
        those below WARNING."""
        level = str(self._core.get_setting("muscle_remote_log_level", None, "")).upper()
        root = logging.getLogger()
        if level in _LOG_LEVELS and not root.isEnabledFor(getattr(logging, level)):
            root.setLevel(level)

    def reuse_instance(self) -> bool:
        """Returns true if there is another pass of the reuse loop. It waits for the messages of the F_INIT
        ports."""
        return self._core.reuse_instance()

    def error_shutdown(self, message: str) -> None:
        """Writes an error to the run's log and leaves the run: the instance's conduits end. The run fails only
        if the process then ends with another exit status than 0, or if a peer needs a message of it."""
        if not self._core.is_over:
            self._core.log(ligament.LogLevel.CRITICAL, str(message))
        self._core.finish()

    def list_settings(self) -> list[str]:
        """Returns the names of the settings that this instance can ask for, in alphabetical order."""
        return sorted(self._core.list_settings())

    def get_setting(self, name: str, typ: str | None = None, *, default: Any = None) -> Any:
        """Returns the value of a setting, with the overlay applied.

        Args:
            name: The name, without that of the component.
            typ: "str", "int", "float", "bool", "[int]", "[float]" or "[[float]]"; None for any.
            default: The value to return if the setting is not set.

        Raises:
            KeyError: The setting is not set, and there is no default.
            TypeError: The value is of another type.
            ValueError: There is no such type.
        """
        if typ is not None and typ not in _TYPES:
            raise ValueError(f'setting "{name}": there is no type {typ!r}; it is one of {", ".join(_TYPES)}')
        if default is None:
            return self._core.get_setting(name, typ)
        return self._core.get_setting(name, typ, default)

    def list_ports(self) -> dict[Operator, list[str]]:
        """Returns the names of the ports by operator. Operators without ports are left out."""
        listed = {Operator[operator.name]: names for operator, names in self._core.list_ports().items()}
        return {operator: names for operator, names in listed.items() if names}

    def is_connected(self, port: str) -> bool:
        """Returns true if a conduit is attached to the port.

        Raises:
            KeyError: There is no such port.
        """
        try:
            return self._asked(self._core.is_connected, port)
        except PortNameError:
            # The port for overlays is there only if a conduit leads to it.
            if port == "muscle_settings_in":
                return False
            raise

    def is_vector_port(self, port: str) -> bool:
        """Returns true if the port has slots.

        Raises:
            KeyError: There is no such port.
        """
        return self._asked(self._core.is_vector_port, port)

    def is_resizable(self, port: str) -> bool:
        """Returns true if `set_port_length` may be called for the port.

        Raises:
            KeyError: There is no such port.
        """
        return self._asked(self._core.is_resizable, port)

    def get_port_length(self, port: str) -> int:
        """Returns the number of slots of a vector port.

        Raises:
            KeyError: There is no such port.
            RuntimeError: The port has no slots.
        """
        return self._asked(self._core.get_port_length, port)

    def set_port_length(self, port: str, length: int) -> None:
        """Sets the number of slots of a resizable port.

        Raises:
            KeyError: There is no such port.
            RuntimeError: The port is not resizable.
        """
        self._asked(lambda name: self._core.set_port_length(name, length), port)

    def _asked(self, question: Any, port: str) -> Any:
        try:
            return question(port)
        except ligament.UsageError as error:
            if any(port in names for names in self._core.list_ports().values()):
                raise
            raise PortNameError(str(error)) from None

    def send(self, port_name: str, message: Message, slot: int | None = None) -> None:
        """Sends a message. It returns once the data is stored; later changes to it are never seen.

        Args:
            port_name: An O_I or O_F port.
            message: The message.
            slot: The slot of a vector port.

        Raises:
            RuntimeError: There is no such port, it does not send, or the slot is wrong or missing.
            TypeError: The data holds a value that messages cannot hold, and the port is connected.
        """
        converted = message_to_ligament(message)
        try:
            self._send(port_name, converted, slot)
        except ligament.UnsendableError:
            if self._core.is_connected(port_name):
                raise
            # The message goes to nobody, so its data may be anything. The call is checked without them.
            converted.data = None
            self._send(port_name, converted, slot)

    def receive(
        self, port_name: str, slot: int | None = None, default: Message | None = None
    ) -> Message:
        """Waits for the next message of a port and returns it; its `settings` are None.

        Args:
            port_name: An F_INIT or S port.
            slot: The slot of a vector port.
            default: The message to return if nothing is connected to the port.

        Raises:
            RuntimeError: The port is not connected and there is no default; there is no such port, or it does
                not receive; its sender has ended.
        """
        got = self._receive(port_name, slot, default)
        if got is default:
            return got
        return message_from_ligament(got)

    def receive_with_settings(
        self, port_name: str, slot: int | None = None, default: Message | None = None
    ) -> Message:
        """As `receive`, but the message has the overlay that came with it, which is not compared."""
        got = self._core.receive_with_settings(port_name, slot, default)
        if got is default:
            return got
        message = message_from_ligament(got)
        message.settings = settings_from_ligament(got.settings)
        return message

    def resuming(self) -> bool:
        """Returns true in the first pass after the run was resumed."""
        return self._snapshot_call("resuming")()

    def should_init(self) -> bool:
        """Returns true if the code must receive its F_INIT messages and set its state."""
        return self._snapshot_call("should_init")()

    def load_snapshot(self) -> Message:
        """Returns the message that was saved, if `resuming` has returned true."""
        return state_from_ligament(self._snapshot_call("load_snapshot")())

    def should_save_snapshot(self, timestamp: float) -> bool:
        """Returns true if the code must save its state now.

        Args:
            timestamp: The model time, s.
        """
        return self._snapshot_call("should_save_snapshot")(timestamp)

    def save_snapshot(self, message: Message) -> None:
        """Saves a message with the code's state, if `should_save_snapshot` has returned true."""
        self._save("save_snapshot", message)

    def should_save_final_snapshot(self) -> bool:
        """Returns true if the code must save its state at the end of this pass. It waits for the F_INIT
        messages of the next pass."""
        return self._snapshot_call("should_save_final_snapshot")()

    def save_final_snapshot(self, message: Message) -> None:
        """Saves a message with the code's state, if `should_save_final_snapshot` has returned true."""
        self._save("save_final_snapshot", message)

    def _save(self, name: str, message: Message) -> None:
        call = self._snapshot_call(name)
        if message is None:
            raise RuntimeError(f"{name} needs the message that holds the state, not None")
        call(state_to_ligament(message))

    def _snapshot_call(self, name: str) -> Any:
        if InstanceFlags.USES_CHECKPOINT_API not in self._flags:
            raise RuntimeError(
                f"{name} belongs to the calls of checkpoints: make the instance with"
                " InstanceFlags.USES_CHECKPOINT_API"
            )
        return getattr(self._core, name)

