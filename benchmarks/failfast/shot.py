"""A shot: starts a run, kills one of its processes at a given moment, and waits for the end of the last
process. A process of its own does this and adopts all orphans, so that no process is missed."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass

from lib.machine import CannotMeasure, die_with_parent

PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG = 36, 1
LIMIT = 2  # s after which a remaining process counts as never ending


@dataclass(frozen=True)
class Shot:
    """A command, its target (the `launcher` or a `peer`), and the moment of the kill, in s after the start."""

    command: tuple
    folder: object
    program: str
    victim: str
    moment: float
    pick: float  # position of the killed peer among all peers, 0 to 1


def _table():
    """Returns parent, state and name of every process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    head, rest = stat.read().rsplit(")", 1)
                state, parent = rest.split()[:2]
                found[int(name)] = (int(parent), state, head.split("(", 1)[1])
            except OSError:
                pass
    return found


def descendants():
    """Returns all living descendants of this process, with their names and their parents' names."""
    table, parents = _table(), {os.getpid()}
    while more := {pid for pid, (parent, _, _) in table.items() if parent in parents and pid not in parents}:
        parents |= more
    living = [pid for pid in parents if pid in table and table[pid][1] != "Z" and pid != os.getpid()]
    return {pid: (table[pid][2], table.get(table[pid][0], (0, "", ""))[2]) for pid in living}


def _fire(shot):
    process = subprocess.Popen(
        shot.command, cwd=shot.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=die_with_parent,
    )
    began = time.monotonic()
    time.sleep(shot.moment)
    running = descendants()
    target = process.pid
    if shot.victim == "peer":
        # Children of peers have the same name and are not killed. If a run has no peers yet, its launcher is
        # killed.
        peers = sorted(pid for pid, (name, parent) in running.items() if name == shot.program != parent)
        target = peers[int(shot.pick * len(peers))] if peers else target
    with contextlib.suppress(ProcessLookupError):
        os.kill(target, signal.SIGKILL)
    hit = time.monotonic()
    count, forced = len(running), 0
    # This process adopts all orphans, so the run is over when there is no child to wait for.
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                if time.monotonic() - hit > LIMIT:
                    left = descendants()
                    forced += len(left)
                    for pid in left:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                time.sleep(0.0002)
        except ChildProcessError:
            break
    return {
        "seconds": time.monotonic() - hit, "processes": count, "never": forced, "after": hit - began,
        "hit": "launcher" if target == process.pid else "peer",
    }


def fire(shot):
    """Executes the shot. Returns the seconds from the kill to the end of the last process, and the processes
    that existed at the kill."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            libc = ctypes.CDLL(None)
            libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            with open(writing, "w") as pipe:
                json.dump(_fire(shot), pipe)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    if not text:
        raise CannotMeasure(f"a shot at {' '.join(map(str, shot.command))} failed; see above")
    return json.loads(text)
