"""MPWTestConcurrent of MPWide, rewritten in Python. Both ends begin to send and to receive many messages, test
if they are done while they do other work, check every byte, and meet at a barrier. Start `concurrent.py listen
KEY :PORT COUNT` at one end, and `concurrent.py open KEY HOST:PORT COUNT` at the other."""

import sys

import numpy

from ligament import path

MINUTE = 60.0


def content(number, end):
    """Returns the bytes of message `number` of an end (0 listens, 1 opens). Both ends know them."""
    i = numpy.arange((number * 245489 + end * 1013) % 400000)
    return (i * 31 + number * 7 + end * 101 + (i >> 10)).astype(numpy.uint8)


def exchange(link, end, count):
    receives = [link.ireceive() for _ in range(count)]
    sends = [link.isend(content(number, end)) for number in range(count)]
    early = 0
    for number, one in enumerate(receives):
        early += one.test()
        came = numpy.frombuffer(one.wait(MINUTE), numpy.uint8)
        assert numpy.array_equal(came, content(number, 1 - end)), f"message {number} is wrong"
    for one in sends:
        one.wait(MINUTE)
    link.barrier(MINUTE)
    print(f"{count} messages, {early} before they were waited for")


how, key, place, messages = sys.argv[1:]
if how == "listen":
    with path.listen(key, place) as link:
        print(link.addresses[0].rpartition(":")[2], flush=True)
        exchange(link, 0, int(messages))
else:
    with path.open(key, place) as link:
        exchange(link, 1, int(messages))
