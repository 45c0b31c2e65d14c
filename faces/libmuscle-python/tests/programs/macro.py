"""A macro that sends `steps` arrays of 1000 numbers, and ends as the setting `end` says."""

import sys
import time

import numpy as np
from libmuscle import Instance, Message
from ymmsl import Operator

instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(instance.get_setting("steps", "int")):
        instance.send("out", Message(step, step + 1, np.full(1000, float(step))))
        received = instance.receive("in")
        print("received", received.timestamp, received.data.array.sum())
        time.sleep(0.01)  # the timeline shows this as computing
    end = instance.get_setting("end", "str")
    if end != "done":
        instance.error_shutdown(f"this macro is to end so: {end}")
        sys.exit(0 if end == "in order" else 3)
