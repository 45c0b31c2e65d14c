"""One message of 5 GiB, checksummed, with less than 1.2 times its size in extra memory."""

import threading
import time

SIZE = 5 << 30
NEEDED = 13 << 30


def available():
    with open("/proc/meminfo") as lines:
        fields = dict(line.split(":") for line in lines)
    return int(fields["MemAvailable"].split()[0]) << 10


MODEL = """ymmsl_version: v0.1
model:
  name: five
  components:
    a: {{implementation: a, ports: {{o_i: out}}}}
    b: {{implementation: b, ports: {{s: in}}}}
  conduits:
    a.out: b.in
implementations:
  a: {a}
  b: {b}
"""

SEND = """
import numpy, zlib
i = Instance({Operator.O_I: ["out"]})
while i.reuse_instance():
    data = numpy.arange(%d, dtype=numpy.uint64)
    data *= numpy.uint64(0x9e3779b97f4a7c15)
    open("sum.txt", "w").write(str(zlib.crc32(data)))
    open("ready.txt", "w").close()
    i.send("out", Message(0.0, data=data))
    data[:1000] = 0
""" % (SIZE // 8)

RECEIVE = """
import zlib
i = Instance({Operator.S: ["in"]})
while i.reuse_instance():
    data = i.receive("in").data
    assert data.nbytes == %d
    open("sum.txt", "w").write(str(zlib.crc32(data)))
""" % SIZE


def test_five_gib_arrive_whole_in_less_than_their_size_and_a_fifth(run, python_program):
    assert available() > NEEDED, f"this test needs {NEEDED >> 30} GiB of free memory"
    least = [available()]
    before = least[0]
    over = threading.Event()

    def watch():
        while not over.is_set():
            least[0] = min(least[0], available())
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        done = run(MODEL.format(a=python_program("a", SEND), b=python_program("b", RECEIVE)), limit=300)
    finally:
        over.set()
        watcher.join()
    assert done.status == 0, done.text
    assert done.file("a", "sum.txt") == done.file("b", "sum.txt")
    extra = before - least[0] - SIZE
    print(f"extra memory: {extra / SIZE:.3f} times the message")
    assert extra < 1.2 * SIZE
