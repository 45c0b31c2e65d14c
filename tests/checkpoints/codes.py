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


def teller():
    """Sends a number, or an array, in each of its steps."""
    import numpy as np

    instance = Instance({Operator.O_I: ["out"]}, CHECKPOINTS)
    while instance.reuse_instance():
        steps, size = instance.get_setting("steps", "int"), instance.get_setting("size", "int")
        if instance.resuming():
            number, state = instance.load_snapshot().data
        if instance.should_init():
            number, state = 0, 1.0
        while number < steps:
            data = state if size == 0 else state * np.cos(np.arange(size, dtype=float))
            following = 0.1 * (number + 1) if number + 1 < steps else None
            instance.send("out", Message(0.1 * number, following, data))
            number, state = number + 1, 3.7 * state * (1.0 - state) if number else 0.3
            note(f"{number} {state!r}")
            save(instance, 0.1 * number, [number, state])
        save_final(instance, 0.1 * number, [number, state])
    note(f"{number} {state!r}", "end.txt")


def listener():
    """Receives on all of its ports in turn until nothing more comes, and keeps all bits of it."""
    instance = Instance(None, CHECKPOINTS)
    ports = instance.list_ports()[Operator.S]
    while instance.reuse_instance():
        if instance.resuming():
            lines, turn, at = instance.load_snapshot().data
        if instance.should_init():
            lines, turn, at = "", 0, 0.0
        left = set(ports)
        while left:
            port = ports[turn % len(ports)]
            turn += 1
            if port not in left or not instance.has_next(port):
                left.discard(port)
                continue
            message = instance.receive(port)
            at = max(at, message.timestamp)
            lines += f"{port} {message.timestamp!r} {message.next_timestamp!r} {bits(message.data)}\n"
            note(f"{at!r}")
            save(instance, at, [lines, turn, at])
        save_final(instance, at, [lines, turn, at])
    note(lines, "end.txt")


def outer():
    """Calls `inner` in each step, gives it a value for all of its steps, and receives its last value only."""
    instance = Instance({Operator.O_I: ["call", "forcing", "boundary"], Operator.S: ["profile"]}, CHECKPOINTS)
    while instance.reuse_instance():
        steps = instance.get_setting("steps", "int")
        if instance.resuming():
            number, state = instance.load_snapshot().data
        if instance.should_init():
            number, state = 0, 1.0
        while number < steps:
            instance.send("call", Message(1.0 * number, None, state))
            instance.send("forcing", Message(1.0 * number, None, 0.1 * state))
            instance.send("boundary", Message(1.0 * number, None, state + number))
            state = 0.5 * state + 0.25 * instance.receive("profile").data
            number += 1
            note(f"{number} {state!r}")
            save(instance, 1.0 * number, [number, state])
        save_final(instance, 1.0 * number, [number, state])
    note(f"{number} {state!r}", "end.txt")


def inner():
    """Steps with a forcing that is repeated, and calls `innermost` in each of its steps."""
    ports = {Operator.F_INIT: ["begin"], Operator.O_I: ["call", "profile"], Operator.S: ["forcing", "answer"]}
    instance = Instance(ports, CHECKPOINTS)
    total = 0.0
    while instance.reuse_instance():
        if instance.resuming():
            begin, number, value, total = instance.load_snapshot().data
        if instance.should_init():
            message = instance.receive("begin")
            begin, number, value = message.timestamp, 0, message.data
        while number < 4:
            instance.send("profile", Message(begin + 0.25 * number, None, value))
            instance.send("call", Message(begin + 0.25 * number, None, value))
            value = 0.7 * value + instance.receive("forcing").data + 0.01 * instance.receive("answer").data
            number += 1
            note(f"{begin} {number} {value!r}")
            save(instance, begin + 0.25 * number, [begin, number, value, total])
        total += value
        save_final(instance, begin + 1.0, [begin, number, value, total])
    note(f"{total!r}", "end.txt")


