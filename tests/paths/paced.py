"""Sends a message at a pace, over a path that it opens: `paced KEY HOST:PORT BYTES-IN-A-SECOND BYTES`;
`paced KEY HOST:0` listens for it, and says its port and when the message has come."""

import sys

from ligament import path

MINUTE = 60.0

if len(sys.argv) == 3:
    with path.listen(*sys.argv[1:]) as listens:
        print(listens.addresses[0].rpartition(":")[2], flush=True)
        print(len(listens.receive(MINUTE)), flush=True)
else:
    with path.open(*sys.argv[1:3], compress=False, pace=int(sys.argv[3])) as opens:
        opens.send(bytes(int(sys.argv[4])), MINUTE)
