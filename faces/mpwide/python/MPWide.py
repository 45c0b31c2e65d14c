"""MPWide's Python names over `libMPW.so` of this face, which is in the folder above this module.

MPWide has had two modules: one with functions (SWIG), and one with the class `MPWide_python` (Cython). Both are
here. Each call is the C++ function of the same name (`MPWide.h`). So a failure is a negative number if the
function returns an int; otherwise it ends the program with status 1. Arguments that no call could take raise a
TypeError, a ValueError or an OverflowError before anything is sent.

A sent buffer is `bytes`, a `bytearray`, a `str` of ASCII characters, or an array (NumPy, `array`,
`memoryview`). A received one is a `bytearray` or a writable array. Arrays are contiguous. Sizes are in bytes.
"""

import contextlib
import ctypes
import functools
import operator
import re
import sys
from pathlib import Path

PacingMode = 1

MAX_INT, MAX_LONG_LONG = 2**31 - 1, 2**63 - 1
# Parameters as the Itanium C++ ABI writes them in a symbol; S_ and S0_ repeat the first and the second pointer.
PARAMETERS = {"Pc": ctypes.c_void_p, "Pi": ctypes.c_void_p, "S_": ctypes.c_void_p, "S0_": ctypes.c_void_p,
              "i": ctypes.c_int, "x": ctypes.c_longlong, "b": ctypes.c_bool, "d": ctypes.c_double}


def _load():
    file = Path(__file__).resolve().parent.parent / "libMPW.so"
    try:
        return ctypes.CDLL(str(file))
    except OSError as error:
        raise ImportError(f"MPWide: {error}. The module uses {file}: install both by "
                          "`make -C faces/mpwide install PREFIX=…`, and put PREFIX/lib/python into PYTHONPATH"
                          ) from None


_library = _load()


@functools.cache
def _function(name, parameters, result):
    function = _library[f"_Z{len(name)}{name}{parameters}"]
    function.argtypes = [PARAMETERS[word] for word in re.findall("P[ci]|S0?_|[ixbd]", parameters)]
    function.restype = result
    return function


def _call(name, parameters, *arguments, result=ctypes.c_int):
    return _function(name, parameters, result)(*arguments)


def _certain(name, parameters, *arguments, result=None):
    """Calls a function that ends the process if it fails; Python's output would be lost then."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.flush()
    return _call(name, parameters, *arguments, result=result)


def _number(name, value, maximum=MAX_INT):
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is of type {type(value).__name__}; it is a whole number") from None
    if not -maximum - 1 <= number <= maximum:
        raise OverflowError(f"{name} is {number}; it is between {-maximum - 1} and {maximum}")
    return number


def _text(name, value):
    text = value.encode() if isinstance(value, str) else value
    if not isinstance(text, bytes):
        raise TypeError(f"{name} is of type {type(value).__name__}; it is a str or bytes")
    if b"\0" in text:
        raise ValueError(f"{name} is {value!r}; a name of a host has no zero byte")
    return text


def _view(names, buffer, size):
    """The buffer's memory, which has at least `size` bytes. `names` are those of buffer and size."""
    name, size_name = names
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError(f"{name} is of type {type(buffer).__name__}; it is bytes, a bytearray or an array"
                        ) from None
    if "O" in view.format:
        raise ValueError(f"{name} is an array of Python objects; give an array of numbers")
    if not view.c_contiguous:
        raise ValueError(f"{name} is not contiguous in memory, in the order of C; give a copy that is")
    if size > view.nbytes:
        raise ValueError(f"{size_name} is {size}, and {name} has {view.nbytes} bytes")
    return view


def _size(name, value):
    size = _number(name, value, MAX_LONG_LONG)
    if size < 0:
        raise ValueError(f"{name} is {size}; it is 0 or more bytes")
    return size


def _data(buffer, size, names=("sendbuf", "sendsize")):
    """A buffer that is sent, and its size, as arguments of a function."""
    size = _size(names[1], size)
    if isinstance(buffer, str):
        if not buffer.isascii():
            raise ValueError(f"{names[0]} is a str with characters of several bytes each; send "
                             f"{names[0]}.encode(), and the length of that")
        buffer = buffer.encode()
    if size == 0:
        return None, 0
    view = _view(names, buffer, size)
    if not view.readonly:
        return (ctypes.c_char * view.nbytes).from_buffer(view), size
    # ctypes gives the address of read-only memory for `bytes` alone.
    return buffer if isinstance(buffer, bytes) else bytes(view), size


