"""ABOUT Made by `ligament new`: put your own code where it says "compute"."""

import numpy as np
from ligament import ClosedError, Instance, Message, Operator

instance = Instance({PORTS})
while instance.reuse_instance():
    t, dt, state = 0.0, 1.0, np.zeros(3)
BODY