def innermost():
    """Answers with what it is given; a boundary has data only when `outer` has made a step."""
    ports = {Operator.F_INIT: ["begin", "boundary"], Operator.O_F: ["answer"]}
    instance = Instance(ports, CHECKPOINTS)
    passes, seen = 0, 0.0
    while instance.reuse_instance():
        if instance.resuming():
            passes, seen = instance.load_snapshot().data
        if instance.should_init():
            message, boundary = instance.receive("begin"), instance.receive("boundary").data
        passes, seen = passes + 1, seen + (boundary or 0.0)
        instance.send("answer", Message(message.timestamp, None, message.data + seen))
        save_final(instance, message.timestamp, [passes, seen])
    note(f"{passes} {seen!r}", "end.txt")


def spread():
    """Sends on as many slots as its step says, to a receiver that is some steps behind."""
    instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in"]}, CHECKPOINTS)
    while instance.reuse_instance():
        steps = instance.get_setting("steps", "int")
        if instance.resuming():
            number, state = instance.load_snapshot().data
        if instance.should_init():
            number, state = 0, 1.0
        while number < steps:
            slots = 1 + number * 7 % 5
            if not (number and slots == instance.get_port_length("out")):
                instance.set_port_length("out", slots)
            for slot in reversed(range(slots)):
                instance.send("out", Message(1.0 * number, None, state + slot), slot=slot)
            if number >= 3:
                state = 0.5 * state + instance.receive("in").data
            number += 1
            note(f"{number} {state!r}")
            save(instance, 1.0 * number, [number, state])
        for _ in range(3):
            state = 0.5 * state + instance.receive("in").data
        save_final(instance, 1.0 * number, [number, state])
    note(f"{number} {state!r}", "end.txt")


def collect():
    """Receives from as many slots as there are, and saves between two of them, too."""
    instance = Instance({Operator.S: ["in[]"], Operator.O_I: ["out"]}, CHECKPOINTS)
    while instance.reuse_instance():
        steps = instance.get_setting("steps", "int")
        if instance.resuming():
            number, slot, total = instance.load_snapshot().data
        if instance.should_init():
            number, slot, total = 0, 0, 0.0
        while number < steps:
            while slot == 0 or slot < instance.get_port_length("in"):
                total = 0.9 * total + instance.receive("in", slot=slot).data
                slot += 1
                note(f"{number} {slot} {total!r}")
                save(instance, number + 0.1 * slot, [number, slot, total])
            instance.send("out", Message(1.0 * number, None, 0.1 * total))
            number, slot = number + 1, 0
        save_final(instance, 1.0 * number, [number, slot, total])
    note(f"{total!r}", "end.txt")


def gathered():
    """Is called with messages on a number of slots, and answers with their sum."""
    instance = Instance({Operator.F_INIT: ["in[]"], Operator.O_F: ["out"]}, CHECKPOINTS)
    total = 0.0
    while instance.reuse_instance():
        if instance.resuming():
            at, slots, value, total = instance.load_snapshot().data
        if instance.should_init():
            slots = instance.get_port_length("in")
            messages = [instance.receive("in", slot=slot) for slot in range(slots)]
            at, value = messages[0].timestamp, sum(message.data for message in messages)
        assert instance.get_port_length("in") == slots
        save(instance, at, [at, slots, value, total])
        total += value
        instance.send("out", Message(at, None, 0.01 * value + slots))
        save_final(instance, at, [at, slots, value, total])
    note(f"{total!r}", "end.txt")