def _room(buffer, size, names=("recvbuf", "recvsize")):
    """A buffer that is filled, and its size, as arguments of a function."""
    size = _size(names[1], size)
    if size == 0:
        return None, 0
    if isinstance(buffer, str) or (view := _view(names, buffer, size)).readonly:
        raise TypeError(f"{names[0]} is of type {type(buffer).__name__} and cannot change; receive into "
                        f"bytearray({size}), or into a writable array")
    return (ctypes.c_char * view.nbytes).from_buffer(view), size


def _numbers(name, values, count):
    """An array of the numbers of streams or ports, and their count, as arguments of a function."""
    count = _number("the number of streams", count)
    try:
        numbers = [_number(name, value) for value in values]
    except TypeError as error:
        raise TypeError(f"{name} is a list of whole numbers: {error}") from None
    if not 0 <= count <= len(numbers):
        raise ValueError(f"{count} streams were asked for, and {name} has {len(numbers)} numbers")
    return (ctypes.c_int * len(numbers))(*numbers), count


def MPW_DNSResolve(host):
    """The IPv4 address of a host as a str, or its IPv6 address if it has no other; None if it has none."""
    address = _call("MPW_DNSResolve", "Pc", _text("host", host), result=ctypes.c_char_p)
    return None if address is None else address.decode()


def MPW_setAutoTuning(b):
    """Says if paths that are made from now on get MPWide's own pacing rate; true at first."""
    _call("MPW_setAutoTuning", "b", bool(b), result=None)


def MPW_Print():
    """Prints number, port and host of each stream to the standard error."""
    _call("MPW_Print", "v", result=None)


def MPW_NumChannels():
    """One more than the highest number of a stream."""
    return _call("MPW_NumChannels", "v")


def MPW_CreatePath(host, server_side_base_port, num_streams):
    """Connects a path, and returns its number, or a negative error number. Waits for the other end. Host "0"
    means that this end only listens."""
    host = _text("host", host)
    return _library.MPW_CreatePath_c(host, _number("server_side_base_port", server_side_base_port),
                                     _number("num_streams", num_streams))


def MPW_DestroyPath(path):
    """Closes a path; bytes under way arrive first. Returns 0, or a negative error number."""
    return _call("MPW_DestroyPath", "i", _number("path", path))


def MPW_Init(url, server_side_ports, num_channels):
    """Makes and connects `num_channels` streams, each with a host of the list `url` and a port. Returns 0, or a
    negative error number."""
    if not isinstance(url, (list, tuple)):
        raise TypeError(f"url is of type {type(url).__name__}; it is a list with a host for each stream")
    hosts = [_text("url", host) for host in url]
    ports, count = _numbers("server_side_ports", server_side_ports, num_channels)
    if count > len(hosts):
        raise ValueError(f"{count} streams were asked for, and url has {len(hosts)} hosts")
    return _library.MPW_Init_c((ctypes.c_char_p * len(hosts))(*hosts), ports, count)


def MPW_setWin(channel, size):
    """Checks the number of the stream. Windows of TCP follow from the link here."""
    _certain("MPW_setWin", "ii", _number("channel", channel), _number("size", size))


def MPW_CloseChannels(channels, num_channels):
    """Closes streams; bytes under way arrive first."""
    _certain("MPW_CloseChannels", "Pii", *_numbers("channels", channels, num_channels))


def MPW_ReOpenChannels(channels, num_channels):
    """Connects closed streams again."""
    _certain("MPW_ReOpenChannels", "Pii", *_numbers("channels", channels, num_channels))


def MPW_Finalize():
    """Closes everything; bytes under way arrive first. Returns 1, as in MPWide."""
    return _call("MPW_Finalize", "v")


def MPW_SendRecv(sendbuf, sendsize, recvbuf, recvsize, path, num_channels=None):
    """Sends `sendsize` bytes and receives `recvsize`, on a path or, with `num_channels`, on a list of streams.
    Returns 0, or a negative error number; -1 if the other end has closed."""
    buffers = *_data(sendbuf, sendsize), *_room(recvbuf, recvsize)
    if num_channels is None:
        return _call("MPW_SendRecv", "PcxS_xi", *buffers, _number("path", path))
    return _call("MPW_SendRecv", "PcxS_xPii", *buffers, *_numbers("path", path, num_channels))


