"""An instance that asks whether to save, again and again, and is never told to: cost.py CALLS. It prints the
processor time of a call, ns."""

import sys
import time

from ligament import Instance, InstanceFlags

instance = Instance({}, InstanceFlags.USES_CHECKPOINT_API)
while instance.reuse_instance():
    instance.resuming()
    instance.should_init()
    should_save, calls = instance.should_save_snapshot, int(sys.argv[1])
    begun = time.process_time_ns()
    for _ in range(calls):
        should_save(1.0)
    print((time.process_time_ns() - begun) / calls)
    instance.should_save_final_snapshot()
