"""The player of `ligament.testing`: an instance that makes the calls that a test asks for over a socket, and
answers each. It is a process of its own, because a process can be only one instance, and a test may play
several submodels."""

import copyreg
import os
import select
import sys
import threading
from multiprocessing.connection import Client
from typing import Any, NoReturn

import numpy as np

from ._errors import RunEndsError
from ._instance import Instance
from ._ligament import Array, Message, Settings


# Both ends are this package. An object of memory is sent as a message would hold it.
copyreg.pickle(Array, lambda array: (Array, (np.array(array.array), array.names,
                                             array.unit)))  # type: ignore[arg-type]
copyreg.pickle(Settings, lambda settings: (Settings, (settings.as_dict(),)))  # type: ignore[arg-type]


def parts_of(message: Message) -> tuple[float, float | None, Any, Settings | None]:
    """The parts of a message."""
    return message.timestamp, message.next_timestamp, message.data, message.settings


class Player:
    """The calls that the test may ask for."""

    def __init__(self) -> None:
        self.instance: Instance | None = None

    def begin(self, ports: dict[str, list[str]]) -> None:
        self.instance = Instance(ports)
        self.instance.reuse_instance()

    def send(self, port: str, message: tuple[Any, ...], slot: int | None) -> None:
        self.instance.send(port, Message(*message), slot=slot)

    def receive(self, port: str, slot: int | None, timeout: float | None) -> tuple[Any, ...]:
        return parts_of(self.instance.receive(port, slot=slot, timeout=timeout))

    def poll(self, port: str, slot: int | None) -> bool:
        return self.instance.poll(port, slot)

    def set_port_length(self, port: str, length: int) -> None:
        self.instance.set_port_length(port, length)

    def get_port_length(self, port: str) -> int:
        return self.instance.get_port_length(port)

    def finish(self) -> None:
        self.instance.finish()


def _end_run() -> NoReturn:
    """Ends this process, and with it the run. If the instance ended well, the submodel would go on."""
    os._exit(1)


def _end_with(test: int) -> None:
    """Ends the process when the test closes its end of the socket, also during a call."""
    gone = select.poll()
    gone.register(test, select.POLLRDHUP)
    gone.poll()
    _end_run()


def main() -> None:
    """Makes the calls that are asked for on the socket named by the only argument, until the instance ends or
    the test closes the socket."""
    with Client(sys.argv[1], "AF_UNIX") as test:
        threading.Thread(target=_end_with, args=(test.fileno(),), daemon=True).start()
        player, last = Player(), False
        while not last:
            try:
                what, *arguments = test.recv()
            except (EOFError, OSError):
                _end_run()
            try:
                answer = (None, getattr(player, what)(*arguments))
                last = what == "finish"
            except Exception as error:
                last = isinstance(error, RunEndsError)
                answer = (type(error).__name__, str(error))
            test.send(answer)


if __name__ == "__main__":
    main()
