"""The example with MPI, OpenMP, Java and Python over two sites of two hosts each. Only the gateways are joined,
and no machine can connect into a site. The sites meet over a relay at one of the gateways, over a relay that
both sites dial, over two in a row, and by ssh alone. The results equal those on one machine."""

import json
import shutil

import pytest
from gateways import TwoSites
from sshd import Ssh
from test_relays import Post
from example_models import Restenosis

HOSTS = ["a1", "b1", "a2", "b2"]  # by the numbers of their domains
ON = {0: ["cells", "recorder"], 1: ["geometry"], 2: ["flow"], 3: ["drug"]}


@pytest.fixture(scope="module")
def example(ligament, tmp_path_factory):
    return Restenosis(tmp_path_factory.mktemp("restenosis"), ligament)


class Gateways(TwoSites):
    """Two sites, and the processes on their gateways."""

    def __init__(self, network, ligament, folder, outwards):
        super().__init__(network, outwards)
        self.ligament, self.folder, self.ssh = ligament, folder, {}

    def relay(self, name, *words):
        """Starts a relay for all machines that reach this host, and returns its file."""
        relay = Post(self.ligament, self[name], self.folder / f"{name}.relay", *words, listen="4")
        if name != "meet":
            self.open_door(name, *{at.rpartition(":")[2] for at in json.loads(relay.file.read_text())["at"]})
        return relay.file

    def sshd(self, name, more=""):
        """Starts an sshd on a gateway, for all machines that reach it."""
        where = self.folder / name
        where.mkdir()
        self.ssh[name] = Ssh(where, self[name], f"ListenAddress {self[name].outside}\n{more}")
        self.open_door(name, self.ssh[name].port)

    def jump(self, *through):
        """Returns the options of an agent of site b that goes by ssh to the gateway of a, through other
        machines."""
        near = self["gb"].v4 if through else None
        text = []
        for name, ssh in self.ssh.items():
            address = near if name in through else self[name].outside
            text += [f"Host {name}", f"HostName {address}", f"Port {ssh.port}", "HostKeyAlias east",
                     "User root",
                     f"IdentityFile {ssh.where}/client", "IdentitiesOnly yes",
                     f"UserKnownHostsFile {ssh.where}/known",
                     "GlobalKnownHostsFile none", "StrictHostKeyChecking yes"]
            if through and name not in through:
                text.append(f"ProxyJump {','.join(through)}")
        (self.folder / "jump.conf").write_text("\n".join(text) + "\n")
        return ["--jump", "ga", f"--jump-option=-F{self.folder}/jump.conf"]

    def end(self):
        for ssh in self.ssh.values():
            ssh.end()


# ---- The ways in which the sites meet: hosts that reach the network outside, or not; the options of the run,
# and of b's agents ----
def a_relay_at_one_gateway(sites):
    return ["--relay", sites.relay("ga")], []


def a_relay_that_both_dial(sites):
    return ["--relay", sites.relay("meet")], []


def two_relays_in_a_row(sites):
    last = sites.relay("ga")
    return ["--relay", last], ["--relay", sites.relay("gb", "--onward", last)]


def ssh_from_gateway_to_gateway(sites):
    sites.sshd("ga")
    sites.sshd("gb")
    return [], sites.jump("gb")


WAYS = [(a_relay_at_one_gateway, True), (a_relay_that_both_dial, True), (two_relays_in_a_row, False),
        (ssh_from_gateway_to_gateway, False)]


@pytest.mark.parametrize("way, outwards", WAYS, ids=lambda value: getattr(value, "__name__", ""))
def test_restenosis_gives_the_same_over_two_sites_that_meet_by(network, spread, ligament, example, tmp_path,
                                                               way, outwards):
    if "ssh" in way.__name__ and shutil.which("sshd") is None:
        pytest.skip("sshd is not installed")
    sites = Gateways(network, ligament, tmp_path, outwards)
    try:
        options, of_b = way(sites)
        run = spread([sites[name] for name in HOSTS], example.model, on=ON,
                     options=[*example.options, *options],
                     agent_options={1: of_b, 3: of_b}, environment=example.environment)
        run.succeed()
    finally:
        sites.end()
    record = json.loads((run.directory / "run.json").read_text())
    assert {one["domain"]: one["name"] for one in record["instances"] if one["domain"]} == {n: ON[n][0]
                                                                                            for n in (1, 2, 3)}
    example.check(run.directory)


def test_nobody_connects_to_a_site_and_its_hosts_connect_outwards_only_where_they_may(network, plain):
    open_, shut = (TwoSites(network, outwards) for outwards in (True, False))
    for sites in (open_, shut):
        plain(sites["ga"], "echo", sites["ga"].outside, 7001)
        plain(sites["meet"], "echo", sites["meet"].v4, 7002)
    kept_out = [plain(open_[name], "talk", open_["ga"].outside, 7001) for name in ("meet", "gb", "b1", "a1")]
    for name in ("a1", "b2", "ga"):
        assert plain(open_[name], "talk", open_["meet"].v4, 7002).line() == "connected"
    assert plain(shut["a1"], "talk", shut["meet"].v4, 7002).line() != "connected"
    assert [one.line(within=0.2) for one in kept_out] == [None] * 4
    open_["ga"].unwall()
    assert {one.line() for one in kept_out} == {"connected"}
