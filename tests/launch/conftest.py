"""A real sshd and a real Slurm for the tests of this directory, each below a temporary directory and on ports of the
loopback interface, ended by their process ids."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONG = 120


def pytest_report_header():
    return f"ligament: {shutil.which('ligament')}"


def call(*words, cwd, env=None, limit=LONG, check=None):
    """Runs a command; its result, with what it printed. `check` is the exit status that it must have."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, env={**os.environ, **(env or {})}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit)
    if check is not None:
        assert done.returncode == check, f"{words} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def until(what, why, limit=LONG):
    """Waits until something is true, and gives it back; `why` is said if it never is."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{why} took more than {limit} s")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Ssh:
    """An sshd, and what a client needs to reach it: options for ssh in which `east`, `west` and `nobody` are names of
    machines, all of them this one; at nobody's port nobody listens."""

    def __init__(self, where):
        self.where = where
        port, closed = free_port(), free_port()
        for key in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", where / key], check=True)
        (where / "authorized").write_text((where / "client.pub").read_text())
        (where / "sshd.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {where}/host\nPidFile {where}/sshd.pid\n"
            f"AuthorizedKeysFile {where}/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\n")
        known = (where / "host.pub").read_text().split()[:2]
        (where / "known").write_text("".join(f"{name} {' '.join(known)}\n" for name in ("east", "west")))
        common = (f"  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentityFile {where}/client\n"
                  f"  IdentitiesOnly yes\n  UserKnownHostsFile {where}/known\n  GlobalKnownHostsFile none\n"
                  "  StrictHostKeyChecking yes\n")
        hosts = [("east", port), ("west", port), ("stranger", port), ("nobody", closed)]
        (where / "client.conf").write_text("".join(
            f"Host {name}\n  HostKeyAlias {name}\n  Port {port}\n{common}" for name, port in hosts))
        Path("/run/sshd").mkdir(exist_ok=True)
        self.daemon = subprocess.Popen([shutil.which("sshd"), "-D", "-e", "-f", where / "sshd.conf"],
                                       stdin=subprocess.DEVNULL, stderr=(where / "sshd.log").open("w"))
        until(lambda: call("ssh", *self.options, "east", "true", cwd=where).returncode == 0, "sshd")

    @property
    def options(self):
        return ["-F", str(self.where / "client.conf")]

    def site(self, path, **more):
        """Writes a site file that uses it."""
        lines = [f"ssh_options: [-F, {self.where}/client.conf]", *(f"{key}: {value}" for key, value in more.items())]
        path.write_text("\n".join(lines) + "\n")
        return path

    def end(self):
        self.daemon.terminate()
        self.daemon.wait()


@pytest.fixture(scope="session")
def ssh(tmp_path_factory):
    if shutil.which("sshd") is None or os.geteuid() != 0:
        pytest.skip("sshd is not installed, or this is not root")
    one = Ssh(tmp_path_factory.mktemp("ssh"))
    yield one
    one.end()


# What sshd's own environment lacks, as it does on machines where programs come from modules.
PATH = "commands: ['export AT=there', 'export PATH=\"" + os.environ["PATH"] + "\"']"


@pytest.fixture
def site(ssh, tmp_path):
    path = ssh.site(tmp_path / "two.yaml")
    path.write_text(path.read_text() + PATH + "\n")
    return path


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A Slurm with three nodes of two processors; its environment is set for the session."""
    if shutil.which("slurmctld") is None or os.geteuid() != 0:
        pytest.skip("slurm-wlm is not installed, or this is not root")
    where, tool = tmp_path_factory.mktemp("slurm"), ROOT / "tests/tools/slurm-cluster"
    call(tool, "start", where, 3, 2, cwd=where, check=0)
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(where / "slurm.conf")
    yield where
    call(tool, "stop", where, cwd=where, check=0)
    if before is None:
        del os.environ["SLURM_CONF"]
    else:
        os.environ["SLURM_CONF"] = before


@pytest.fixture
def tiny(tmp_path):
    """A directory with a model of one instance, whose program says something and ends."""
    (tmp_path / "tiny.ymmsl").write_text("""ymmsl_version: v0.2
models:
  tiny:
    components:
      one: {implementation: one}
programs:
  one: {script: "echo hello from one"}
""")
    return tmp_path
