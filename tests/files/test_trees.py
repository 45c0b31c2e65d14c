"""Whole trees: copied, cut repeatedly, continued, and equal at the end; and followed while a whole model
writes."""

import signal
import stat
import subprocess

import numpy
import pytest
from conftest import about, until
from trees import bytes_of, grow, is_written
from example_models import CanalNetwork

MB = 1 << 20


def test_a_tree_whose_copy_is_killed_again_and_again_is_the_same_in_the_end(ligament, tmp_path):
    size, cuts, rate = 48 * MB, 2, "3M"
    source, there = grow(tmp_path / "source", size), tmp_path / "there"
    came = 0
    for number in range(cuts):
        one = ligament.begin("cp", "source/.", f"east:{there}", f"--rate={rate}")
        until(lambda: bytes_of(there) > size * (number + 1) / (cuts + 1), "a part of it")
        assert one.poll() is None, "it was over before it was cut"
        one.send_signal(signal.SIGKILL)
        one.wait()
        assert bytes_of(there) >= came, "what has come stays"
        came = bytes_of(there)
        until(lambda: not is_written(there), "the other end's end")
    said = ligament.cp("source/.", f"east:{there}")
    assert (said["failed"], said["left_out"]) == ([], [])
    assert said["sent_bytes"] < size * 2 / (cuts + 1), "what had come was not sent again"
    assert about(there) == about(source) and not list(there.rglob("*.ligament-part"))
    assert ligament.cp("source/.", f"east:{there}")["sent_bytes"] == 0


def files(path):
    """The result of `about` without directories, whose times depend on writes in them."""
    return {name: what for name, what in about(path).items() if what[0] != stat.S_IFDIR}


@pytest.mark.slow
def test_what_the_canal_network_writes_appears_elsewhere_while_it_runs(ligament, tmp_path):
    example = CanalNetwork(tmp_path)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    follows = ligament.begin("sync", "here", f"east:{there}", "--rest=0.2s", "--look=1s", "--delete")
    until(there.is_dir, "sync's begin")
    run = subprocess.Popen(["ligament", "run", "--quiet", example.model, "--run-dir", here / "run", "-s",
                            "t_max=216000.0"],
                           cwd=tmp_path, stdin=subprocess.DEVNULL)
    early = False
    while run.poll() is None:
        early = early or any((there / "run/instances").glob("*/*")) and run.poll() is None
        results = list(there.rglob("canal_network.npz"))
        assert all(dict(numpy.load(one)) for one in results), "what appears is whole"
    assert run.returncode == 0 and early
    until(lambda: files(there) == files(here), "all of it")
    assert follows.poll() is None
    [one], [other] = (list(place.rglob("canal_network.npz")) for place in (here, there))
    assert one.read_bytes() == other.read_bytes() and one != other
