"""All calls of MPWide's Python module: calls.py ONE_OR_TWO PORT. Both ends run the same program."""

import array
import sys

import MPWide as functions
from MPWide import *  # noqa: F403

methods = functions.MPWide_python()
first, port = sys.argv[1] == "one", int(sys.argv[2])
LENGTH = 300_001


def pattern(length, begin):
    return bytes((begin + i * 7) % 251 for i in range(length))


def calls_on_a_path():
    """The calls of MPWide's class."""
    assert methods.MPW_DNSResolve(b"localhost") == functions.MPW_DNSResolve("127.0.0.1") == "127.0.0.1"
    assert methods.MPW_DNSResolve("no.such.host.invalid") is None
    methods.MPW_setAutoTuning(False)
    methods.MPW_setPacingRate(1e9)
    assert methods.MPW_getPacingRate() == 1e9
    path = methods.MPW_CreatePath("localhost" if first else b"localhost", port, 4)
    assert path == 0 and methods.MPW_NumChannels() == 4
    methods.MPW_setWin(3, 262144)
    methods.MPW_setChunkSize(65536, 65536)
    methods.MPW_Print()
    one, two = pattern(LENGTH, 1), pattern(LENGTH // 2, 2)
    own, others = (one, two) if first else (two, one)
    room = bytearray(LENGTH)
    assert methods.MPW_SendRecv(own, len(own), room, len(others), path) == 0 and room[:len(others)] == others
    room = bytearray(LENGTH)
    assert methods.MPW_DSendRecv(own, len(own), room, LENGTH, path) == len(others)
    assert room[:len(others)] == others
    return path


def buffers_of_each_kind(path):
    """Each end sends the same numbers in another kind of buffer."""
    numbers = array.array("d", [1.5, -2.5, 3.5])
    writable, fixed = memoryview(bytearray(numbers)), memoryview(bytes(numbers))
    for buffer in (numbers, bytes(numbers), bytearray(numbers), writable, fixed, writable.cast("d"), fixed[:8]):
        room = array.array("d", [0.0, 0.0, 0.0])
        size = memoryview(buffer).nbytes
        assert methods.MPW_SendRecv(buffer, size, room, size, path) == 0
        assert room[:size // 8] == numbers[:size // 8]
    room = bytearray(5)
    assert methods.MPW_SendRecv("hello world", 5, room, 5, path) == 0 and room == b"hello"
    # A size of 0 means no buffer.
    if first:
        assert methods.MPW_Send("bye", 3, path) == methods.MPW_SendRecv(None, 0, room, 5, path) == 0
        assert room == b"later"
    else:
        assert methods.MPW_Recv(room, 3, path) == methods.MPW_SendRecv(b"later", 5, "", 0, path) == 0
        assert room == b"byelo"


def calls_on_streams():
    """The calls of MPWide's functions, on streams 4 and 5."""
    assert MPW_Init(["localhost", b"127.0.0.1"], [port + 4, port + 5], 2) == 0
    both, own, room = [4, 5], pattern(LENGTH, 3), bytearray(LENGTH)
    assert MPW_SendRecv(own, LENGTH, room, LENGTH, both, 2) == 0 and room == own
    room = bytearray(LENGTH)
    if first:
        assert MPW_Send(own, LENGTH, both, 2) is None
    else:
        assert MPW_Recv(room, LENGTH, both, 2) is None and room == own
    room = bytearray(LENGTH)
    assert MPW_DSendRecv(own, 10, room, LENGTH, both, 2) == 10 and room[:11] == own[:10] + b"\0"
    out, back = ([4], [5]) if first else ([5], [4])
    assert MPW_Cycle(own, LENGTH, room, LENGTH, out, 1, back, 1) is None and room == own
    assert MPW_DCycle(own, 20, room, LENGTH, out, 1, back, 1) == 20
    MPW_Barrier(4)
    MPW_CloseChannels(both, 2)
    MPW_ReOpenChannels(both, 2)
    assert MPW_SendRecv(own, 100, room, 100, both, 2) == 0


def a_relay():
    """One end passes on what the other one sends by stream 6 to stream 7, and back."""
    assert MPW_Init(["localhost"] * 2, [port + 6, port + 7], 2) == 0
    if first:
        return MPW_Relay([6], [7], 1)
    room = bytearray(3)
    assert MPW_Send(b"abc", 3, [6], 1) is MPW_Recv(room, 3, [7], 1) is None and room == b"abc"
    assert MPW_Send(b"def", 3, [7], 1) is MPW_Recv(room, 3, [6], 1) is None and room == b"def"
    MPW_CloseChannels([6, 7], 2)


path = calls_on_a_path()
buffers_of_each_kind(path)
calls_on_streams()
a_relay()
assert MPW_DestroyPath(path) == 0 and MPW_DestroyPath(path) < 0
assert MPW_Finalize() == 1
print("done")
