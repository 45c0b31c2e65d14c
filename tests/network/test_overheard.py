"""The data that a listener without a key sees of all traffic between sites: runs over relays, copies, and paths
without a model. No link has plain text, not even that of the relay, and no port sends a byte."""

import subprocess
import sys
import threading

import pytest
from sshd import Ssh
from test_relays import Post
from test_ssh import until
from test_strangers import KINDS, MARKER, Capture, ports_of, secrets_of, speaking, strange

from ligament import path

pytestmark = pytest.mark.sites

PATH_END = """
import sys
from ligament import path
end, key, place, marker = sys.argv[1:]
if end == "listen":
    with path.listen(key, place) as link:
        print(link.addresses[0].rpartition(":")[2], flush=True)
        while (said := bytes(link.receive(120.0))) != b"the end":
            link.send(said, 120.0)
else:
    with path.open(key, place) as link:
        for _ in range(20):
            assert link.send_receive(marker.encode(), 120.0) == marker.encode()
        print("to and fro", flush=True)
        sys.stdin.readline()
        assert link.send_receive(marker.encode(), 120.0) == marker.encode()
        link.send(b"the end")
"""
# Words that occur in the traffic, such as names of files and components.
SPOKEN = [MARKER.decode(), "teller", "listener", "spoken.txt", "copied.txt", "the end"]


@pytest.fixture
def sites(network, ligament, tmp_path):
    """Two sites, one of them with an sshd that forwards nowhere, a gate with a relay, and a stranger."""
    net = network("here", "gate", "there", "stranger")
    where = tmp_path / "ssh"
    where.mkdir()
    net.ssh = Ssh(where, net["there"], more="AllowTcpForwarding no\n")
    net.relay = Post(ligament, net["gate"], tmp_path / "gate.relay")
    yield net
    net.ssh.end()


class PathPair:
    """A path without a model between two hosts. The marker goes to and fro over it."""

    def __init__(self, one, other, folder):
        program, self.key = folder / "path_end.py", folder / "path.key"
        program.write_text(PATH_END)
        path.make_key(self.key)
        words = lambda end, place: [sys.executable, program, end, self.key, place,
                                    MARKER.decode()]  # noqa: E731
        self.listens = other.start(*words("listen", f"{other.v4}:0"), stdout=subprocess.PIPE, text=True)
        self.port = int(self.listens.stdout.readline())
        self.opens = one.start(*words("open", f"{other.v4}:{self.port}"), stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE,
                               text=True)
        assert self.opens.stdout.readline() == "to and fro\n"

    def end_well(self):
        self.opens.communicate("\n", timeout=60)
        assert (self.opens.returncode, self.listens.wait(60)) == (0, 0)


def copy(ligament, net, folder, *words):
    """Begins to copy a file with the marker in each of its lines."""
    (folder / "spoken.txt").write_bytes((MARKER + b"\n") * 60_000)
    return net["here"].start(
        ligament, "cp", f"--ssh-option=-F{net.ssh.where}/client.conf", f"--ligament={ligament}", "--over=path",
        *words,
        folder / "spoken.txt", f"east:{folder}/copied.txt", stdout=subprocess.DEVNULL,
        stderr=(folder / "cp.txt").open("w"))


def copied(process, folder):
    assert process.wait(60) == 0, (folder / "cp.txt").read_text()
    assert (folder / "copied.txt").read_bytes() == (folder / "spoken.txt").read_bytes()


def found(capture, *texts):
    """The packets in which tshark finds one of these texts."""
    wanted = " || ".join(f'frame contains "{text}"' for text in texts)
    done = subprocess.run(["tshark", "-r", capture.file, "-Y", wanted, "-T", "fields", "-e", "frame.number"],
                          capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_tshark_finds_no_plain_text_on_any_link(sites, ligament, spread, plain, tmp_path):
    captures = {name: Capture(sites, name, tmp_path / f"{name}.pcap") for name in ("here", "gate", "there")}
    # A path without a model, a copy, and a copy over the relay.
    PathPair(sites["here"], sites["there"], tmp_path).end_well()
    copied(copy(ligament, sites, tmp_path), tmp_path)
    (tmp_path / "copied.txt").unlink()
    sites["there"].wall(sites.ssh.port)
    sites["here"].wall()
    copied(copy(ligament, sites, tmp_path, f"--relay={sites.relay.file}"), tmp_path)
    # A run over the relay.
    run = spread([sites["here"], sites["there"]], speaking(tmp_path, MARKER.decode()), on={1: ["listener"]},
                 options=["--relay", sites.relay.file])
    secrets = secrets_of(run.join_file) + secrets_of(sites.relay.file)
    secrets += [(tmp_path / "path.key").read_bytes().strip(),
                bytes.fromhex((tmp_path / "path.key").read_text())]
    run.succeed()
    # Plain text would be found, so this test can fail.
    plain(sites["gate"], "echo", sites["gate"].v4, 7000)
    for name in ("here", "there"):
        talker = plain(sites[name], "talk", sites["gate"].v4, 7000)
        talker.say("something in plain text")
        assert talker.line(20) == "connected" and talker.line(20).startswith("something in plain text")
        talker.process.stdin.close()
    for name, capture in captures.items():
        seen = capture.bytes()
        assert len(seen) > 20 * len(MARKER) and found(capture,
                                                      "something in plain text"), f"nothing is seen of {name}"
        assert not found(capture, *SPOKEN), f"plain text passes the link of {name}"
        assert not [text for text in SPOKEN if text.encode() in seen]
        assert not [secret for secret in secrets if secret in seen], f"a key passes the link of {name}"


def test_no_port_answers_a_stranger_with_a_single_byte(sites, ligament, flow, tmp_path):
    run = flow([sites["here"], sites["there"]], "exchange", 1024, options=["--relay", sites.relay.file])
    run.await_begun()
    pair = PathPair(sites["here"], sites["there"], tmp_path)
    known = ports_of(sites["there"])
    # The run takes longer than all strangers, and is ended after them.
    copying, partial = copy(ligament, sites, tmp_path, "--rate=10K"), tmp_path / ".copied.txt.ligament-part"
    until(lambda: partial.exists() and partial.stat().st_size, (tmp_path / "cp.txt").read_text)
    assert len(ports_of(sites["there"])) > len(known), "the copy has a port of its own"
    places = {place for name in ("here", "gate", "there") for place in ports_of(sites[name])}
    places = {place for place in places if place[1] != sites.ssh.port}
    assert len(places) >= 5, f"two domains, a relay, a path and a copy: {places}"
    places, heard = sorted(places), {}

    def talk(kind):
        for place, answers in zip(places, strange(sites["stranger"], kind, places), strict=True):
            heard[*place, kind] = answers

    kinds = [kind for kind in KINDS if kind != "flood"]
    talking = [threading.Thread(target=talk, args=(kind,)) for kind in kinds]
    for one in talking:
        one.start()
    for one in talking:
        one.join()
    assert len(heard) == len(kinds) * len(places), "a stranger came to no port"
    answered = {place: answers for place, answers in heard.items() if max(answers, default=0) > 0}
    assert not answered, answered
    size = partial.stat().st_size
    until(lambda: partial.stat().st_size > size, (tmp_path / "cp.txt").read_text)
    copying.kill()
    assert run.end_well() > 20
    pair.end_well()
