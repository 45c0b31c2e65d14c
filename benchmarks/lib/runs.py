"""Runs of many small parts: their models as text, and the duration, memory and processor time of a run."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import CannotMeasure, die_with_parent, run

LIBRARY = Path(__file__).resolve().parent
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", f"-I{LIBRARY}"]
LIMIT = 120  # s after which a run is given up


# ---- models --------------------------------------------------------------------------------------------------
def model(name, components, conduits, programs, more=()):
    """Returns a model. `programs` are pairs of a name and the program's entry in the model."""
    lines = ["ymmsl_version: v0.1", "model:", f"  name: {name}", "  components:", *components]
    lines += ["  conduits:", *conduits] if conduits else []
    lines += ["implementations:", *(f"  {program}: {said}" for program, said in programs), *more]
    return "\n".join(lines) + "\n"


def ends(components, conduits):
    """Yields the sender and receiver of each conduit. Each component sends on as many conduits as it receives
    from. In the ring of components, a conduit leads at least one place ahead, and further in each round, so
    that it never leads to its own sender."""
    for k in range(conduits):
        sender, round_ = k % components, k // components
        yield sender, (sender + 1 + round_ % (components - 1)) % components


def web(components, conduits, executable, steps=1):
    """Returns a model of light components (light.c) in one process, with conduits spread over them."""
    sends, receives = [[] for _ in range(components)], [[] for _ in range(components)]
    lines = []
    for sender, receiver in ends(components, conduits):
        out, into = f"o{len(sends[sender])}", f"i{len(receives[receiver])}"
        sends[sender].append(out)
        receives[receiver].append(into)
        lines.append(f"    c{sender}.{out}: c{receiver}.{into}")
    rows = [
        f"    c{i}: {{implementation: node, ports: {{o_i: [{', '.join(sends[i])}], s: "
        f"[{', '.join(receives[i])}]}}}}"
        for i in range(components)
    ]
    return model("web", rows, lines, [node(executable, steps)], light(components))


def node(executable, steps=1):
    """Returns the name and the entry of the program of light components."""
    return "node", f"{{executable: {executable}, args: ['{steps}']}}"


def light(instances):
    """Returns the lines under `ligament:` for a model of this many light components. The default limit is
    10,000."""
    most = [f"  instances: {instances}"] if instances > 10_000 else []
    return ["ligament:", "  light: [node]", *most]


# ---- building ------------------------------------------------------------------------------------------------
def compiled(source, program, *more):
    """Compiles one C file."""
    program.parent.mkdir(parents=True, exist_ok=True)
    run(["gcc", *FLAGS, source, "-o", program, *more], seconds=120)
    return program


# ---- one run -------------------------------------------------------------------------------------------------
class Scratch:
    """A folder for runs. Its contents stay until the end of the measurement: a file system that has just
    deleted thousands of files takes longer to make new ones (ext4 checks each inode that was freed recently).
    """

    def __init__(self, place):
        self.path = Path(tempfile.mkdtemp(prefix="runs-", dir=place))
        self._count = 0

    def new(self):
        """Makes a new folder."""
        self._count += 1
        folder = self.path / str(self._count)
        folder.mkdir()
        return folder

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def ligament(text, folder):
    """Returns the command that runs a model in a folder. The model is given as text."""
    file = folder / "model.ymmsl"
    file.write_text(text, encoding="utf-8")
    return [Ligament().command, "run", file, "--run-dir", folder / "run", "--quiet"]


def seconds(command, folder, soft_limit=None, environment=None):
    """Returns the seconds from before the start of a command until its end."""
    words = [str(word) for word in command]
    if soft_limit:
        words = ["sh", "-c", f'ulimit -Sn {soft_limit} && exec "$@"', "sh", *words]
    begun = time.monotonic()
    run(words, seconds=LIMIT, folder=folder, environment=environment)
    return time.monotonic() - begun


def started(command, environment, folder):
    """Starts a process whose output goes to a file in the folder."""
    with open(folder / "output", "ab") as output:
        return subprocess.Popen(
            [str(word) for word in command], env=environment, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output, preexec_fn=die_with_parent,
        )


def tree(pid):
    """Returns a process and all its descendants."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{parent}/task"):
                children = Path(f"/proc/{parent}/task/{task}/children").read_text(encoding="ascii")
                found += [int(word) for word in children.split()]
    return found


# ---- those that hold (hold.h) --------------------------------------------------------------------------------
def holding(folder):
    """Returns the environment of programs that hold (hold.h) in this folder."""
    os.mkfifo(folder / "go")
    (folder / "arrived").touch()
    return {**os.environ, "HOLD": str(folder)}


def await_arrival(processes, count, folder):
    """Waits until `count` programs hold."""
    until = time.monotonic() + LIMIT
    while (folder / "arrived").stat().st_size < count:
        failed = [process for process in processes if process.poll() not in (None, 0)]
        if failed or time.monotonic() > until:
            raise CannotMeasure(f"only some of {count} programs came to where they hold; see {folder}")
        time.sleep(0.005)


def let_go(processes, folder):
    """Releases all programs that hold, and waits until these processes have ended."""
    ended, until = 0, time.monotonic() + LIMIT
    while ended < len(processes):
        # Each opening of the FIFO releases the programs that wait at this time. A later program needs another
        # opening.
        with contextlib.suppress(OSError):
            os.close(os.open(folder / "go", os.O_WRONLY | os.O_NONBLOCK))
        time.sleep(0.002)
        ended = sum(process.poll() is not None for process in processes)
        if time.monotonic() > until:
            raise CannotMeasure(f"the programs do not end; see {folder}")


def end(processes):
    """Kills the processes that have not ended."""
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait()


# ---- memory and processors -----------------------------------------------------------------------------------
def proportional(pid):
    """Returns the memory of a process in bytes. Shared memory counts by the share of this process."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise CannotMeasure(f"/proc/{pid}/smaps_rollup has no Pss; the kernel lacks CONFIG_PROC_PAGE_MONITOR")


def memory_at_peak(text, folder):
    """Returns the largest proportional memory of a run, in bytes, from repeated samples until its end."""
    process = started(ligament(text, folder), dict(os.environ), folder)
    peak, until = 0, time.monotonic() + LIMIT
    try:
        while process.poll() is None:
            begun, total = time.monotonic(), 0
            for pid in tree(process.pid):
                with contextlib.suppress(OSError):  # the process has ended
                    total += proportional(pid)
            peak = max(peak, total)
            if time.monotonic() > until:
                raise CannotMeasure(f"a run took longer than {LIMIT} s; see {folder}")
            # A sample stops the process for a moment, so the pause grows with the time of the samples.
            time.sleep(max(0.001, time.monotonic() - begun))
    finally:
        end([process])
    if process.returncode:
        raise CannotMeasure(f"a run failed with status {process.returncode}; see {folder}/output")
    return peak


def processor_time(pid):
    """Returns the processor seconds of a process and all its descendants."""
    total = 0
    for one in tree(pid):
        for path in Path(f"/proc/{one}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(path.read_text(encoding="ascii").split()[0])
    return total / 1e9
