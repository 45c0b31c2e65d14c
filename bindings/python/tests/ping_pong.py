"""MPWTest of MPWide, rewritten. One end listens, the other one opens, and both send each other the same message
several times. The bytes are checked. Start `ping_pong.py listen KEY :PORT` at one end, and `ping_pong.py open
KEY HOST:PORT ROUNDS BYTES` at the other."""

import sys
import time

from ligament import ClosedError, path

MINUTE = 60.0


def listen(key, at):
    with path.listen(key, at) as link:
        print(link.addresses[0].rpartition(":")[2], flush=True)
        while True:
            try:
                link.send(link.receive(MINUTE), MINUTE)
            except ClosedError:
                return


def ping(key, to, rounds, length):
    message = bytes(index * 7 % 256 for index in range(length))
    with path.open(key, to) as link:
        link.wait_connected(MINUTE)
        begin = time.monotonic()
        for _ in range(rounds):
            assert link.send_receive(message, MINUTE) == message
        print(f"{rounds} x {length} bytes to and fro: {(time.monotonic() - begin) / rounds * 1e3:.3f} ms each")


if sys.argv[1] == "listen":
    listen(*sys.argv[2:4])
else:
    ping(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
