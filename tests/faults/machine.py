"""The parts of the system that a cell needs: a process that adopts and sees all of its descendants, a memory
group, a mount namespace with a small disk; and the check for leftovers."""

import ctypes
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG = 36, 1
CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18
GROUP_LIMIT = 96 << 20


def _check(returned, what):
    if returned != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def adopt_orphans():
    """Makes all descendants of this process stay its descendants. The process dies with its own parent."""
    _check(LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")
    _check(LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "PR_SET_PDEATHSIG")


def own_mounts():
    """Makes a mount namespace for this process and its descendants."""
    _check(LIBC.unshare(CLONE_NEWNS), "unshare")
    _check(LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount --make-rprivate")


def mount_small_disk(path, size="256k"):
    path.mkdir(parents=True, exist_ok=True)
    _check(LIBC.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, f"size={size}".encode()), f"mount {path}")


def unmount(path):
    LIBC.umount2(os.fsencode(path), 2)


def fill(path):
    """Fills a disk: no room is left for data or for names."""
    with open(path / "full", "wb", buffering=0) as file:
        for block in (65536, 4096, 1):
            try:
                while True:
                    file.write(bytes(block))
            except OSError:
                pass


def can_mount():
    """Returns true if this process can have mounts of its own. A child process tries it."""
    pid = os.fork()
    if pid == 0:
        try:
            own_mounts()
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


class Group:
    """A memory control group of either version, with a limit if one is given; None if it cannot be made."""

    def __init__(self, path, version):
        self.path, self.version = path, version

    @staticmethod
    def make(name, limit=None):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, inside = line.split(":", 2)
            if "memory" in controllers.split(","):
                roots, version = [Path("/sys/fs/cgroup/memory")], 1
            elif not controllers and Path("/sys/fs/cgroup/cgroup.controllers").exists():
                roots, version = [Path("/sys/fs/cgroup")], 2
            else:
                continue
            for root in [roots[0] / inside.lstrip("/"), roots[0]]:
                group = Group(root / name, version)
                try:
                    group.path.mkdir()
                    if limit is not None:
                        group._limit(limit)
                    return group
                except OSError:
                    group.remove()
        return None

    def _limit(self, limit):
        names = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if self.version == 1 else [
            "memory.max"]
        for i, name in enumerate(names):
            try:
                (self.path / name).write_text(str(limit))
            except OSError:
                if i == 0:
                    raise

    @property
    def processes(self):
        return self.path / "cgroup.procs"

    def shared_bytes(self):
        """The shared memory that is still charged to the group, in bytes; None if the kernel does not tell."""
        for line in (self.path / "memory.stat").read_text().splitlines():
            name, value = line.split()
            if name == "shmem":
                return int(value)
        return None

    def shared_bytes_left(self, seconds=60):
        """The same after the kernel has settled its counts. It adds up its batches of up to 64 pages a core
        every two seconds, and frees the pages of an unmounted disk a moment later. Leaked memory stays."""
        until = time.monotonic() + seconds
        while (shared := self.shared_bytes()) and time.monotonic() < until:
            time.sleep(0.05)
        return shared

    def remove(self):
        until = time.monotonic() + 2
        while self.path.exists() and time.monotonic() < until:
            try:
                self.path.rmdir()
            except OSError:
                time.sleep(0.002)


def processes():
    """The parent and the state of every process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as stat:
                    state, parent = stat.read().rsplit(")", 1)[1].split()[:2]
                found[int(name)] = (int(parent), state)
            except OSError:
                pass
    return found


def descendants():
    """All descendants of this process that have not ended, with their commands."""
    table, found, parents = processes(), {}, {os.getpid()}
    while True:
        more = {pid for pid, (parent, _) in table.items() if parent in parents and pid not in parents}
        if not more:
            break
        parents |= more
        found.update({pid: table[pid][1] for pid in more if table[pid][1] != "Z"})
    return found


def describe(pid):
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        where = Path(f"/proc/{pid}/wchan").read_text()
        return f"{pid} ({name}, {state}, in {where or '?'}): {words[:150]}"
    except OSError:
        return f"{pid} (gone meanwhile)"


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def end_descendants():
    while left := descendants():
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        time.sleep(0.001)
    reap()


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def no_more_files(pid):
    """Leaves a process no further descriptor."""
    highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    open_files = len(os.listdir(f"/proc/{pid}/fd"))
    # The limit is on the highest number, and there may be unused numbers below it.
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    limit = open_files if open_files == highest + 1 else highest + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))


def quiet(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
