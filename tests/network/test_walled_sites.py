"""One run with a job in the queue of each of two real Slurms, each behind a firewall that lets no connection
in. Each Slurm is in a network namespace of its own, which is reached only by ssh's standard input and output,
and by a relay that all can dial."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "launch"))
import programs  # noqa: E402
from sshd import until  # noqa: E402
from test_relays import Post  # noqa: E402


class WalledSite:
    """A Slurm in a namespace, with an sshd that ssh itself starts there, so that no port of it is open."""

    def __init__(self, tool, host, where, nodes, files):
        self.tool, self.host, self.where = tool, host, where
        where.mkdir()
        host.run(tool, "start", where / "slurm", nodes, 2, limit=300)
        for key in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", where / key], check=True)
        (where / "authorized").write_text((where / "client.pub").read_text())
        (where / "sshd.conf").write_text(
            f"HostKey {where}/host\nAuthorizedKeysFile {where}/authorized\nStrictModes no\nUsePAM no\n"
            f"PermitRootLogin yes\nPasswordAuthentication no\nPrintMotd no\nSetEnv HOME={Path.home()}\n")
        (where / "known").write_text(f"{host.name} {' '.join((where / 'host.pub').read_text().split()[:2])}\n")
        sshd = " ".join(host.words(shutil.which("sshd"), "-i", "-f", where / "sshd.conf"))
        (where / "client.conf").write_text(
            f"Host {host.name}\n  ProxyCommand {sshd}\n  User root\n  IdentityFile {where}/client\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {where}/known\n  GlobalKnownHostsFile none\n  "
            f"StrictHostKeyChecking yes\n")
        commands = [f"export PATH=\"{os.environ['PATH']}\"", f"export SLURM_CONF={where}/slurm/slurm.conf",
                    f"export AT={host.name}"]
        files.mkdir(exist_ok=True)
        (files / f"{host.name}.yaml").write_text(
            f"ssh: {host.name}\nssh_options: [-F, {where}/client.conf]\ndirectory: "
            f"{where}/couplings\nlauncher: slurm\n"
            f"time: 10 min\nscratch: {where}/scratch\ncommands: {json.dumps(commands)}\n")
        host.wall()

    def stop(self):
        self.host.unwall()
        self.host.run(self.tool, "stop", self.where / "slurm", limit=300)


@pytest.fixture
def sites(network, slurm_tool, tmp_path):
    Path("/run/sshd").mkdir(exist_ok=True)
    net = network("head", "gate", "a", "b")
    net["head"].wall()
    both = []
    try:
        for name, nodes in (("a", 1), ("b", 2)):
            both.append(WalledSite(slurm_tool, net[name], tmp_path / f"site-{name}", nodes, tmp_path / "sites"))
        yield net
    finally:
        for site in both:
            site.stop()


def test_a_model_runs_at_two_slurms_that_only_dial_out_with_the_result_of_one_machine(ligament, sites,
                                                                                      tmp_path):
    programs.write(tmp_path)
    model = tmp_path / "counting.ymmsl"
    model.write_text(model.read_text() + "ligament:\n  place: {a: source, b: worker}\n"
                     "  stage: {source: source.py, worker: worker.py}\n")
    relay = Post(ligament, sites["gate"], tmp_path / "gate.relay")
    try:
        said = sites["head"].run(ligament, "submit", "counting.ymmsl", "--site", "a", "--site", "b", "--nodes",
                                 "b=2",
                                 "--relay", relay.file, cwd=tmp_path, limit=120)
        run = tmp_path / "runs/latest"
        record = json.loads((run / "run.json").read_text())
        assert record["state"] == "done", said
        where = {one["name"]: one["on"].split("/")[0] for one in record["instances"]}
        assert where == {"source": "a", "worker[0]": "b", "worker[1]": "b"}
        assert "all came back" in programs.output(run, "source")
        assert all(programs.output(run, f"worker[{i}]").startswith("runs on n") for i in (0, 1))
        assert all(one["scratch"].startswith(str(tmp_path)) for one in record["domains"][1:]), record["domains"]
        until(lambda: not list(tmp_path.glob("site-*/couplings/runs/*/invitation")),
              "the removal of the run's keys")
    finally:
        relay.process.kill()
        relay.process.wait()
