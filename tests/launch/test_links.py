"""The measured link between two sites: `ligament site check A B` over a real sshd. `network/test_ssh.py` has
sites that cannot reach each other, and sites that meet at a relay."""

import json
import os
import shutil

import pytest
from conftest import PATH, call


@pytest.fixture
def sites(ssh, tmp_path):
    """Two sites behind ssh, with their names."""
    (tmp_path / "sites").mkdir()
    for name, host in (("a", "east"), ("b", "west")):
        path = ssh.site(tmp_path / f"sites/{name}.yaml", ssh=host, interface="127.0.0.1",
                        ligament=shutil.which("ligament"))
        path.write_text(path.read_text() + PATH + "\n")
    return tmp_path


def check(where, *words, status=0):
    # This number of bytes takes milliseconds. The time limit lets a slow machine send some of them.
    return call("ligament", "site", "check", *words, "--seconds=10", "--bytes=3M", cwd=where, check=status)


def test_who_can_dial_whom_the_round_trip_and_the_rates_are_told(sites):
    told = json.loads(check(sites, "a", "b", "--json").stdout)
    assert [end["site"] for end in told["ends"]] == ["a", "b"]
    assert told["dialled"] == [
        {"from": "a", "to": "b", "over": "direct", "reached": True},
        {"from": "b", "to": "a", "over": "direct", "reached": True},
    ]
    assert told["measured"] == told["dialled"][0]
    assert told["round_trip"]["count"] == 20 and 0 < told["round_trip"]["least"] <= told["round_trip"]["median"]
    found = [(one["from"], one["to"], one["streams"]) for one in told["rates"]]
    assert found == [("a", "b", 1), ("b", "a", 1), ("a", "b", None), ("b", "a", None)]
    assert all(0 < one["bytes"] <= 3_000_000 and one["rate"] > 0 for one in told["rates"]), told["rates"]


def test_this_machine_is_one_of_two_and_what_a_site_says_of_its_links_is_heeded(sites):
    (sites / "sites/b.yaml").write_text((sites / "sites/b.yaml").read_text() + "streams: 5\n")
    said = check(sites, "here", "b").stdout
    assert "here can dial b\n" in said and "b can dial here\n" in said and "round trip " in said, said
    assert "/s over one stream, " in said and "/s over 5 (streams:)" in said, said


def test_what_cannot_be_measured_says_why(sites):
    assert "are the same place" in check(sites, "a", "a", status=2).stderr
    site = sites / "sites/b.yaml"
    text = site.read_text()
    site.write_text(text.replace("ssh: west", "ssh: nobody"))
    said = check(sites, "a", "b", status=1).stderr
    assert "the other end at b does not answer" in said and "Connection refused" in said, said
    old = sites / "old"
    old.write_text("#!/bin/sh\necho an older one >&2\nexit 2\n")
    old.chmod(0o755)
    site.write_text(text.replace(f"ligament: {shutil.which('ligament')}", f"ligament: {old}"))
    assert "an older one" in check(sites, "a", "b", status=1).stderr
    assert sorted(os.listdir(sites)) == ["old", "sites"], "nothing is left here"
