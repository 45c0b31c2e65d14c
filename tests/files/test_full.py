"""`ligament sync` with a full disk on either side: it reports this, leaves no half file, and goes on when there
is room."""

import os
import subprocess

import pytest
from conftest import about, call, until

MB = 1 << 20


@pytest.fixture
def small(tmp_path):
    """A disk of 4 MiB, and a function that makes room on it."""
    place = tmp_path / "small"
    place.mkdir()
    call("mount", "-t", "tmpfs", "-o", "size=4m", "none", place, cwd=tmp_path, check=0)
    place_in = place / "dir"
    place_in.mkdir()
    yield place_in, lambda: call("mount", "-o", "remount,size=32m", place, cwd=tmp_path, check=0)
    call("umount", "-l", place, cwd=tmp_path, check=0)


def said(ligament):
    return (ligament.cwd / f"said{len(ligament.started) - 1}").read_text()


@pytest.mark.parametrize("far", [True, False], ids=["there", "here"])
def test_a_full_disk_where_files_come_to_is_said_and_sync_goes_on_when_there_is_room(ligament, tmp_path, small,
                                                                                     far):
    full, get_room = small
    source = tmp_path / "source"
    source.mkdir()
    (source / "first").write_bytes(os.urandom(MB))
    places = ["source", f"east:{full}"] if far else [f"east:{source}", full]
    one = ligament.begin("sync", *places, "--rest=0.1s")
    until((full / "first").exists, "the first file")
    (source / "large").write_bytes(os.urandom(8 * MB))
    until(lambda: "disk-full" in said(ligament) and "large" in said(ligament), "sync's complaint")
    assert not (full / "large").exists() and (full / "first").read_bytes() == (source / "first").read_bytes()
    get_room()
    (source / "meanwhile").write_text("m")
    until(lambda: about(source) == about(full), "all of it")
    assert one.poll() is None, said(ligament)


def test_a_full_disk_where_files_are_written_costs_only_what_could_not_be_written(ligament, tmp_path, small):
    full, get_room = small
    there = tmp_path / "there"
    one = ligament.begin("sync", full, f"east:{there}", "--rest=0.1s")
    until(there.is_dir, "sync's begin")
    writes = subprocess.run(["dd", "if=/dev/urandom", f"of={full}/large", "bs=1M", "count=8"],
                            capture_output=True, check=False)
    assert writes.returncode != 0, "the disk is not full"
    # A reader finds the part that has arrived. The file is written again when there is room.
    get_room()
    (full / "large").write_bytes(os.urandom(8 * MB))
    (full / "other").write_text("other")
    until(lambda: about(full) == about(there), "all of it")
    assert one.poll() is None, said(ligament)
