"""Somebody who connects to a port of a run without its key, in one of several ways.

usage: stranger.py KIND ADDRESS PORT SECONDS. Prints a list of what it heard: the bytes of each answer, 0 where
it was only closed, -1 where nothing came in this time.
"""

import json
import os
import socket
import ssl
import sys
import time

kind, address, port, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])


def connect():
    # A server may be slow to accept the connection, so this is no answer.
    return socket.create_connection((address, port), timeout=max(60.0, seconds))


def hear(connection):
    connection.settimeout(seconds)
    try:
        return len(connection.recv(65536))
    except TimeoutError:
        return -1
    except OSError:
        return 0


def say(pieces, pause=0.0):
    """Sends pieces on one connection, and returns the answer."""
    one = connect()
    try:
        for piece in pieces:
            one.sendall(piece)
            time.sleep(pause)
    except OSError:
        pass  # it was closed: that is no answer
    return hear(one)


def client_hello():
    """The first message of a TLS client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    outgoing = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), outgoing).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def half_open():
    """Makes many connections at once that send nothing."""
    return [hear(one) for one in [connect() for _ in range(64)]]


def closing():
    """Makes many connections that close at once."""
    for _ in range(200):
        connect().close()
    return []


def flood(most=3):
    """Makes 5000 connections a second that send nothing, each for a moment."""
    began, held, made = time.monotonic(), [], 0
    while (passed := time.monotonic() - began) < min(seconds, most):
        while made < 5000 * passed:
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex((address, port))
            held.append(one)
            made += 1
            if len(held) > 500:
                held.pop(0).close()
        time.sleep(0.001)
    return [0] * (made >= 5000)


KINDS = {
    "flood": flood,
    "long flood": lambda: flood(seconds),
    "silent": half_open,
    "closing": closing,
    "slow": lambda: [say([b"x"] * 40, pause=0.2)],
    "oversized": lambda: [say([bytes(1 << 20)] * 64)],
    "garbage": lambda: [say([os.urandom(size)]) for size in (1, 128, 4096)],
    "http": lambda: [say([b"GET / HTTP/1.1\r\nHost: somebody\r\n\r\n"])],
    "tls": lambda: [say([client_hello()])],
}
print(json.dumps(KINDS[kind]()))
