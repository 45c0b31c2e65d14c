"""The two ends of a link, as `ssh -L` has them: `look.py forward ADDRESS PORT` passes connections to a port of
ADDRESS on to the same port of the loopback; `look.py ask ADDRESS PORT ENTRY PATH COUNT` asks there for COUNT
pictures, and prints for each how many seconds it took, and its bytes. ENTRY is the secret of a link, or the
headers of a session as JSON."""

import http.client
import json
import socket
import sys
import threading
import time


def session(line, port, secret):
    """Opens a session of the page's server. Returns the headers that identify it."""
    headers = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}", "X-Ligament": "1",
               "Content-Type": "application/json"}
    line.request("POST", "/api/session", json.dumps({"secret": secret}), headers)
    answer = line.getresponse()
    told = json.loads(answer.read())
    if answer.status != 200:
        sys.exit(f"the page's server lets nobody in: {told}")
    return {"Host": f"127.0.0.1:{port}", "Cookie": answer.headers["set-cookie"].split(";")[0],
            "X-Ligament": told["word"]}


def ask(address, port, entry, path, count):
    line = http.client.HTTPConnection(address, port, timeout=60)
    headers = json.loads(entry) if entry.startswith("{") else session(line, port, entry)
    has, found = 0, 0
    begun = time.monotonic()
    while found < count:
        line.request("GET", f"{path}&has={has}", headers=headers)
        answer = line.getresponse()
        body = answer.read()
        head, _, picture = body.partition(b"\n")
        told = json.loads(head)
        if answer.status != 200:
            sys.exit(f"no picture: {told}")
        has = told.get("frame", has)
        if told.get("picture"):
            if sum(told["picture"]["block_bytes"]) != len(picture):
                sys.exit("a picture has come in part")
            print(time.monotonic() - begun, len(body), flush=True)
            found, begun = found + 1, time.monotonic()


def pass_on(source, target):
    while data := source.recv(1 << 16):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def forward(address, port):
    with socket.create_server((address, port)) as server:
        print("listens", flush=True)
        while True:
            came, _ = server.accept()
            page = socket.create_connection(("127.0.0.1", port))
            for ends in ((came, page), (page, came)):
                threading.Thread(target=pass_on, args=ends, daemon=True).start()


if __name__ == "__main__":
    what, address, port, *rest = sys.argv[1:]
    if what == "forward":
        forward(address, int(port))
    else:
        entry, path, count = rest
        ask(address, int(port), entry, path, int(count))
