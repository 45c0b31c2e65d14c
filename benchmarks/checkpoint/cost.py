"""An instance that asks whether to save, again and again, and is never told to: cost.py CALLS. It prints the
processor time of a call, ns."""

import sys
import time

from ligament import Instance, InstanceFlags


# Names of a function are found faster than those of a module, whose look-up is not what is measured.
def cost(call, calls):
    begun = time.process_time_ns()
    for _ in range(calls):
        call(1.0)
    return (time.process_time_ns() - begun) / calls


instance = Instance({}, InstanceFlags.USES_CHECKPOINT_API)
while instance.reuse_instance():
    instance.resuming()
    instance.should_init()
    print(cost(instance.should_save_snapshot, int(sys.argv[1])))
    instance.should_save_final_snapshot()
