"""The end of a path whose partner goes away: partner.py CASE PORT."""

import sys

import MPWide

case, port = sys.argv[1], int(sys.argv[2])
path = MPWide.MPW_CreatePath("localhost", port, 2)
assert path >= 0
room = bytearray(1000)
if case == "stays":
    print("connected", flush=True)
    sys.stdin.read()
elif case == "exchanges":
    print("result", MPWide.MPW_SendRecv(b"", 0, room, 2, path))
else:
    # The line is still in Python's buffer when the call ends the program.
    print("a line")
    MPWide.MPW_DSendRecv(b"abc", 3, room, 1000, path)
    print("another line")