def ocean():
    """Sends its rows of an array in each step; every fourth step, the ranks change their rows."""
    import numpy as np

    instance = Instance({Operator.O_I: ["flux"]}, CHECKPOINTS)
    rows, columns = instance.array_shape("flux")
    share = rows // instance.ranks
    instance.map_block("flux", [share * instance.rank, 0], [share, columns])
    while instance.reuse_instance():
        steps = instance.get_setting("steps", "int")
        if instance.resuming():
            number, state = instance.load_snapshot().data
        if instance.should_init():
            number, state = 0, 1.0 + instance.rank
        while number < steps:
            first = share * ((instance.rank + number // 4) % instance.ranks)
            instance.map_block("flux", [first, 0], [share, columns])
            part = state * np.arange(first * columns, (first + share) * columns, dtype=float)
            instance.send("flux", Message(1.0 * number, None, part.reshape(share, columns)))
            number, state = number + 1, 1.1 * state
            save(instance, 1.0 * number, [number, state])
        save_final(instance, 1.0 * number, [number, state])
    note(f"{number} {state!r}", f"end{instance.rank}.txt")


def ice():
    """Receives its columns of the array, and keeps their bits."""
    instance = Instance({Operator.S: ["flux"]}, CHECKPOINTS)
    rows, columns = instance.array_shape("flux")
    share = columns // instance.ranks
    instance.map_block("flux", [0, share * instance.rank], [rows, share])
    while instance.reuse_instance():
        steps = instance.get_setting("steps", "int")
        if instance.resuming():
            number, lines = instance.load_snapshot().data
        if instance.should_init():
            number, lines = 0, ""
        while number < steps:
            instance.poll("flux")
            lines += f"{number} {bits(instance.receive('flux').data)}\n"
            number += 1
            note(f"{number}")
            save(instance, 1.0 * number, [number, lines])
        save_final(instance, 1.0 * number, [number, lines])
    note(lines, f"end{instance.rank}.txt")


def pulse():
    """Sends an event and a sample in each tick, in two passes."""
    import numpy as np

    instance = Instance({Operator.F_INIT: ["start"], Operator.O_I: ["spikes", "level"]}, CHECKPOINTS)
    instance.map_range("level", instance.rank, instance.rank + 1)
    passes = 0
    while instance.reuse_instance():
        ticks = instance.get_setting("ticks", "int")
        if instance.resuming():
            number, passes = instance.load_snapshot().data
        if instance.should_init():
            instance.receive("start")
            number, passes = 0, passes + 1
        while number < ticks:
            now, seen = instance.time(), 100 * passes + 10 * number + instance.rank
            instance.insert_events("spikes", [now + 0.0002 * (1 + number % 3)], [seen % 10])
            instance.send("level", Message(now, None, np.array([0.1 * seen])))
            instance.tick()
            number += 1
            save(instance, passes + instance.time(), [number, passes])
        save_final(instance, passes + 0.1, [number, passes])
    note(f"{number} {passes}", f"end{instance.rank}.txt")


def hear():
    """Takes the events and the level of each of its ticks, in two passes."""
    instance = Instance({Operator.F_INIT: ["start"], Operator.S: ["spikes", "level"]}, CHECKPOINTS)
    instance.map_range("level", 0, 2)
    instance.map_list("spikes", list(range(instance.rank, 10, 2)))
    lines, passes = "", 0
    while instance.reuse_instance():
        ticks = instance.get_setting("ticks", "int")
        if instance.resuming():
            number, passes, lines = instance.load_snapshot().data
        if instance.should_init():
            instance.receive("start")
            number, passes = 0, passes + 1
        while number < ticks:
            level = instance.receive("level").data
            times, ids = instance.events("spikes")
            spikes = sorted(zip(times.tolist(), ids.tolist()))
            lines += f"{number} {bits(level)} {spikes}\n"
            instance.tick()
            number += 1
            note(f"{number}")
            save(instance, passes + instance.time(), [number, passes, lines])
        save_final(instance, passes + 0.1, [number, passes, lines])
    note(lines, f"end{instance.rank}.txt")


def conductor():
    """Starts two passes of others, at the times 1 and 2."""
    instance = Instance({Operator.O_I: ["start"]}, CHECKPOINTS)
    while instance.reuse_instance():
        if instance.resuming():
            number = instance.load_snapshot().data
        if instance.should_init():
            number = 0
        while number < 2:
            instance.send("start", Message(1.0 + number, None, None))
            number += 1
            save(instance, 1.0 * number, number)
        save_final(instance, 1.0 * number, number)
    note(f"{number}", "end.txt")


def bits(data):
    """Returns all bits of what has come, as text."""
    if isinstance(data, dict):
        return {key: bits(value) for key, value in data.items()}
    if isinstance(data, list):
        return [bits(value) for value in data]
    return repr(data) if isinstance(data, float) else [data.shape, data.tobytes().hex()]


if "NUMBERS" in os.environ:
    (Path(os.environ["NUMBERS"]) / str(os.getpid())).touch()
globals()[sys.argv[1]]()
