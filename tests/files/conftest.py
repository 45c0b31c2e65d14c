"""Copies over a real sshd on the loopback interface; the other end is the same command on the same machine."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from sshd import Ssh, call, until
from trees import about

__all__ = ["about", "call", "until"]


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "slow: takes longer than the others together; of the suite \"long copies\"")


@pytest.fixture(scope="session")
def ssh(tmp_path_factory):
    if shutil.which("sshd") is None or os.geteuid() != 0:
        pytest.skip("sshd is not installed, or this is not root")
    one = Ssh(tmp_path_factory.mktemp("ssh"))
    yield one
    one.end()


class Ligament:
    """The command, with the environment that leads it to the machines of the tests."""

    def __init__(self, ssh, cwd):
        self.option, self.cwd, self.started = f"--ssh-option=-F{ssh.where}/client.conf", cwd, []

    def cp(self, *words, check=0):
        """Copies, and returns the command's report as JSON."""
        done = call("ligament", "cp", "--json", self.option, *words, cwd=self.cwd)
        assert done.returncode == check, done.stdout + done.stderr
        return json.loads(done.stdout)

    def says(self, *words, check=0):
        """Copies, and returns the command's report in words."""
        done = call("ligament", "cp", self.option, *words, cwd=self.cwd)
        assert done.returncode == check, done.stdout + done.stderr
        return done.stdout + done.stderr

    def begin(self, *words):
        """Begins a command that goes on; the n-th one prints to the files `out<n>` and `said<n>`."""
        one = subprocess.Popen(["ligament", words[0], self.option, *map(str, words[1:])], cwd=self.cwd,
                               stdin=subprocess.DEVNULL,
                               stdout=(self.cwd / f"out{len(self.started)}").open("w"),
                               stderr=(self.cwd / f"said{len(self.started)}").open("w"))
        self.started.append(one)
        return one

    def end(self):
        for one in self.started:
            if one.poll() is None:
                one.kill()
            one.wait()


@pytest.fixture
def ligament(ssh, tmp_path):
    one = Ligament(ssh, tmp_path)
    yield one
    one.end()


def serving(directory):
    """Returns the processes of other ends that have a file open in a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"serve-files" in (process / "cmdline").read_bytes():
                opened = [os.readlink(fd) for fd in (process / "fd").iterdir()]
                if any(one.startswith(str(directory)) for one in opened):
                    found.append(int(process.name))
        except OSError:
            pass  # it has ended
    return found
