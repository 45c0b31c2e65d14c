"""The guide for two sites behind firewalls, followed to the letter. Each of its machines is a network
namespace. Two of them can be reached only by ssh, and these have a Slurm of their own."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.sites
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "docs"))
from pages import FENCE, NAMED, pattern  # noqa: E402

GUIDE = ROOT / "docs/guides/two-sites.md"
MACHINES = ["mine", "gate", "north", "south"]
PROMPT = re.compile(r"^(\w+)\$ (.*)$")


def steps(text):
    """The steps of the page: ("file", name, text) and ("at", machine, command, output lines)."""
    end = 0
    for match in FENCE.finditer(text):
        paragraph, end = text[end:match.start()].strip().rsplit("\n\n", 1)[-1], match.end()
        if match.group(1) == "text":
            said = None
            for line in match.group(2).splitlines():
                if prompt := PROMPT.match(line):
                    if said:
                        yield said
                    said = ("at", prompt.group(1), prompt.group(2), [])
                else:
                    said[3].append(line)
            yield said
        elif named := NAMED.match(paragraph):
            yield "file", named.group(1), match.group(2)


class Machine:
    """A machine of the guide: a shell in its home."""

    def __init__(self, host, home, known):
        self.host, self.home = host, home
        home.mkdir()
        self.path = f"{known}:{Path(sys.executable).parent}:{ROOT / 'target/release'}:{os.environ['PATH']}"
        self.environment = {**os.environ, "HOME": str(home), "PATH": self.path,
                            "SLURM_CONF": f"{home}/slurm/slurm.conf"}
        (home / ".bash_profile").write_text(f"export PATH='{self.path}' SLURM_CONF='{home}/slurm/slurm.conf'\n")
        # One shell for all commands, as a user has it: it knows the processes in its background.
        self.shell = host.start("bash", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True,
                                cwd=home, env=self.environment)

    def do(self, line):
        """Gives a command. Returns its exit status and its output."""
        self.shell.stdin.write(f"{{ {line}\n}} < /dev/null\nprintf '\\n=== %s\\n' $?\n")
        self.shell.stdin.flush()
        printed = ""
        while not (line := self.shell.stdout.readline()).startswith("=== "):
            assert line, f"the shell has ended\n{printed}"
            printed += line
        return int(line.split()[1]), printed.removesuffix("\n")

    def lets_in_by_ssh(self, where):
        """Makes an sshd that ssh itself starts here, so that no port is open. Returns its part of ssh's
        configuration."""
        where.mkdir()
        for key in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", where / key], check=True)
        (where / "authorized").write_text((where / "client.pub").read_text())
        enters = where / "enters"
        enters.write_text(f"#!/bin/bash\ncd '{self.home}'\nexport HOME='{self.home}'\n. ./.bash_profile\n"
                          'exec bash -c "$SSH_ORIGINAL_COMMAND"\n')
        enters.chmod(0o755)
        (where / "sshd.conf").write_text(
            f"HostKey {where}/host\nAuthorizedKeysFile {where}/authorized\nStrictModes no\nUsePAM "
            f"no\nPermitRootLogin yes\n"
            f"PasswordAuthentication no\nPrintMotd no\nAllowTcpForwarding no\n"
            f"ForceCommand {enters}\nSetEnv HOME={self.home}\n"
            "Subsystem sftp /usr/lib/openssh/sftp-server\n")
        name = self.host.name
        (where / "known").write_text(f"{name} {' '.join((where / 'host.pub').read_text().split()[:2])}\n")
        sshd = " ".join(self.host.words(shutil.which("sshd"), "-i", "-f", where / "sshd.conf"))
        return (
            f"Host {name}\n  ProxyCommand {sshd}\n  User root\n  IdentityFile {where}/client\n  "
            f"IdentitiesOnly yes\n"
                f"  UserKnownHostsFile {where}/known\n  GlobalKnownHostsFile none\n  StrictHostKeyChecking "
                f"yes\n")


@pytest.fixture
def machines(network, slurm_tool, tmp_path):
    Path("/run/sshd").mkdir(exist_ok=True)
    net, known = network(*MACHINES), tmp_path / "bin"
    known.mkdir()
    # The ssh of these machines is configured to reach the others, like that of a user.
    for name in ("ssh", "scp"):
        (known / name).write_text(f"#!/bin/sh\nexec {shutil.which(name)} -F {tmp_path}/ssh.conf \"$@\"\n")
        (known / name).chmod(0o755)
    there = {name: Machine(net[name], tmp_path / name, known) for name in MACHINES}
    for number, name in enumerate(MACHINES):
        # The addresses of the guide.
        address = "192.0.2.7" if name == "gate" else f"192.0.2.{100 + number}"
        net._on(name, "addr", "add", f"{address}/24", "dev", "eth0")
    (tmp_path / "ssh.conf").write_text("".join(there[name].lets_in_by_ssh(tmp_path / f"ssh-{name}")
                                               for name in MACHINES[1:]))
    started = []
    try:
        for name in ("north", "south"):
            net[name].run(slurm_tool, "start", there[name].home / "slurm", 1, 2, limit=300)
            started.append(name)
        for name in ("mine", "north", "south"):
            net[name].wall()
        net["gate"].wall(*range(41000, 41010))
        yield there
    finally:
        for name in started:
            net[name].unwall()
            net[name].run(slurm_tool, "stop", there[name].home / "slurm", limit=300)


def test_who_follows_the_guide_comes_to_its_result(machines):
    done = 0
    for kind, *step in steps(GUIDE.read_text()):
        done += 1
        if kind == "file":
            name, text = step
            (machines["mine"].home / name).write_text(text)
            continue
        machine, line, expected = step
        status, printed = machines[machine].do(line)
        until = time.monotonic() + 60
        while line.startswith("head") and (
            status or not printed) and time.monotonic() < until:  # who sees nothing yet looks again
            status, printed = machines[machine].do(line)
        assert status == 0, f"{machine}$ {line}: status {status}\n{printed}"
        assert pattern(expected).match(printed), f"{machine}$ {line}\n{printed}\nand not\n" + "\n".join(
            expected)
    assert done > 25, "steps of the guide are not found"
