"""Codes of models with checkpoints. The first argument names the code; each writes its end to `end.txt` in its
working directory, with all bits of its state, and each step or pass as a line of `steps.txt`."""

import os
import signal
import sys
import time
from pathlib import Path

if os.environ.get("LIBRARY") == "libmuscle":
    from libmuscle import Instance, InstanceFlags, Message
    from ymmsl.v0_2 import Operator
else:
    from ligament import Instance, InstanceFlags, Message, Operator

CHECKPOINTS = InstanceFlags.USES_CHECKPOINT_API


def note(text, name="steps.txt"):
    if name == "steps.txt":
        time.sleep(float(os.environ.get("PAUSE", "0")))
    with open(name, "a") as file:
        file.write(text + "\n")


def crash(name, number):
    """Dies if there is a file of this name in the directory of crashes, once."""
    file = Path(os.environ.get("CRASHES", "/nonexistent")) / f"{name}-{number}"
    if file.exists():
        file.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def steer(instance, time):
    if "STEERS" in os.environ:
        instance.steer(time)


def save(instance, time, state):
    if instance.should_save_snapshot(time):
        instance.save_snapshot(Message(time, None, state))
        note(f"saves {time!r}", "saves.txt")


def save_final(instance, time, state):
    if instance.should_save_final_snapshot():
        instance.save_final_snapshot(Message(time, None, state))
        note(f"saves {time!r} finally", "saves.txt")


def macro():
    """Calls a micro model in each step."""
    instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]}, CHECKPOINTS)
    while instance.reuse_instance():
        step, end = instance.get_setting("step", "float"), instance.get_setting("end", "float")
        if instance.resuming():
            loaded = instance.load_snapshot()
            number, state = loaded.data
        if instance.should_init():
            number, state = 0, 1.0
        while number * step < end:
            instance.send("out", Message(number * step, (number + 1) * step, state))
            state = 0.9 * state + instance.receive("in").data
            number += 1
            note(f"{number} {state!r}")
            crash("macro", number)
            save(instance, number * step, [number, state])
        save_final(instance, number * step, [number, state])
    note(f"{number} {state!r}", "end.txt")


def micro():
    """Is called with a value, makes some steps of it, and keeps a sum of all of its passes."""
    instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]}, CHECKPOINTS)
    total, passes = 0.0, 0
    while instance.reuse_instance():
        if instance.resuming():
            total, passes, begin, number, value = instance.load_snapshot().data
        if instance.should_init():
            message = instance.receive("in")
            begin, number, value = message.timestamp, 0, message.data
        while number < 5:
            value = value * 0.7 + 0.01 * total
            number += 1
            save(instance, begin + 0.1 * number, [total, passes, begin, number, value])
        total, passes = total + value, passes + 1
        crash("micro", passes)
        instance.send("out", Message(begin + 0.5, None, value))
        note(f"{passes} {total!r}")
        save_final(instance, begin + 0.5, [total, passes, begin, number, value])
    note(f"{passes} {total!r}", "end.txt")


def stateless():
    """A micro model that keeps nothing."""
    ports = {Operator.F_INIT: ["in"], Operator.O_F: ["out"]}
    instance = Instance(ports, InstanceFlags.KEEPS_NO_STATE_FOR_NEXT_USE)
    while instance.reuse_instance():
        message = instance.receive("in")
        instance.send("out", Message(message.timestamp, None, message.data * 0.3 + 0.1))


def unflagged():
    """Does not say what it keeps."""
    instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
    while instance.reuse_instance():
        instance.send("out", instance.receive("in"))


def peer():
    """Exchanges with another code that has other steps: it sends the state of its step, and receives what the
    other one has sent up to then. `lead` steps are sent before the first is received."""
    instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]}, CHECKPOINTS)
    while instance.reuse_instance():
        step, steps = instance.get_setting("step", "float"), instance.get_setting("steps", "int")
        every, lead = instance.get_setting("every", "int"), instance.get_setting("lead", "int")
        if instance.resuming():
            number, state, got = instance.load_snapshot().data
        if instance.should_init():
            number, state, got = 0, 1.0, 0
        while number < steps:
            steer(instance, number * step)
            instance.send("out", Message(number * step, None, state))
            if number >= lead:
                for _ in range(every):
                    state = 0.5 * state + 0.25 * instance.receive("in").data + 0.125
                    got += 1
            number += 1
            note(f"{number} {got} {state!r}")
            crash(instance.name, number)
            save(instance, number * step, [number, state, got])
        left = steps * every - got
        for _ in range(left):
            state = 0.5 * state + 0.25 * instance.receive("in").data
            got += 1
        save_final(instance, number * step, [number, state, got])
    note(f"{number} {got} {state!r}", "end.txt")


if "NUMBERS" in os.environ:
    (Path(os.environ["NUMBERS"]) / str(os.getpid())).touch()
globals()[sys.argv[1]]()
