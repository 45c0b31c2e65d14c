"""Steps forward in time, and in every step asks a finer model. Replace what is computed by your own, in all
ranks."""

from ligament import Message, Operator
from ligament.mpi import Instance

instance = Instance({Operator.O_I: ["state"], Operator.S: ["result"]})
while instance.reuse_instance():
    t_max = instance.get_setting("t_max", "float")
    t, state = 0.0, 1.0
    while t < t_max:
        if instance.root:
            instance.root.send("state", Message(t, t + 1 if t + 1 < t_max else None, state))
        answer = instance.receive_all("result").data  # on all ranks
        if instance.root:
            print(f"at {t} the finer model says {answer}")
        t, state = t + 1, answer + 1
