"""The models that are started, as text, and one run of one of them: how long it takes, and what memory it has when all
of it is there."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, die_with_parent, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "startup"
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
LIMIT = 120  # s after which a run is given up


# ---- models --------------------------------------------------------------------------------------------------
def _model(name, components, conduits, program, more=()):
    lines = ["ymmsl_version: v0.1", "model:", f"  name: {name}", "  components:", *components]
    lines += ["  conduits:", *conduits] if conduits else []
    lines += ["implementations:", f"  {program[0]}: {{executable: {program[1]}}}", *more]
    return "\n".join(lines) + "\n"


def chain(processes, executable):
    """Processes of which each has a conduit to the next."""
    components = [f"    p{i}: {{implementation: link, ports: {{o_i: out, s: in}}}}" for i in range(processes)]
    conduits = [f"    p{i}.out: p{i + 1}.in" for i in range(processes - 1)]
    return _model("chain", components, conduits, ("link", executable))


def web(components, conduits, executable):
    """Light components in one process, with conduits spread over them so that each sends and receives as many."""
    sends, receives = [[] for _ in range(components)], [[] for _ in range(components)]
    lines = []
    for k in range(conduits):
        sender, round_ = k % components, k // components
        # A step of at least one to each side of the ring, a longer one each round: never back to the sender.
        receiver = (sender + 1 + round_ % (components - 1)) % components
        out, into = f"o{len(sends[sender])}", f"i{len(receives[receiver])}"
        sends[sender].append(out)
        receives[receiver].append(into)
        lines.append(f"    c{sender}.{out}: c{receiver}.{into}")
    rows = [
        f"    c{i}: {{implementation: node, ports: {{o_i: [{', '.join(sends[i])}], s: [{', '.join(receives[i])}]}}}}"
        for i in range(components)
    ]
    return _model("web", rows, lines, ("node", executable), ["ligament:", "  light: [node]"])


# ---- building ------------------------------------------------------------------------------------------------
def build():
    """Compiles the programs into build/benchmarks/startup."""
    OUT.mkdir(parents=True, exist_ok=True)
    run(["gcc", *FLAGS, HERE / "process.c", "-o", OUT / "process", *Ligament().flags()], seconds=120)
    run(["gcc", *FLAGS, HERE / "light.c", "-o", OUT / "light", *Ligament().flags()], seconds=120)
    run(["gcc", *FLAGS, "-DALONE", HERE / "process.c", "-o", OUT / "alone"], seconds=120)


# ---- one run -------------------------------------------------------------------------------------------------
class Scratch:
    """A folder for runs. What is in it stays until all is measured: a file system that has just deleted thousands of
    files takes longer to make new ones (ext4 passes over every inode that was freed a moment ago)."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="runs-", dir=OUT))
        self._count = 0

    def new(self):
        """A new folder."""
        self._count += 1
        folder = self.path / str(self._count)
        folder.mkdir()
        return folder

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def ligament(model, folder):
    """The command that runs a model, given as text, in a folder."""
    file = folder / "model.ymmsl"
    file.write_text(model, encoding="utf-8")
    return [Ligament().command, "run", file, "--run-dir", folder / "run", "--quiet"]


def seconds(command, folder, soft_limit=None):
    """How long a command takes, from before it is started until it has ended."""
    words = [str(word) for word in command]
    if soft_limit:
        words = ["sh", "-c", f'ulimit -Sn {soft_limit} && exec "$@"', "sh", *words]
    begun = time.monotonic()
    run(words, seconds=LIMIT, folder=folder)
    return time.monotonic() - begun


def alone(processes):
    """How long it takes to start so many processes that do nothing and to wait for them, one launcher doing both:
    what no library can go below."""
    program, environment = str(OUT / "alone"), dict(os.environ)
    begun = time.monotonic()
    children = [os.posix_spawn(program, [program], environment) for _ in range(processes)]
    for child in children:
        os.waitpid(child, 0)
    return time.monotonic() - begun


# ---- memory --------------------------------------------------------------------------------------------------
def _children(pid):
    """The process and all that come of it."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{task}/children").read_text(encoding="ascii")
                found += [int(word) for word in children.split()]
    return found


def _proportional(pid):
    """A process's memory, bytes, what it shares counted as its part of it."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise CannotMeasure(f"/proc/{pid}/smaps_rollup has no Pss; the kernel lacks CONFIG_PROC_PAGE_MONITOR")


def _hold(folder):
    os.mkfifo(folder / "go")
    (folder / "arrived").touch()
    return {**os.environ, "STARTUP_HOLD": str(folder)}


def _memory_when_all_arrived(processes, count, folder):
    """The proportional memory of these process trees, bytes, when `count` programs have done their exchange; then lets
    them go, and waits for their end."""
    try:
        until = time.monotonic() + LIMIT
        while (folder / "arrived").stat().st_size < count:
            failed = [process for process in processes if process.poll() not in (None, 0)]
            if failed or time.monotonic() > until:
                raise CannotMeasure(f"only some of {count} programs came to the end of their exchange; see {folder}")
            time.sleep(0.005)
        total = sum(_proportional(pid) for process in processes for pid in _children(process.pid))
        ended = 0
        while ended < len(processes):
            # Each opening lets through who waits; a program that comes later needs another.
            with contextlib.suppress(OSError):
                os.close(os.open(folder / "go", os.O_WRONLY | os.O_NONBLOCK))
            time.sleep(0.002)
            ended = sum(process.poll() is not None for process in processes)
            if time.monotonic() > until:
                raise CannotMeasure(f"the programs do not end; see {folder}")
        return total
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()


def _start(command, environment, folder):
    with open(folder / "output", "ab") as output:
        return subprocess.Popen(
            [str(word) for word in command], env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=output, preexec_fn=die_with_parent,
        )


def memory(model, programs, folder):
    """The proportional memory of a run, bytes, all its processes together, when each of its `programs` (processes that
    hold) has done its exchange."""
    environment = _hold(folder)
    return _memory_when_all_arrived([_start(ligament(model, folder), environment, folder)], programs, folder)


def memory_at_peak(model, folder):
    """The largest proportional memory that a run was seen to have, bytes, looked at again and again until it ends."""
    process = _start(ligament(model, folder), dict(os.environ), folder)
    peak, until = 0, time.monotonic() + LIMIT
    try:
        while process.poll() is None:
            total = 0
            for pid in _children(process.pid):
                with contextlib.suppress(OSError):  # it has ended
                    total += _proportional(pid)
            peak = max(peak, total)
            if time.monotonic() > until:
                raise CannotMeasure(f"a run took longer than {LIMIT} s; see {folder}")
            time.sleep(0.001)
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise CannotMeasure(f"a run failed with status {process.returncode}; see {folder}/output")
    return peak


def memory_alone(count, folder):
    """The same of so many processes without the library and without a run."""
    environment = _hold(folder)
    children = [_start([OUT / "alone"], environment, folder) for _ in range(count)]
    return _memory_when_all_arrived(children, count, folder)
