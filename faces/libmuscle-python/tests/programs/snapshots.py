"""A code that counts its steps, and saves and resumes its state."""

import numpy as np
from libmuscle import USES_CHECKPOINT_API, Instance, Message
from record import Record
from ymmsl import Settings


def state(step):
    return {"step": step, "array": np.full(3, float(step))}


instance = Instance({}, USES_CHECKPOINT_API)
record = Record(instance)
while instance.reuse_instance():
    if instance.resuming():
        saved = instance.load_snapshot()
        step, total = saved.data["step"], saved.data["array"].array.sum()
        record.write(f"resumes at {saved.timestamp} with {total} {dict(saved.settings.as_ordered_dict())}")
    if instance.should_init():
        step = 0
    while step < 10:
        step += 1
        record.write(f"step {step}")
        if instance.should_save_snapshot(float(step)):
            overlay = Settings({"step": step}) if step < 8 else None
            instance.save_snapshot(Message(float(step), data=state(step), settings=overlay))
    if instance.should_save_final_snapshot():
        instance.save_final_snapshot(Message(float(step), data=state(step)))
