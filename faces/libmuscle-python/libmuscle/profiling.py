"""The kinds of events in a profile."""

from enum import Enum


class ProfileEventType(Enum):
    """The activities of an instance, numbered as in the table `event_types` of `performance.sqlite`."""

    REGISTER = 0
    CONNECT = 4
    SEND = 2
    RECEIVE = 3
    RECEIVE_WAIT = 5
    RECEIVE_TRANSFER = 6
    RECEIVE_DECODE = 7
    SHUTDOWN_WAIT = 9
    DISCONNECT_WAIT = 8
    SHUTDOWN = 10
    DEREGISTER = 1
