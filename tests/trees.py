"""Trees of files to copy, and the progress of their copies."""

import hashlib
import os
import random
import stat
import subprocess

MB = 1 << 20


def grow(path, size, seed=19):
    """A tree with this number of bytes: files of all sizes, some of them large, in directories of several
    depths, with links."""
    dice, left, number = random.Random(seed), size, 0
    while left:
        length = min(left, dice.choice([0, dice.randrange(5000), dice.randrange(MB),
                                        dice.randrange(size // 16)]))
        file = path.joinpath(*(f"d{dice.randrange(4)}" for _ in range(dice.randrange(4))), f"f{number}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(dice.randbytes(length))
        file.chmod(dice.choice([0o600, 0o640, 0o755]))
        left, number = left - length, number + 1
    (path / "link").symlink_to("d0")
    return path


def bytes_of(path):
    """Returns the number of bytes that have arrived in a tree, including parts of files."""
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except FileNotFoundError:
                pass  # a part has got its name
    return total


def is_written(path):
    """Returns true if a process has a part of a file open in a tree."""
    parts = list(path.rglob(".*.ligament-part"))
    return bool(parts) and subprocess.run(["fuser", "-s", *parts], stderr=subprocess.DEVNULL,
                                          check=False).returncode == 0


def about(path):
    """Describes a tree: names, kinds, modes, times, contents."""
    found = {}
    for directory, directories, names in os.walk(path):
        for name in directories + names:
            one = os.path.join(directory, name)
            status = os.lstat(one)
            what = [stat.S_IFMT(status.st_mode), status.st_mode & 0o777]
            if stat.S_ISLNK(status.st_mode):
                what.append(os.readlink(one))
            else:
                what.append(status.st_mtime_ns)
            if stat.S_ISREG(status.st_mode):
                with open(one, "rb") as file:
                    what.append(hashlib.file_digest(file, "sha256").hexdigest())
            found[os.path.relpath(one, path)] = what
    return found
