"""Runs over ssh whose head, agent, or ssh between them is killed: the run ends at once, gives the reason, and
leaves no process on any machine, even if its patience is long."""

import json
import os
import signal
import subprocess
from pathlib import Path

import programs
import pytest
from conftest import until

# Variables that sshd's own environment lacks, as on machines whose programs come from modules.
PATH = "commands: ['export PATH=\"" + os.environ["PATH"] + "\"']"


class Lasting:
    """A run on the machine east that would last for hours."""

    def __init__(self, folder, site):
        programs.write(folder)
        self.directory = folder / "r"
        self.head = subprocess.Popen(
            ["ligament", "run", "counting.ymmsl", "--hosts=east", "--overcommit", f"--site={site}",
             "--run-dir=r",
             "--patience=1h", "-s", "steps=1000000", "-s", "pause=0.05"],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(folder / "said").open("w"),
        )
        worker = self.directory / "instances/worker[1]/output.log"
        until(lambda: worker.exists() and "runs on" in worker.read_text() or self.head.poll() is not None,
              "the run's begin")
        assert self.head.poll() is None, (folder / "said").read_text()
        self.agent = json.loads(call_status(self.directory))["domains"][1]["pid"]

    def ssh(self):
        """Returns the ssh client that has started the agent."""

        def found():
            for task in Path(f"/proc/{self.head.pid}/task").iterdir():
                try:
                    for child in (task / "children").read_text().split():
                        if Path(f"/proc/{child}/comm").read_text() == "ssh\n":
                            return int(child)
                except OSError:
                    pass  # a thread or a child has ended meanwhile

        return until(found, "an ssh")

    def processes(self):
        """Returns the remaining processes: instances, which work below the run's directory, and the agent."""
        left = []
        for entry in filter(lambda entry: entry.name.isdigit(), Path("/proc").iterdir()):
            try:
                is_agent = int(entry.name) == self.agent and (entry / "stat").read_text().split()[2] != "Z"
                if is_agent or os.readlink(entry / "cwd").startswith(f"{self.directory}/"):
                    left.append(int(entry.name))
            except OSError:
                pass  # it has ended meanwhile
        return left

    def record(self):
        return json.loads((self.directory / "run.json").read_text())


def call_status(directory):
    done = subprocess.run(["ligament", "status", str(directory), "--json"], capture_output=True, text=True,
                          timeout=60)
    return done.stdout


@pytest.fixture
def run(ssh, tmp_path):
    site = ssh.site(tmp_path / "one.yaml")
    site.write_text(site.read_text() + PATH + "\n")
    one = Lasting(tmp_path, site)
    yield one
    if one.head.poll() is None:
        one.head.kill()
    one.head.wait()


def test_a_killed_agent_is_named_with_its_end(run):
    os.kill(run.agent, signal.SIGKILL)
    assert run.head.wait(timeout=60) == 1
    assert run.record()["reason"].startswith(
        "the agent on east (domain 1) is gone: it was killed by SIGKILL"), run.record()
    until(lambda: not run.processes(), "the end of all its processes", limit=60)


def test_a_killed_ssh_leaves_no_agent_behind(run):
    os.kill(run.ssh(), signal.SIGKILL)
    assert run.head.wait(timeout=60) == 1
    assert "east" in run.record()["reason"] and "(domain 1)" in run.record()["reason"], run.record()
    until(lambda: not run.processes(), "the end of all its processes", limit=60)


def test_a_killed_head_leaves_no_agent_behind(run):
    run.head.kill()
    until(lambda: not run.processes(), "the end of all its processes", limit=60)
