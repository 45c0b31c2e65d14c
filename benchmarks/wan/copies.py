"""Measures files over the emulated link: `ligament cp` beside scp, and the delay of a file by `ligament sync`.
Both sides are directories in memory, so that no disk is measured."""

import contextlib
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import CannotMeasure
from sshd import Ssh

EACH = 16 << 10  # bytes of each small file
APPEARS, TIMES = 1 << 20, 5  # bytes and number of the files that `sync` copies


def missing():
    """Returns one sentence if ssh is missing, which copies need."""
    return None if shutil.which("sshd") and shutil.which("scp") else "no copies: ssh is not installed"


@contextlib.contextmanager
def place(link):
    """Makes a directory in memory, and an sshd at the far end of the link."""
    with tempfile.TemporaryDirectory(prefix="lig-wan-", dir="/dev/shm") as folder:
        ssh = Ssh(Path(folder), link.b, "Subsystem sftp internal-sftp\n")
        try:
            yield Path(folder), ssh
        finally:
            ssh.end()


def timed(link, seconds, *command):
    """Runs a command at the near end. Returns its s."""
    begun = time.monotonic()
    link.a.run(*command, limit=seconds)
    return time.monotonic() - begun


def _cp(folder):
    return [Ligament().command, "cp", "--quiet", f"--ssh-option=-F{folder}/client.conf",
            f"--ligament={Ligament().command}"]


def one_file(link, program, size, seconds):
    """Returns the Mbit/s for one file of this size, from the start of the command to its end."""
    with place(link) as (folder, ssh):
        with open(folder / "data", "wb") as file:
            for begin in range(0, size, 1 << 20):
                file.write(os.urandom(min(1 << 20, size - begin)))
        words = ["scp", "-q", *ssh.options] if program == "scp" else _cp(folder)
        took = timed(link, seconds, *words, folder / "data", f"east:{folder}/copy")
        if (folder / "copy").stat().st_size != size:
            raise CannotMeasure(f"{program} has not copied all")
        return size * 8e-6 / took


def many_files(link, program, files, seconds):
    """Returns the s for a directory of small files."""
    with place(link) as (folder, ssh):
        (folder / "many").mkdir()
        for number in range(files):
            (folder / f"many/{number}").write_bytes(os.urandom(EACH))
        words = ["scp", "-q", "-r", *ssh.options] if program == "scp" else _cp(folder)
        took = timed(link, seconds, *words, folder / "many", f"east:{folder}/copy")
        if len(list((folder / "copy").rglob("*"))) < files:
            raise CannotMeasure(f"{program} has not copied all")
        return took


def appears(link):
    """Returns the s from the close of a file until it is at the far end by `ligament sync`, as the median of
    some files."""
    with place(link) as (folder, _):
        here, there = folder / "here", folder / "there"
        here.mkdir()
        options = [f"--ssh-option=-F{folder}/client.conf", f"--ligament={Ligament().command}"]
        sync = link.a.start(Ligament().command, "sync", "--quiet", *options, here, f"east:{there}")
        try:
            took = []
            for number in range(TIMES + 1):
                data, file = os.urandom(APPEARS), here / str(number)
                file.write_bytes(data)
                begun = time.monotonic()
                while not (there / str(number)).exists():
                    if sync.poll() is not None or time.monotonic() > begun + 60:
                        raise CannotMeasure("sync does not bring a file")
                    time.sleep(0.002)
                took.append(time.monotonic() - begun)
                time.sleep(1)
            return statistics.median(took[1:])  # the first one includes the start of sync
        finally:
            sync.kill()
            sync.wait()
            link.a.processes.remove(sync)
