"""Plays a script, the first argument, as an instance: see cast.py for the steps."""

import os
import signal
import sys
import threading
import time

import numpy

from ligament import Instance, Message

held = []


def drop_when_told():
    signal.sigwait({signal.SIGUSR1})
    held.clear()


def port_of(word):
    """`out` or `out[2]`, as port and slot."""
    if word.endswith("]"):
        port, slot = word[:-1].split("[")
        return port, int(slot)
    return word, None


def play(instance, step):
    what, *words = step.split()
    if what.startswith("x"):
        several = step.split(None, 1)[1].split(",")
        for _ in range(int(what[1:])):
            for one in several:
                play(instance, one)
    elif what == "send":
        port, slot = port_of(words[0])
        data = numpy.zeros(int(words[1]), numpy.uint8) if len(words) > 1 else None
        instance.send(port, Message(0.0, data=data), slot)
    elif what == "receive":
        port, slot = port_of(words[0])
        instance.receive(port, slot)
    elif what == "into":
        instance.receive_into(words[0], numpy.zeros(int(words[1]), numpy.uint8))
    elif what == "hold":
        held.append(instance.receive(words[0]))
    elif what == "drop":
        # The signal is blocked in every other thread, so that the thread below gets it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        threading.Thread(target=drop_when_told, daemon=True).start()
    elif what == "within":
        try:
            instance.receive(words[0], timeout=float(words[1]))
        except TimeoutError:
            pass
    elif what == "any":
        instance.receive_any([word if port_of(word)[1] is None else port_of(word) for word in words])
    elif what == "poll":
        while not instance.poll(words[0]):
            time.sleep(0.01)
        instance.receive(words[0])
    elif what == "await":
        while not os.path.exists(words[0]):
            time.sleep(0.01)
    elif what == "sleep":
        time.sleep(float(words[0]))
    elif what == "compute":
        end = time.monotonic() + float(words[0])
        x = numpy.random.default_rng(1).random((60, 60))
        while time.monotonic() < end:
            x = x @ x / numpy.linalg.norm(x)
    elif what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        raise ValueError(step)


script = [step.strip() for step in sys.argv[1].split(";")]
if script[0].startswith("late"):
    time.sleep(float(script.pop(0).split()[1]))
instance = Instance()
while instance.reuse_instance():
    for step in script:
        play(instance, step)
