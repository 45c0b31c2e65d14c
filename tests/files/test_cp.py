"""`ligament cp`: the files that arrive, their names, and the results of faults."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import about, call, serving, until
from trees import bytes_of

MB = 1 << 20


def tree(path):
    """A tree with one file of each kind."""
    (path / "deep/er").mkdir(parents=True)
    (path / "empty").mkdir(mode=0o750)
    (path / "deep/er/data").write_bytes(os.urandom(3 * MB + 17))
    (path / "none").write_bytes(b"")
    (path / "with blank and\nline").write_text("odd")
    (path / "script").write_text("#!/bin/sh\n")
    (path / "script").chmod(0o755)
    (path / "secret").write_text("s")
    (path / "secret").chmod(0o600)
    (path / "deep/link").symlink_to("er/data")
    (path / "out").symlink_to("/etc/hostname")
    (path / "dangling").symlink_to("nowhere")
    os.utime(path / "script", ns=(10**18, 10**18 + 123456789))
    os.utime(path / "deep", ns=(10**18, 10**18 + 5))
    return path


@pytest.mark.parametrize("over", ["path", "ssh"])
def test_a_tree_arrives_as_it_is_and_comes_back(ligament, tmp_path, over):
    source = tree(tmp_path / "source")
    said = ligament.cp("source", f"east:{tmp_path}/there", "--over", over)
    assert (said["over"], said["failed"], said["left_out"]) == (over, [], [])
    assert about(tmp_path / "there") == about(source)
    assert ligament.cp(f"east:{tmp_path}/there/.", "back", "--over", over)["ok"]
    assert about(tmp_path / "back") == about(source)
    again = ligament.cp("source/.", f"east:{tmp_path}/there", "--over", over)
    assert (again["copied"], again["sent_bytes"]) == (0, 0)


def test_names_are_those_of_scp(ligament, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/f").write_text("f")
    (tmp_path / "g").write_text("g")
    ligament.cp("g", f"east:{tmp_path}/new")
    assert (tmp_path / "new").read_text() == "g"
    ligament.cp("a", f"east:{tmp_path}/b")
    assert (tmp_path / "b/f").read_text() == "f"
    ligament.cp("a", f"east:{tmp_path}/b")
    assert (tmp_path / "b/a/f").read_text() == "f"
    ligament.cp("a", "g", f"east:{tmp_path}/both")
    assert (tmp_path / "both/a/f").read_text() == "f" and (tmp_path / "both/g").read_text() == "g"
    ligament.cp(f"east:{tmp_path}/a", f"east:{tmp_path}/g", "here/")
    assert (tmp_path / "here/a/f").exists() and (tmp_path / "here/g").exists()
    assert "would get the same name" in ligament.cp("a/f", "b/f", f"east:{tmp_path}", check=1)["error"]
    assert "one side of a copy is here" in ligament.says("a", "b", check=2)


def test_a_thousand_small_files_arrive(ligament, tmp_path):
    (tmp_path / "many").mkdir()
    for number in range(1000):
        (tmp_path / f"many/{number}").write_bytes(number.to_bytes(4, "little") * 4096)
    said = ligament.cp("many", f"east:{tmp_path}/there")
    assert (said["copied"], said["sent_bytes"]) == (1000, 1000 * 16384)
    assert about(tmp_path / "there") == about(tmp_path / "many")


def test_holes_stay_holes(ligament, tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(40 * MB)
        file.write(b"middle")
        file.truncate(100 * MB)
    said = ligament.cp("sparse", f"east:{tmp_path}/there")
    there = (tmp_path / "there").stat()
    assert there.st_size == 100 * MB and there.st_blocks * 512 < 2 * MB and said["sent_bytes"] < MB
    with (tmp_path / "there").open("rb") as file:
        file.seek(40 * MB)
        assert file.read(8) == b"middle\0\0"


def test_a_copy_that_was_cut_goes_on_where_it_was(ligament, tmp_path):
    data = os.urandom(24 * MB)
    (tmp_path / "large").write_bytes(data)
    (tmp_path / "there").mkdir()
    partial = tmp_path / "there/.large.ligament-part"
    # The copy is so slow that it is far from its end when the test sees it.
    one = ligament.begin("cp", "large", f"east:{tmp_path}/there", "--rate=2M")
    until(lambda: bytes_of(tmp_path / "there") > 4 * MB, "some of it")
    one.send_signal(signal.SIGKILL)
    one.wait()
    assert not (tmp_path / "there/large").exists()
    until(lambda: not subprocess.run(["fuser", "-s", partial], check=False).returncode == 0,
          "the other end's end")
    said = ligament.cp("large", f"east:{tmp_path}/there")
    assert said["resumed_bytes"] > 4 * MB and said["sent_bytes"] + said["resumed_bytes"] == len(data)
    assert (tmp_path / "there/large").read_bytes() == data and not partial.exists()


def test_what_is_no_beginning_of_the_file_is_thrown_away(ligament, tmp_path):
    (tmp_path / "file").write_bytes(os.urandom(2 * MB))
    (tmp_path / "there").mkdir()
    (tmp_path / "there/.file.ligament-part").write_bytes(b"x" * MB)
    said = ligament.cp("file", f"east:{tmp_path}/there")
    assert said["sent_bytes"] == 2 * MB
    assert (tmp_path / "there/file").read_bytes() == (tmp_path / "file").read_bytes()


def test_nothing_is_written_through_a_link(ligament, tmp_path):
    (tmp_path / "source/dir").mkdir(parents=True)
    (tmp_path / "source/dir/f").write_text("new")
    (tmp_path / "source/g").write_text("new")
    (tmp_path / "outside").mkdir()
    (tmp_path / "victim").write_text("old")
    (tmp_path / "there").mkdir()
    (tmp_path / "there/dir").symlink_to(tmp_path / "outside")
    (tmp_path / "there/g").symlink_to(tmp_path / "victim")
    said = ligament.cp("source/.", f"east:{tmp_path}/there", check=1)
    assert list((tmp_path / "outside").iterdir()) == [] and (tmp_path / "victim").read_text() == "old"
    assert {one["name"] for one in said["failed"]} == {"dir", "dir/f"}
    # A link at the place of a file is replaced, not followed.
    assert not (tmp_path / "there/g").is_symlink() and (tmp_path / "there/g").read_text() == "new"


def test_the_second_of_two_copies_of_a_file_is_told_of_the_first(ligament, tmp_path):
    (tmp_path / "large").write_bytes(os.urandom(16 * MB))
    (tmp_path / "there").mkdir()
    one = ligament.begin("cp", "large", f"east:{tmp_path}/there", "--rate=2M")
    until(lambda: list((tmp_path / "there").iterdir()), "the first one")
    one.send_signal(signal.SIGSTOP)
    said = ligament.cp("large", f"east:{tmp_path}/there", check=1)
    one.send_signal(signal.SIGCONT)
    assert said["failed"][0]["code"] == "file-busy"
    assert one.wait() == 0
    assert (tmp_path / "there/large").read_bytes() == (tmp_path / "large").read_bytes()


def test_a_file_that_changes_or_goes_is_named_and_the_others_arrive(ligament, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "1slow").write_bytes(os.urandom(8 * MB))
    (source / "2goes").write_bytes(b"x")
    (source / "3stays").write_bytes(b"y")
    (tmp_path / "there").mkdir()
    one = ligament.begin("cp", "source/.", f"east:{tmp_path}/there", "--rate=1M")
    until(lambda: list((tmp_path / "there").iterdir()), "the first one")
    one.send_signal(signal.SIGSTOP)
    (source / "2goes").unlink()
    with (source / "1slow").open("r+b") as file:
        file.write(b"changed")
    one.send_signal(signal.SIGCONT)
    assert one.wait() == 1
    assert "2goes: it was removed while the copy went on" in (tmp_path / "said0").read_text()
    assert (tmp_path / "there/3stays").read_bytes() == b"y" and not (tmp_path / "there/2goes").exists()
    # The file was copied again from its begin, and is the last version.
    assert (tmp_path / "there/1slow").read_bytes() == (source / "1slow").read_bytes()


def test_a_full_disk_is_named_and_the_copy_goes_on_when_there_is_room(ligament, tmp_path):
    full = tmp_path / "full"
    full.mkdir()
    call("mount", "-t", "tmpfs", "-o", "size=4m", "none", full, cwd=tmp_path, check=0)
    try:
        (tmp_path / "large").write_bytes(os.urandom(8 * MB))
        said = ligament.cp("large", f"east:{full}", check=1)
        assert said["code"] == "disk-full" and "large" in said["error"] and "No space left" in said["error"]
        assert not (full / "large").exists()
        # Bytes that were sent and then had no room do not count.
        for name in ("one", "two"):
            (tmp_path / name).write_bytes(b"small")
        said = ligament.cp("one", "two", f"east:{full}", check=1)
        assert said["code"] == "disk-full" and said["copied"] == 0
        assert not (full / "one").exists() and not (full / "two").exists()
        call("mount", "-o", "remount,size=16m", full, cwd=tmp_path, check=0)
        assert ligament.cp("large", f"east:{full}")["resumed_bytes"] > 0
        assert (full / "large").read_bytes() == (tmp_path / "large").read_bytes()
    finally:
        call("umount", full, cwd=tmp_path, check=0)


def test_a_trial_says_what_would_be_copied_and_changes_nothing(ligament, tmp_path):
    tree(tmp_path / "source")
    said = ligament.cp("source", f"east:{tmp_path}/there", "--dry-run")
    assert "source/deep/er/data" in said["would_copy"] and not (tmp_path / "there").exists()
    ligament.cp("source", f"east:{tmp_path}/there")
    assert ligament.cp("source/.", f"east:{tmp_path}/there", "--dry-run")["would_copy"] == []
    (tmp_path / "source/secret").write_text("another")
    assert ligament.cp("source/.", f"east:{tmp_path}/there", "-n")["would_copy"] == ["secret"]
    assert (tmp_path / "there/secret").read_text() == "s"


def test_whoever_cannot_be_reached_is_named_with_what_ssh_said(ligament, tmp_path):
    (tmp_path / "f").write_text("f")
    refused = ligament.cp("f", "nobody:", check=1)
    assert refused["code"] == "copy-not-started" and "Connection refused" in refused["error"]
    absent = ligament.cp("f", f"east:{tmp_path}/there", "--ligament=/no/such/command", check=1)
    assert "there is no command ligament: /no/such/command" in absent["error"]
    assert "No such file" in ligament.cp("absent", f"east:{tmp_path}/there", check=1)["error"]
    assert "No such file" in ligament.cp(f"east:{tmp_path}/absent", "there", check=1)["error"]


def test_a_sites_file_says_how_it_is_reached_and_a_banner_does_no_harm(ssh, ligament, tmp_path):
    (tmp_path / "sites").mkdir()
    site = ssh.site(tmp_path / "sites/far.yaml", ssh="east", directory=tmp_path / "work")
    site.write_text(site.read_text() + "commands: ['echo welcome; echo to all', 'export GREETED=yes']\n"
                    "interface: no-such-interface\n")
    (tmp_path / "f").write_text("f")
    done = call("ligament", "cp", "f", "far:in/it/", cwd=tmp_path, check=0)
    assert "over ssh's own connection, because no port could be reached" in done.stderr
    assert (tmp_path / "work/in/it/f").read_text() == "f"
    lost = call("ligament", "cp", "--over=path", "f", "far:x", cwd=tmp_path, check=1)
    assert "no-such-interface" in lost.stderr


def test_no_key_stands_on_a_command_line_and_nothing_is_left_running(ligament, tmp_path):
    (tmp_path / "large").write_bytes(os.urandom(8 * MB))
    one = ligament.begin("cp", "large", f"east:{tmp_path}/there", "--rate=1M")
    until(lambda: (tmp_path / ".there.ligament-part").exists(), "the copy")
    pids = until(lambda: serving(tmp_path), "the other end")
    for pid in pids:
        assert b"secret" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert one.wait() == 0
    until(lambda: not serving(tmp_path), "the other end's end")


def test_what_the_far_end_cannot_read_or_leaves_out_is_told_here(ligament, tmp_path):
    closed = tmp_path / "tree/closed"
    closed.mkdir(parents=True)
    (closed / "f").write_text("secret")
    (tmp_path / "tree/open").write_text("open")
    os.mkfifo(tmp_path / "tree/pipe")
    closed.chmod(0)
    # root can read all files, except in this way.
    caps = "-dac_override,-dac_read_search"
    far = tmp_path / "far"
    start = f"setpriv --inh-caps={caps} --bounding-set={caps} {shutil.which('ligament')}"
    far.write_text(f'#!/bin/sh\nexec {start} "$@"\n')
    far.chmod(0o755)
    said = ligament.cp(f"--ligament={far}", f"east:{tmp_path}/tree", "there", check=1)
    assert [one["name"] for one in said["failed"]] == ["tree/closed"], said
    assert "Permission denied" in said["failed"][0]["error"] and said["left_out"] == ["tree/pipe"], said
    assert (tmp_path / "there/open").exists()
    said = ligament.cp(f"--ligament={far}", f"east:{closed}", "alone", check=1)
    assert [one["name"] for one in said["failed"]] == ["closed"], said


def test_what_comes_before_a_long_hole_does_not_wait_for_it(ligament, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a").write_text("small")
    with (tmp_path / "tree/b").open("w") as file:
        file.truncate(1 << 40)
    one = ligament.begin("cp", "tree", f"east:{tmp_path}/there")
    until(lambda: (tmp_path / "there/a").exists(), "the small file")
    assert one.poll() is None, "checksums over a hole of 1 TiB take minutes"


def test_more_files_arrive_than_may_be_open_at_once(ligament, tmp_path):
    many = 100_000
    (tmp_path / "tree").mkdir()
    for number in range(many):
        (tmp_path / f"tree/{number}").touch()
    assert ligament.cp("tree", f"east:{tmp_path}/there")["copied"] == many
    assert len(os.listdir(tmp_path / "there")) == many
    shutil.rmtree(tmp_path / "there")