def MPW_DSendRecv(sendbuf, sendsize, recvbuf, maxrecvsize, path, num_channels=None):
    """Sends a message with its length, and receives one of at most `maxrecvsize` bytes, on a path or, with
    `num_channels`, on a list of streams. Returns the received length. A failure ends the program."""
    buffers = *_data(sendbuf, sendsize), *_room(recvbuf, maxrecvsize, ("recvbuf", "maxrecvsize"))
    if num_channels is None:
        return _certain("MPW_DSendRecv", "PcxS_xi", *buffers, _number("path", path), result=ctypes.c_int)
    return _certain("MPW_DSendRecv", "PcxS_xPii", *buffers, *_numbers("path", path, num_channels),
                    result=ctypes.c_longlong)


def MPW_Send(buf, size, path, num_channels=None):
    """Sends bytes on a path, and returns 0 or a negative error number; or, with `num_channels`, on a list of
    streams, and returns nothing: a failure ends the program."""
    data = _data(buf, size, ("buf", "size"))
    if num_channels is None:
        return _call("MPW_Send", "Pcxi", *data, _number("path", path))
    return _certain("MPW_Send", "PcxPii", *data, *_numbers("path", path, num_channels))


def MPW_Recv(buf, size, path, num_channels=None):
    """Receives `size` bytes into `buf`; path, streams and failures as for `MPW_Send`."""
    room = _room(buf, size, ("buf", "size"))
    if num_channels is None:
        return _call("MPW_Recv", "Pcxi", *room, _number("path", path))
    return _certain("MPW_Recv", "PcxPii", *room, *_numbers("path", path, num_channels))


def MPW_Relay(channels, channels2, num_channels):
    """Passes on what comes from each stream of one list to the stream of the other list, both ways, until the
    other ends are closed."""
    near, count = _numbers("channels", channels, num_channels)
    _certain("MPW_Relay", "PiS_i", near, *_numbers("channels2", channels2, count))


def _cycle(call, buffers, streams, result=None):
    ch_send, num_ch_send, ch_recv, num_ch_recv = streams
    return _certain(call, "PcxS_xPiiS0_i", *_data(*buffers[:2]), *_room(*buffers[2:]),
                    *_numbers("ch_send", ch_send, num_ch_send), *_numbers("ch_recv", ch_recv, num_ch_recv),
                    result=result)


def MPW_DCycle(sendbuf, sendsize, recvbuf, recvsize, ch_send, num_ch_send, ch_recv, num_ch_recv):
    """Sends a message with its length over one list of streams, and receives one of at most `recvsize` bytes
    over another. Returns the received length. A failure ends the program."""
    return _cycle("MPW_DCycle", (sendbuf, sendsize, recvbuf, recvsize),
                  (ch_send, num_ch_send, ch_recv, num_ch_recv), ctypes.c_longlong)


def MPW_Cycle(sendbuf, sendsize, recvbuf, recvsize, ch_send, num_ch_send, ch_recv, num_ch_recv):
    """Sends over one list of streams, and receives over another. A failure ends the program."""
    _cycle("MPW_Cycle", (sendbuf, sendsize, recvbuf, recvsize), (ch_send, num_ch_send, ch_recv, num_ch_recv))


def MPW_Barrier(channel):
    """Waits until the other end of a stream calls it as well."""
    _certain("MPW_Barrier", "i", _number("channel", channel))


def MPW_setChunkSize(sending, receiving):
    """Checks the sizes. Pieces follow from the link here."""
    _certain("MPW_setChunkSize", "ii", _number("sending", sending), _number("receiving", receiving))


def MPW_getPacingRate():
    """Highest rate of each stream over a long distance, bytes per second; -1: no limit."""
    return _call("MPW_getPacingRate", "v", result=ctypes.c_double)


def MPW_setPacingRate(rate):
    """Sets the rate that `MPW_getPacingRate` returns. A rate that is not possible ends the program."""
    try:
        rate = float(rate)
    except (TypeError, ValueError):
        raise TypeError(f"rate is {rate!r}; it is a number of bytes per second, or -1") from None
    _certain("MPW_setPacingRate", "d", rate)


class MPWide_python:
    """All calls as methods. MPWide's class has seven of them."""


__all__ = ["MPWide_python", "PacingMode", *(name for name in dir() if name.startswith("MPW_"))]
for _name in __all__[2:]:
    setattr(MPWide_python, _name, staticmethod(globals()[_name]))
