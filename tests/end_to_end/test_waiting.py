"""Which instance waits for which, and what becomes of them: a receiver that never reads, a sender that ended
long ago, a closed port, Ctrl-C."""

import json
import signal
import subprocess
import sys
import time


def start(ligament, tmp_path, model):
    file = tmp_path / "model.ymmsl"
    file.write_text(model)
    directory = tmp_path / "run"
    process = subprocess.Popen(
        [ligament, "run", str(file), "--run-dir", str(directory)], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    return process, directory


def until(condition, limit=60):
    """Waits for something that another process does."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come about")


def status(ligament, directory):
    done = subprocess.run([ligament, "status", str(directory), "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def instances(answer):
    found = answer["instances"] if answer else []
    return {i["name"]: i for i in found}


def two(first, second, more=""):
    return f"""ymmsl_version: v0.1
model:
  name: two
  components:
    a: {{implementation: a, ports: {{o_i: out}}}}
    b: {{implementation: b, ports: {{s: in}}}}
  conduits:
    a.out: b.in
implementations:
  a: {first}
  b: {second}
{more}"""


def test_a_sender_whose_budget_is_spent_says_for_whom_it_waits(ligament, tmp_path, python_program):
    first = python_program("a", """
import numpy
i = Instance({Operator.O_I: ["out"]})
while i.reuse_instance():
    for t in range(10):
        i.send("out", Message(float(t), data=numpy.zeros(100_000)))
""")
    second = python_program("b", """
import os, time
i = Instance({Operator.S: ["in"]})
while i.reuse_instance():
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.02)
    for t in range(10):
        assert i.receive("in").timestamp == t
""")
    go = tmp_path / "go"
    second = second[:-1] + f", env: {{GO: {go}}}}}"
    process, directory = start(ligament, tmp_path, two(first, second, "ligament:\n  budget: 1 MiB\n"))
    try:
        waiting = until(lambda: (lambda a: a if a and a["state"] == "waiting to send" else None)(
            instances(status(ligament, directory)).get("a")))
        assert "b.in" in json.dumps(waiting)
        go.touch()
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
    finally:
        process.kill()


def test_a_sender_may_be_gone_before_its_receiver_starts(run, python_program):
    first = python_program("a", """
i = Instance({Operator.O_I: ["out"]})
while i.reuse_instance():
    for t in range(1000):
        i.send("out", Message(float(t), data=[t] * (t % 90)))
""")
    second = python_program("b", """
import time
time.sleep(1.0)
i = Instance({Operator.S: ["in"]})
while i.reuse_instance():
    for t in range(1000):
        m = i.receive("in")
        assert (m.timestamp, m.data) == (t, [t] * (t % 90)), m
    open("all.txt", "w").write("1000")
""")
    done = run(two(first, second))
    assert done.status == 0, done.text
    assert done.file("b", "all.txt") == "1000"


def test_a_closed_port_is_named_with_its_sender(run, python_program):
    first = python_program("a", """
i = Instance({Operator.O_I: ["out"]})
while i.reuse_instance():
    i.send("out", Message(0.0))
""")
    second = python_program("b", """
i = Instance({Operator.S: ["in"]})
while i.reuse_instance():
    i.receive("in")
    i.receive("in")
""")
    done = run(two(first, second))
    assert done.status == 1
    assert '"in" was closed by its sender (a.out)' in done.text, done.text


def test_ctrl_c_ends_the_run_and_every_process(ligament, tmp_path, python_program):
    body = """
import os
open("pid.txt", "w").write(str(os.getpid()))
i = Instance({Operator.%s: ["%s"]})
while i.reuse_instance():
    %s
"""
    first = python_program("a", body % ("O_I", "out", "__import__('time').sleep(600)"))
    second = python_program("b", body % ("S", "in", "i.receive('in')"))
    process, directory = start(ligament, tmp_path, two(first, second))
    try:
        until(lambda: instances(status(ligament, directory)).get("b", {}).get("state") == "waiting to receive")
        written = lambda: [text for p in directory.rglob("pid.txt") if (text := p.read_text())]  # noqa: E731
        # The one that waits may have been quicker than the one that it waits for.
        until(lambda: len(written()) == 2)
        pids = [int(text) for text in written()]
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 130, output
        for pid in pids:
            assert not alive(pid), f"{pid} still runs\n{output}"
    finally:
        process.kill()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_start_order_does_not_matter(run, python_program):
    import random

    seed = random.randrange(1 << 30)
    print("seed", seed)
    delays = random.Random(seed)
    body = """
import time
time.sleep(%f)
i = Instance({Operator.%s: ["%s"]})
while i.reuse_instance():
    for t in range(20):
        %s
"""
    for _ in range(3):
        first = python_program("a", body % (delays.random() / 2, "O_I", "out",
                                            "i.send('out', Message(float(t)))"))
        second = python_program("b", body % (delays.random() / 2, "S", "in",
                                             "assert i.receive('in').timestamp == t"))
        done = run(two(first, second))
        assert done.status == 0, done.text


def test_an_instance_can_be_started_by_hand(ligament, tmp_path, python_program):
    first = python_program("a", """
i = Instance({Operator.O_I: ["out"]})
while i.reuse_instance():
    i.send("out", Message(1.0, data="by hand"))
""")
    second = python_program("b", """
i = Instance({Operator.S: ["in"]})
while i.reuse_instance():
    open("got.txt", "w").write(i.receive("in").data)
""")
    file = tmp_path / "model.ymmsl"
    file.write_text(two(first, second))
    directory = tmp_path / "run"
    process = subprocess.Popen(
        [ligament, "run", str(file), "--run-dir", str(directory), "--manual", "a"], cwd=tmp_path,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    try:
        until(lambda: instances(status(ligament, directory)).get("b", {}).get("state") == "waiting to receive")
        joined = subprocess.run(
            [ligament, "join", str(directory), "a", "--", sys.executable, str(tmp_path / "a.py")],
            capture_output=True, text=True, timeout=60,
        )
        assert joined.returncode == 0, joined.stdout + joined.stderr
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output
        assert list(directory.rglob("got.txt"))[0].read_text() == "by hand"
    finally:
        process.kill()
