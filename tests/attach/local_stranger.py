"""Another user of this machine, at the socket of a run.

usage: local_stranger.py connect ADDRESS COUNT connects so often, and holds what it may; prints how often it got
through
       local_stranger.py listen NAME                 listens at an abstract name; prints what it hears, as a
       number of bytes
Says "ready" when it begins. It becomes the user `nobody` first.
"""

import os
import resource
import socket
import sys

NOBODY = 65534


def place(address):
    return "\0" + address[1:] if address.startswith("@") else address


def connect(address, count):
    """The connections are held until no descriptors are left, and then all are closed at once."""
    held, through, most = [], 0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 50
    for _ in range(count):
        one = socket.socket(socket.AF_UNIX)
        try:
            one.connect(place(address))
            through += 1
            held.append(one)
        except OSError:
            one.close()
        if len(held) >= most:
            held.clear()
    print(through, flush=True)
    sys.stdin.read()  # it holds on to what it has


def listen(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place(name))
    listener.listen()
    print("ready", flush=True)
    one, _ = listener.accept()
    heard = 0
    while got := one.recv(65536):
        heard += len(got)
    print(heard, flush=True)


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20_000), hard))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    if sys.argv[1] == "connect":
        print("ready", flush=True)
        connect(sys.argv[2], int(sys.argv[3]))
    else:
        listen(sys.argv[2])
