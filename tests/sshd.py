"""A real sshd below a temporary directory and on a port of the loopback interface, ended by its process id."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

LONG = 120


def call(*words, cwd, env=None, limit=LONG, check=None):
    """Runs a command, and returns its result with its output. `check` is the exit status that it must have."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, env={**os.environ, **(env or {})}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=limit)
    if check is not None:
        assert done.returncode == check, f"{words} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def until(what, why, limit=LONG):
    """Waits until a condition holds, and returns its value. If it never holds, the error is `why`."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{why} took more than {limit} s")


def held_port():
    """A socket that reserves a port without listening there. Only sshd can still use the port."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind(("127.0.0.1", 0))
    return one


class Ssh:
    """An sshd, and the options for ssh by which a client reaches it. `east`, `west` and `nobody` are names of
    machines, all of which are this machine; no process listens at the port of `nobody`. `host` is a namespace
    for the sshd, with the address at which it listens. `more` are further lines of its configuration."""

    def __init__(self, where, host=None, more=""):
        self.where = where
        address, words = (host.v4, host.words) if host else ("127.0.0.1", lambda *command: list(command))
        self.held = [held_port(), held_port()]
        port, closed = (one.getsockname()[1] for one in self.held)
        self.port = port
        for key in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", where / key], check=True)
        (where / "authorized").write_text((where / "client.pub").read_text())
        (where / "sshd.conf").write_text(
            f"Port {port}\nListenAddress {address}\nHostKey {where}/host\nPidFile {where}/sshd.pid\n"
            f"AuthorizedKeysFile {where}/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\n"
            # On a slow machine, many clients log in at once. By default, sshd refuses some of more than ten at
            # random.
            f"MaxStartups 100\n"
            # The home is the tests' own: bash reads startup files for each command, and tests kill such shells.
            f"SetEnv HOME={Path.home()}\n{more}")
        known = (where / "host.pub").read_text().split()[:2]
        (where / "known").write_text("".join(f"{name} {' '.join(known)}\n" for name in ("east", "west")))
        common = (f"  HostName {address}\n  User {getpass.getuser()}\n  IdentityFile {where}/client\n"
                  f"  IdentitiesOnly yes\n  UserKnownHostsFile {where}/known\n  GlobalKnownHostsFile none\n"
                  "  StrictHostKeyChecking yes\n")
        hosts = [("east", port), ("west", port), ("stranger", port), ("nobody", closed)]
        (where / "client.conf").write_text("".join(
            f"Host {name}\n  HostKeyAlias {name}\n  Port {port}\n{common}" for name, port in hosts))
        Path("/run/sshd").mkdir(exist_ok=True)
        self.daemon = subprocess.Popen(words(shutil.which("sshd"), "-D", "-e", "-f", where / "sshd.conf"),
                                       stdin=subprocess.DEVNULL, stderr=(where / "sshd.log").open("w"))
        until(lambda: call(*words("ssh", *self.options, "east", "true"), cwd=where).returncode == 0, "sshd")

    @property
    def options(self):
        return ["-F", str(self.where / "client.conf")]

    def site(self, path, **more):
        """Writes a site file that uses it."""
        lines = [f"ssh_options: [-F, {self.where}/client.conf]",
                 *(f"{key}: {value}" for key, value in more.items())]
        path.write_text("\n".join(lines) + "\n")
        return path

    def end(self):
        self.daemon.terminate()
        self.daemon.wait()
        for one in self.held:
            one.close()
