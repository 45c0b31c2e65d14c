"""Plain TCP, to try networks: `receive` and `echo` listen, `send` and `talk` connect. Prints its results on
stdout."""

import hashlib
import json
import socket
import sys
import time


def listen(address, port):
    server = socket.create_server((address, int(port)),
                                  family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    print("listening", flush=True)
    return server


def receive(address, port):
    """Takes one connection and reads to its end."""
    server = listen(address, port)
    connection, _ = server.accept()
    digest, total, begun = hashlib.sha256(), 0, time.monotonic()
    while piece := connection.recv(1 << 20):
        digest.update(piece)
        total += len(piece)
    print(json.dumps({"bytes": total, "sha256": digest.hexdigest(), "seconds": time.monotonic() - begun}),
          flush=True)


def send(address, port, total):
    """Sends a number of bytes, which differ from block to block."""
    connection = socket.create_connection((address, int(port)))
    digest, left, number = hashlib.sha256(), int(total), 0
    while left:
        piece = (number.to_bytes(8, "little") * 8192)[:left]
        connection.sendall(piece)
        digest.update(piece)
        left -= len(piece)
        number += 1
    connection.close()
    print(json.dumps({"sha256": digest.hexdigest()}), flush=True)


def echo(address, port):
    """Sends back the bytes of each connection, one connection after the other."""
    server = listen(address, port)
    while True:
        connection, _ = server.accept()
        while piece := connection.recv(65536):
            connection.sendall(piece)


def talk(address, port):
    """Sends each line of stdin, and prints the answer with the round-trip time in s."""
    connection = socket.create_connection((address, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print("connected", flush=True)
    answers = connection.makefile()
    for line in sys.stdin:
        begun = time.monotonic()
        connection.sendall(line.encode())
        print(answers.readline().strip(), time.monotonic() - begun, flush=True)


if __name__ == "__main__":
    {"receive": receive, "send": send, "echo": echo, "talk": talk}[sys.argv[1]](*sys.argv[2:])
