"""`ligament sync`: a file that appears here appears there, as a whole or not at all."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import about, call, serving, until
from trees import bytes_of

MB = 1 << 20


def begin(ligament, tmp_path, *words):
    """Begins to sync, and waits until the other end is there."""
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
        # A later file has overtaken it.
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
    # A file that was seen after its last write and before its time was set is copied again, with the time.
    until(lambda: all((there / name).stat().st_mtime == 1e9 for name in "abcd"), "their times")
    assert one.poll() is None


def test_a_home_directory_is_not_emptied(ligament, tmp_path):
    (tmp_path / "here").mkdir()
    for whole in ["", "~", "~/", "."]:
        one = ligament.begin("sync", "--delete", "here", f"east:{whole}")
        assert one.wait(60) == 2
        said = (ligament.cwd / f"said{len(ligament.started) - 1}").read_text()
        assert "a directory of its own" in said, said


def far_ligament(at, *lines):
    """A command for the other end that is Ligament in another situation."""
    at.write_text("\n".join(["#!/bin/sh", *lines, f'exec {shutil.which("ligament")} "$@"', ""]))
    at.chmod(0o755)
    return f"--ligament={at}"


def test_a_home_directory_is_not_emptied_by_any_of_its_names(ligament, tmp_path, monkeypatch):
    home = tmp_path / "homes/me"
    (tmp_path / "here").mkdir()
    home.mkdir(parents=True)
    (home / "precious").write_text("mine")
    (tmp_path / "link").symlink_to(home)
    there = far_ligament(tmp_path / "far", f"export HOME={home}")
    for name in [home, f"{home}/.", tmp_path / "link", tmp_path / "homes"]:
        one = ligament.begin("sync", "--delete", there, "here", f"east:{name}")
        assert one.wait(60) == 1
        said = (ligament.cwd / f"said{len(ligament.started) - 1}").read_text()
        assert "not-to-be-emptied" in said and str(home) in said, said
        assert (home / "precious").read_text() == "mine"
    monkeypatch.setenv("HOME", str(home))
    for name in [home, tmp_path]:
        # The error is reported at this end.
        one = ligament.begin("sync", "--delete", f"east:{tmp_path}/here", name)
        assert one.wait(60) == 1 and (home / "precious").exists()
        assert "not-to-be-emptied" in (ligament.cwd / f"said{len(ligament.started) - 1}").read_text()
    below = home / "results"
    below.mkdir()
    (below / "old").write_text("old")
    ligament.begin("sync", "--delete", f"east:{tmp_path}/here", below)
    until(lambda: not (below / "old").exists(), "the removal")
    assert (home / "precious").exists()


def test_a_trial_says_what_would_be_copied_and_removed(ligament, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / "new").write_text("new")
    (there / "old").mkdir(parents=True)
    (there / "old/f").write_text("f")
    words = ["ligament", "sync", ligament.option, "--dry-run", "--delete"]
    done = call(*words, "here", f"east:{there}", cwd=tmp_path)
    assert done.returncode == 0 and "nothing is changed" in done.stderr, done.stderr
    assert set(done.stdout.splitlines()) == {"would be copied new", "would be removed old",
                                             "would be removed old/f"}
    done = call(*words, "--json", f"east:{here}", "there", cwd=tmp_path)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"would_copy": "new"} in lines and {"would_remove": "old/f"} in lines, lines
    assert (there / "old/f").exists() and not (there / "new").exists()
    for word in ["--look=1s", "--rest=1s"]:
        # The command looks for files only once.
        assert call(*words, word, "here", f"east:{there}", cwd=tmp_path).returncode == 2


def test_a_trial_sees_what_would_be_in_its_way_gone(ligament, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "d").mkdir(parents=True)
    (here / "d/f").write_text("f")
    (here / "f").write_text("f")
    there.mkdir()
    (there / "d").write_text("a file where a directory comes")
    (there / "f").mkdir()
    (there / "f/inner").write_text("in a directory where a file comes")
    done = call("ligament", "sync", ligament.option, "-n", "--delete", "here", f"east:{there}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = sorted(done.stdout.splitlines())
    assert lines == ["would be copied d/f", "would be copied f", "would be removed d", "would be removed f",
                     "would be removed f/inner"]


def test_what_is_mounted_below_is_not_emptied_and_all_else_is(ligament, tmp_path):
    (tmp_path / "here").mkdir()
    there = tmp_path / "there"
    (there / "mounted").mkdir(parents=True)
    (there / "other").write_text("other")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "ligament-test", there / "mounted"], check=True)
    try:
        (there / "mounted/precious").write_text("mine")
        one = ligament.begin("sync", "--delete", "here", f"east:{there}")
        said = ligament.cwd / "said0"
        until(lambda: not (there / "other").exists() and "mounted: it cannot be removed" in said.read_text(),
              "the end")
        assert (there / "mounted/precious").exists() and one.poll() is None
    finally:
        subprocess.run(["umount", there / "mounted"], check=True)


def test_a_directory_that_is_unmounted_takes_nothing_with_it(ligament, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "ligament-test", here], check=True)
    try:
        (here / "f").write_text("f")
        one, here, there = begin(ligament, tmp_path, "--delete", "--look=0.3s", "--rest=0.1s")
        until((there / "f").exists, "the file")
    finally:
        subprocess.run(["umount", "-l", here], check=True)
    said = ligament.cwd / "said0"
    until(lambda: "another directory stands there now" in said.read_text(), "the news")
    assert (there / "f").exists() and one.poll() is None


def turns_of(process):
    """Returns how often the threads of a process have gone to sleep."""
    switches = re.compile(r"^voluntary_ctxt_switches:\s*(\d+)", re.M)
    tasks = Path(f"/proc/{process}/task").glob("*/status")
    return sum(int(switches.search(task.read_text()).group(1)) for task in tasks)


def test_a_directory_that_is_moved_away_takes_nothing_with_it_and_goes_on_when_it_is_back(ligament, tmp_path):
    here, away = tmp_path / "here", tmp_path / "away"
    here.mkdir()
    (here / "f").write_text("f")
    one, here, there = begin(ligament, tmp_path, "--delete", "--look=0.3s", "--rest=0.1s")
    until((there / "f").exists, "the file")
    here.rename(away)
    said = ligament.cwd / "said0"
    until(lambda: "another directory stands there now" in said.read_text(), "the news")
    # Another directory takes the name, and the kernel still reports events of the first one.
    here.mkdir()
    (here / "other").write_text("of another directory")
    (away / "f").rename(tmp_path / "f")
    (away / "other").write_text("o")
    before = turns_of(one.pid)
    until(lambda: turns_of(one.pid) > before + 50, "that it has looked several times")
    assert one.poll() is None and not (there / "other").exists() and (there / "f").exists()
    shutil.rmtree(here)
    (tmp_path / "f").rename(away / "f")
    away.rename(here)
    (here / "last").write_text("last")
    until((there / "last").exists, "what came when it was back")
    assert (there / "f").exists() and (there / "other").read_text() == "o"
    assert "removed" not in (ligament.cwd / "out0").read_text()


def test_a_users_file_with_the_name_of_one_that_is_not_whole_is_told(ligament, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    (here / ".mine.ligament-part").write_text("mine")
    (here / "f").write_text("f")
    said = ligament.cp("here/.", f"east:{tmp_path}/copied")
    assert said["left_out"] == [".mine.ligament-part"], said
    one, here, there = begin(ligament, tmp_path)
    until((there / "f").exists, "the file")
    until(lambda: ".mine.ligament-part" in (ligament.cwd / "said0").read_text(), "the news")
    assert not list(there.glob(".mine*")) and one.poll() is None


def test_what_is_removed_there_is_told_here(ligament, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (there / "old").mkdir(parents=True)
    with (tmp_path / "out").open("w") as out:
        one = subprocess.Popen(["ligament", "sync", ligament.option, "--delete", "here", f"east:{there}"],
                               cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        ligament.started.append(one)
    until(lambda: (tmp_path / "out").read_text() == "removed old\n", "the news")


@pytest.mark.parametrize("over", ["--over=path", "--over=ssh"])
def test_nothing_more_is_removed_when_whoever_asked_for_it_is_killed(ligament, tmp_path, over):
    (tmp_path / "here").mkdir()
    there = tmp_path / "there"
    there.mkdir()
    many = 60_000
    for number in range(many):
        (there / str(number)).touch()
    one = ligament.begin("sync", "--delete", "--quiet", over, "here", f"east:{there}")
    until(lambda: len(os.listdir(there)) < many, "the first removal")
    one.kill()
    one.wait()
    until(lambda: not serving(there), "the end of the other end")
    left = len(os.listdir(there))
    assert 0 < left < many


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
    # The kernel does not report a file that is written through memory and never closed.
    source = ("import mmap,os,sys; f=open(sys.argv[1],'r+b'); m=mmap.mmap(f.fileno(),4); m[:4]=b'late'; "
              "m.flush(); input()")
    (here / "mapped").write_bytes(b"soon")
    until((there / "mapped").exists, "the file")
    writer = subprocess.Popen([sys.executable, "-c", source, here / "mapped"], stdin=subprocess.PIPE)
    try:
        until(lambda: (there / "mapped").read_bytes() == b"late", "the change")
    finally:
        writer.communicate(b"\n")
    assert one.poll() is None
