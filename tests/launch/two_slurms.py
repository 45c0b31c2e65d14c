"""Two real Slurms side by side on this machine: site `a`, behind a real sshd, and site `b`, which is called
here. Each has its own controller, ports and directories. They share only munge."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

from sshd import call, until

TOOL = Path(__file__).resolve().parents[1] / "tools/slurm-cluster"


class Cluster:
    """A Slurm whose nodes have two processors each."""

    def __init__(self, where, nodes):
        self.where, self.nodes = where, nodes
        call(TOOL, "start", where, nodes, 2, cwd=where, check=0)
        self.env = {"SLURM_CONF": str(where / "slurm.conf")}

    def jobs(self):
        """Returns the numbers and states of all jobs that are not over, as squeue prints them."""
        said = call("squeue", "--noheader", "--format=%i|%T", cwd=self.where, env=self.env, check=0).stdout
        return dict(line.strip().split("|") for line in said.splitlines())

    def is_empty(self):
        return self.jobs() == {}

    @contextmanager
    def full(self):
        """Another user has all its nodes meanwhile."""
        done = call("sbatch", "--parsable", f"--nodes={self.nodes}", "--exclusive", "--output=/dev/null",
                    "--wrap=sleep 1000", cwd=self.where, env=self.env, check=0)
        job = done.stdout.strip()
        until(lambda: self.jobs().get(job) == "RUNNING", "the job of somebody else")
        try:
            yield
        finally:
            self.cancel(job)

    @contextmanager
    def reserved(self, name):
        """All its nodes are reserved meanwhile, for jobs that name the reservation."""
        call("scontrol", "create", "reservation", f"reservationname={name}", "starttime=now", "duration=60",
             "users=root",
             "nodes=ALL", cwd=self.where, env=self.env, check=0)
        try:
            yield
        finally:
            for job in self.jobs():
                # The process may have ended by itself before.
                call("scancel", job, cwd=self.where, env=self.env)
            until(self.is_empty, "the end of the jobs in the reservation")
            call("scontrol", "delete", f"reservationname={name}", cwd=self.where, env=self.env, check=0)

    def about(self, job):
        """Returns Slurm's data on a job, which may have ended just now."""
        return call("scontrol", "show", "job", job, cwd=self.where, env=self.env, check=0).stdout

    def cancel(self, job):
        call("scancel", job, cwd=self.where, env=self.env, check=0)

    def stop(self):
        call(TOOL, "stop", self.where, cwd=self.where, check=0)


def write_sites(where, ssh, a, b, **more):
    """Writes the files of both sites for a project in `where`; `more` are further lines for both."""
    (where / "sites").mkdir(exist_ok=True)
    path = f"export PATH=\"{os.environ['PATH']}\""
    for name, cluster, lines in (
        ("a", a, [f"ssh: east\nssh_options: [-F, {ssh.where}/client.conf]\ndirectory: {where}/there"]),
        ("b", b, [])
    ):
        commands = [path, f"export SLURM_CONF={cluster.where}/slurm.conf", f"export AT={name}"]
        lines += ["launcher: slurm", "time: 10 min", f"commands: {json.dumps(commands)}",
                  *(f"{key}: {value}" for key, value in more.items())]
        (where / f"sites/{name}.yaml").write_text("\n".join(lines) + "\n")


# The options that place the counting model at both sites: the source at `a` and the workers at `b`.
WITH_ROOM = ["counting.ymmsl", "--site", "a", "--site", "b", "--on", "a=source", "--on", "b=worker", "--nodes",
             "a=2"]
BOTH = [*WITH_ROOM, "--overcommit"]


class Submitted:
    """A running `ligament submit` of a model to several sites."""

    def __init__(self, where, *words, first=BOTH):
        self.where, self.log = where, where / "submitted.txt"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(["ligament", "submit", *first, *words],
                                            cwd=where, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @property
    def run(self):
        return self.where / "runs/latest"

    def said(self):
        return self.log.read_text() + (
            (self.run / "manager.log").read_text() if (self.run / "manager.log").exists() else "")

    def await_words(self, text):
        return until(lambda: text in self.said() or (
            self.process.poll() is not None and (_ for _ in ()).throw(AssertionError(self.said()))),
            f"\"{text}\"")

    def end(self, status, limit=120):
        found = self.process.wait(limit)
        assert found == status, f"it gave {found}\n{self.said()}"
        return self.said()

    def record(self):
        return json.loads((self.run / "run.json").read_text())

    def jobs(self):
        return {job["site"]: job for job in json.loads((self.run / "sites.json").read_text())["sites"]}
