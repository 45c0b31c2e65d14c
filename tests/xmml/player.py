"""Plays any submodel, mapper or terminal: goes through its execution loop, and sends on all of its ports."""

import numpy as np
from ligament import ClosedError, Instance, Message, Operator

STEPS = 4
instance = Instance()
ports = instance.list_ports()
of = {operator: [name for name in ports.get(operator,
                                            ()) if instance.is_connected(name)] for operator in Operator}


def send(operator, time, next_time=None):
    for name in of[operator]:
        instance.send(name, Message(time, next_time, np.arange(3.0)))


while instance.reuse_instance():
    starts = [instance.receive(name) for name in of[Operator.F_INIT]]
    begin = max((message.timestamp for message in starts), default=0.0)
    if of[Operator.O_I]:
        for step in range(STEPS):
            send(Operator.O_I, begin + step, begin + step + 1 if step + 1 < STEPS else None)
            for name in of[Operator.S]:
                instance.receive(name)
        print(STEPS, "steps")
    else:
        more = bool(of[Operator.S])
        count = 0
        while more:
            try:
                messages = [instance.receive(name) for name in of[Operator.S]]
            except ClosedError:
                break  # a filter has dropped what was announced
            more = all(message.next_timestamp is not None for message in messages)
            count += 1
        print(count, "messages", [message.data.shape for message in messages] if count else "")
    send(Operator.O_F, begin)
