"""`ligament cp` of a large tree between two machines, while the cable is cut, connections break, and the copy
is killed."""

import json
import time
from pathlib import Path

import pytest
from namespaces import processes_in
from sshd import Ssh
from test_ssh import kill, until
from trees import about, bytes_of, grow, is_written


def serves(pid):
    """Returns true if a process is the other end of a copy."""
    try:
        return b"serve-files" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False  # it has ended


@pytest.mark.slow
def test_a_tree_of_two_gibibytes_outlives_cuts_broken_connections_and_kills(network, ligament, tmp_path):
    size = 2 << 30
    source, there, where = grow(tmp_path / "source", size), tmp_path / "there", tmp_path / "ssh"
    where.mkdir()
    net = network("here", "there", rate="1gbit")
    ssh = Ssh(where, net["there"])
    outcome = tmp_path / "cp.json"

    def begin():
        with outcome.open("w") as said:
            return net["here"].start(
                ligament, "cp", f"--ssh-option=-F{where}/client.conf", f"--ligament={ligament}", "--over=path",
                "--json",
                f"{source}/.", f"east:{there}", stdout=said, stderr=said)

    def at(part):
        """Waits until this number of bytes has arrived."""
        until(lambda: bytes_of(there) >= part * size, outcome.read_text, 300)
        assert copy.poll() is None, outcome.read_text()

    try:
        copy = begin()
        at(0.1)
        net.cut("there")
        time.sleep(10)
        net.restore("there")
        at(0.3)
        # All connections are broken except that of ssh, because the end of ssh would end the copy.
        assert net["there"].run("ss", "-K", "-Htn", "sport", "!=", f":{ssh.port}"), "no connection broke"
        at(0.5)
        copy.kill()
        copy.wait()
        until(lambda: not is_written(there), lambda: "the other end goes on")
        copy = begin()
        at(0.7)
        kill([pid for pid in processes_in(net["there"].path) if serves(pid)])
        assert copy.wait(120) == 1 and "copy-cut" in outcome.read_text(), outcome.read_text()
        until(lambda: not is_written(there), lambda: "the other end goes on")
        copy = begin()
        assert copy.wait(300) == 0, outcome.read_text()
        said = json.loads(outcome.read_text())
        assert said["failed"] == [] and 0 < said["sent_bytes"] < 0.4 * size, said
        assert about(there) == about(source) and not list(there.rglob("*.ligament-part"))
    finally:
        ssh.end()
