"""A send that a signal interrupted: no message is lost, doubled or malformed, and the code can go on."""

MODEL = """ymmsl_version: v0.1
model:
  name: interrupted
  components:
    sender: {{implementation: sender, ports: {{o_i: out}}}}
    receiver: {{implementation: receiver, ports: {{s: in}}}}
  conduits:
    sender.out: receiver.in
ligament:
  memory: 32 MiB
  budget: 100 MB
implementations:
  sender: {sender}
  receiver: {receiver}
"""

SENDER = """
import os, signal, threading
from pathlib import Path
import numpy as np

def send_large():
    instance.send("out", Message(1.0, data=zeros))

def handler(number, frame):
    # Only in the send itself; else it is tried again.
    if frame.f_code is send_large.__code__ and frame.f_lineno > frame.f_code.co_firstlineno:
        raise KeyboardInterrupt

def interrupt_until_it_is_felt():
    while not felt:
        if Path(f"/proc/self/task/{os.getpid()}/stat").read_text().rsplit(")", 1)[1].split()[0] == "S":
            os.kill(os.getpid(), signal.SIGINT)
        os.sched_yield()

zeros, felt = np.zeros(8_000_000), []
signal.signal(signal.SIGINT, handler)
instance = Instance({Operator.O_I: ["out"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data="first"))
    thread = threading.Thread(target=interrupt_until_it_is_felt, daemon=True)
    thread.start()
    try:
        send_large()
        raise SystemExit("nobody reads, and it was sent all the same")
    except KeyboardInterrupt:
        felt.append(True)
    thread.join()
    Path(r"FLAG").touch()
    instance.send("out", Message(2.0, data="second"))
    instance.send("out", Message(3.0, data=np.arange(8_000_000.0)))
    instance.send("out", Message(4.0, data="last"))
"""

RECEIVER = """
import os
import numpy as np

while not os.path.exists(r"FLAG"):
    os.sched_yield()
instance = Instance({Operator.S: ["in"]})
while instance.reuse_instance():
    assert instance.receive("in").data == "first"
    assert instance.receive("in").data == "second"
    assert (instance.receive("in").data == np.arange(8_000_000.0)).all()
    assert instance.receive("in").data == "last"
"""


def test_after_ctrl_c_in_a_streamed_send_the_code_goes_on_as_if_it_had_not_been_begun(run, python_program,
                                                                                      tmp_path):
    flag = str(tmp_path / "interrupted")
    sender = python_program("sender", SENDER.replace("FLAG", flag))
    receiver = python_program("receiver", RECEIVER.replace("FLAG", flag))
    done = run(MODEL.format(sender=sender, receiver=receiver), limit=120)
    assert done.status == 0, done.text
