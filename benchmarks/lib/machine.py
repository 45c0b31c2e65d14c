"""The machine of a benchmark: its properties, building programs on it, and running them with a time limit."""

import ctypes
import os
import platform
import shutil
import signal
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "benchmarks"


class CannotMeasure(Exception):
    """A requirement of the measurement is missing or broken. The text gives advice."""


def die_with_parent():
    """Ends the calling process when its parent ends. As `preexec_fn`, it prevents that measured programs
    outlive a killed benchmark."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def run(command, *, seconds, environment=None, folder=None, cores=None):
    """Runs a command in its own process group and returns its output. The command and all its descendants run
    on `cores` only.

    Raises CannotMeasure, with the end of the output, if the command fails or takes longer than `seconds`.
    """
    words = [str(word) for word in command]

    def prepare():
        die_with_parent()
        if cores:
            os.sched_setaffinity(0, cores)

    try:
        process = subprocess.Popen(
            words,
            env={**os.environ, **(environment or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=prepare,
        )
    except OSError as problem:
        raise CannotMeasure(f"cannot start {words[0]}: {problem.strerror}") from None
    try:
        output, _ = process.communicate(timeout=seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as reason:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        if isinstance(reason, KeyboardInterrupt):
            raise
        raise CannotMeasure(f"took longer than {seconds} s: {' '.join(words)}\n{output[-2000:]}") from None
    if process.returncode:
        raise CannotMeasure(f"failed with status {process.returncode}: {' '.join(words)}\n{output[-2000:]}")
    return output


def first_line(*command):
    """Returns the first line that a command prints, or None if the command does not exist."""
    if not shutil.which(command[0]):
        return None
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (result.stdout + result.stderr).strip().splitlines()
    return lines[0].strip() if lines else None


def _read(path):
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


def processor():
    for line in _read("/proc/cpuinfo").splitlines():
        if line.startswith(("model name", "Model")):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def facts(cores):
    """Returns the properties of the machine that a reader needs to judge the figures, as a flat dictionary."""
    index = f"/sys/devices/system/cpu/cpu{cores[0]}/cache/index"
    caches = [f"L{_read(f'{index}{i}/level')} {_read(f'{index}{i}/size')}" for i in range(4)]
    return {
        "processor": processor(),
        "cores_online": os.cpu_count(),
        "cores_used": ",".join(str(core) for core in cores),
        "siblings_of_first": _read(f"/sys/devices/system/cpu/cpu{cores[0]}/topology/thread_siblings_list"),
        "caches": ", ".join(caches),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "huge_pages": f"{_chosen('enabled')}, shared memory {_chosen('shmem_enabled')}",
        "load_before": _read("/proc/loadavg").split(" ")[0],
        "compiler": first_line("gcc", "--version"),
        "reads_other_process": reads_other_process(),
    }


def _chosen(name):
    text = _read(f"/sys/kernel/mm/transparent_hugepage/{name}")
    return text.split("[")[-1].split("]")[0]


def reads_other_process():
    """Returns True if a process may read the memory of another one. Otherwise no MPI can copy directly (CMA).
    """
    word = ctypes.create_string_buffer(b"yes", 8)
    got = ctypes.create_string_buffer(8)

    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        here = Piece(ctypes.addressof(got), 8)
        there = Piece(ctypes.addressof(word), 8)
        read = ctypes.CDLL(None, use_errno=True).process_vm_readv
        count = read(child, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        return count == 8 and got.value == b"yes"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
