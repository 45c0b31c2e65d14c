"""`ligament sync`: what appears here appears there, whole or not at all."""

import os
import shutil
import signal
import subprocess
import sys

from conftest import about, serving, until
from trees import bytes_of

MB = 1 << 20


def begin(ligament, tmp_path, *words):
    """Begins, and waits until it is there."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(exist_ok=True)
    one = ligament.begin("sync", "here", f"east:{there}", *words)
    until(there.is_dir, "sync's begin")
    return one, here, there


def test_a_file_appears_when_it_is_closed_and_not_before(ligament, tmp_path):
    one, here, there = begin(ligament, tmp_path, "--look=1s", "--rest=0.2s")
    (here / "first").write_text("first")
    until((there / "first").exists, "the first file")
    with (here / "slow").open("wb") as file:
        file.write(b"half")
        file.flush()
        # What comes later has passed it.
        (here / "later").write_text("later")
        until((there / "later").exists, "the file after it")
        (here / "deep/er").mkdir(parents=True)
        (here / "deep/er/f").write_text("f")
        until((there / "deep/er/f").exists, "a file in a new directory")
        assert not (there / "slow").exists()
        file.write(b" and half")
    until((there / "slow").exists, "the slow file")
    assert (there / "slow").read_bytes() == b"half and half"
    (here / "link").symlink_to("slow")
    (here / "new").write_text("by another name")
    (here / "new").rename(here / "renamed")
    until(lambda: (there / "link").is_symlink() and (there / "renamed").exists(), "link and renamed file")
    (here / "first").write_text("once more")
    until(lambda: (there / "first").read_text() == "once more", "the change")
    assert one.poll() is None


def test_a_file_whose_mode_or_time_is_set_after_it_was_closed_appears_too(ligament, tmp_path):
    one, here, there = begin(ligament, tmp_path, "--look=1h")
    (tmp_path / "made").write_text("made elsewhere")
    os.utime(tmp_path / "made", (1e9, 1e9))
    for name in "abcd":
        shutil.copy2(tmp_path / "made", here / name)
    until(lambda: all((there / name).exists() for name in "abcd"), "the copies")
    # One that was seen between its end and its time comes once more, with the time.
    until(lambda: all((there / name).stat().st_mtime == 1e9 for name in "abcd"), "their times")
    assert one.poll() is None


def test_a_home_directory_is_not_emptied(ligament, tmp_path):
    (tmp_path / "here").mkdir()
    for whole in ["", "~", "~/", "."]:
        one = ligament.begin("sync", "--delete", "here", f"east:{whole}")
        assert one.wait(60) == 2
        said = (ligament.cwd / f"said{len(ligament.started) - 1}").read_text()
        assert "a directory of its own" in said, said


def test_nothing_is_removed_unless_that_is_asked_for(ligament, tmp_path):
    one, here, there = begin(ligament, tmp_path)
    (here / "a").write_text("a")
    until((there / "a").exists, "a")
    (here / "a").unlink()
    (here / "b").write_text("b")
    until((there / "b").exists, "b")
    assert (there / "a").exists()
    one.kill()
    one.wait()
    (there / "old/deep").mkdir(parents=True)
    (there / "old/deep/f").write_text("f")
    begin(ligament, tmp_path, "--delete")
    until(lambda: not (there / "a").exists() and not (there / "old").exists(), "the removal")
    (here / "d").mkdir()
    (here / "d/f").write_text("f")
    until((there / "d/f").exists, "d")
    (here / "d/f").unlink()
    (here / "d").rmdir()
    until(lambda: not (there / "d").exists(), "the removal of d")
    assert (there / "b").read_text() == "b"


def test_killed_and_started_again_it_goes_on(ligament, tmp_path):
    one, here, there = begin(ligament, tmp_path, "--rate=1M", "--rest=0.2s")
    (here / "large").write_bytes(os.urandom(16 * MB))
    until(lambda: bytes_of(there) > 2 * MB, "some of it")
    one.send_signal(signal.SIGKILL)
    one.wait()
    assert not (there / "large").exists()
    (here / "meanwhile").write_text("m")
    begin(ligament, tmp_path, "--rest=0.2s")
    until(lambda: (there / "large").exists() and (there / "meanwhile").exists(), "all of it")
    assert about(here) == about(there)


def test_when_the_other_end_is_killed_it_comes_back(ligament, tmp_path):
    one, here, there = begin(ligament, tmp_path)
    (here / "a").write_text("a")
    until((there / "a").exists, "a")
    for pid in serving(there):
        os.kill(pid, signal.SIGKILL)
    (here / "b").write_text("b")
    until((there / "b").exists, "b, after another start")
    assert one.poll() is None


def test_it_goes_the_other_way_too(ligament, tmp_path):
    (tmp_path / "far").mkdir()
    ligament.begin("sync", f"east:{tmp_path}/far", "near", "--rest=0.2s")
    until((tmp_path / "near").is_dir, "sync's begin")
    (tmp_path / "far/f").write_text("f")
    until((tmp_path / "near/f").exists, "the file")


def test_what_the_kernel_does_not_tell_is_found_by_looking(ligament, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    one, here, there = begin(ligament, tmp_path, "--look=0.3s", "--rest=0.3s")
    # A file that is written through memory and never closed is not told about.
    source = "import mmap,os,sys; f=open(sys.argv[1],'r+b'); m=mmap.mmap(f.fileno(),4); m[:4]=b'late'; m.flush(); input()"
    (here / "mapped").write_bytes(b"soon")
    until((there / "mapped").exists, "the file")
    writer = subprocess.Popen([sys.executable, "-c", source, here / "mapped"], stdin=subprocess.PIPE)
    try:
        until(lambda: (there / "mapped").read_bytes() == b"late", "the change")
    finally:
        writer.communicate(b"\n")
    assert one.poll() is None
