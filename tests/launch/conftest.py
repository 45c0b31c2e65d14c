"""A real sshd and a real Slurm for the tests of this directory. Each has its files below a temporary directory,
uses ports of the loopback interface, and is ended by its process ids."""

import os
import shutil
from pathlib import Path

import pytest
from sshd import Ssh, call, until

ROOT = Path(__file__).resolve().parents[2]


def pytest_report_header():
    return f"ligament: {shutil.which('ligament')}"


@pytest.fixture(scope="session")
def ssh(tmp_path_factory):
    if shutil.which("sshd") is None or os.geteuid() != 0:
        pytest.skip("sshd is not installed, or this is not root")
    one = Ssh(tmp_path_factory.mktemp("ssh"))
    yield one
    one.end()


# Variables that sshd's own environment lacks, as on machines whose programs come from modules.
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
    """A directory with a model of one instance, whose program prints a line and ends."""
    (tmp_path / "tiny.ymmsl").write_text("""ymmsl_version: v0.2
models:
  tiny:
    components:
      one: {implementation: one}
programs:
  one: {script: "echo hello from one"}
""")
    return tmp_path
