"""The command at a site: a real ssh puts it there, it is tried there, and it is left there as a whole or not at
all."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import call

OWN = Path(shutil.which("ligament") or "/").resolve()


@pytest.fixture
def far(ssh, tmp_path):
    """The file of a site behind ssh, and the directory for its programs."""
    return ssh.site(tmp_path / "far.yaml", ssh="east"), tmp_path / "there/bin"


def install(far, *words, check=0):
    file, to = far
    return call("ligament", "site", "install", file, "--to", to, *words, cwd=file.parent, check=check)


def left(directory):
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def test_it_is_put_there_once_with_its_version_and_checksum_looked_at(far):
    file, to = far
    sum_ = hashlib.sha256(OWN.read_bytes()).hexdigest()
    dry = install(far, "--dry-run")
    assert f"would be put to {to}/ligament" in dry.stdout and sum_[:12] in dry.stdout and left(
        to) == [], dry.stdout
    done = install(far)
    assert (f"{to}/ligament is ligament "
            f"0.") in done.stdout and f"ligament: {to}/ligament" in done.stdout, done.stdout
    assert "export PATH=" in done.stdout
    assert left(to) == ["ligament"] and (to / "ligament").read_bytes() == OWN.read_bytes()
    assert os.access(to / "ligament", os.X_OK)
    again = json.loads(install(far, "--json").stdout)
    assert again["installed"] is False and again["sha256"] == again["before"]["sha256"] == sum_, again
    # When the user has done what the command says, the site uses the programs, and the command has nothing more
    # to say.
    file.write_text(file.read_text() + f"ligament: {to}/ligament\n")
    assert "write into" not in call("ligament", "site", "install", file, cwd=file.parent, check=0).stdout
    assert "east: ligament" in call("ligament", "site", "check", file, cwd=file.parent, check=0).stdout


def test_another_version_is_replaced_and_named(far):
    _, to = far
    to.mkdir(parents=True)
    (to / "ligament").write_text("#!/bin/sh\necho ligament 0.0.1\n")
    (to / "ligament").chmod(0o755)
    assert "it would replace ligament 0.0.1" in install(far, "--dry-run").stdout
    assert "it replaces ligament 0.0.1" in install(far).stdout
    assert left(to) == ["ligament"] and (to / "ligament").read_bytes() == OWN.read_bytes()


# Functions that replace programs in a site's shell. Each makes the site unfit, or breaks the connection to it.
@pytest.mark.parametrize("line, why", [
    ("uname() { echo Linux riscv64; }", "and the site far is Linux riscv64"),
    ("cat() { head -c 1000; }", "it did not arrive whole: 1000 bytes of"),
    # This imitates a C library that is too old, or a file system that runs no programs.
    ("chmod() { true; }", "does not run at the site far, and was not left there"),
    ("mv() { false; }", "it cannot get its name"),
    ("false # as if", "this line failed: false # as if"),
])
def test_what_does_not_arrive_whole_or_does_not_run_there_leaves_nothing(far, line, why):
    file, to = far
    to.mkdir(parents=True)
    (to / "ligament").write_text("the one before\n")
    file.write_text(file.read_text() + f"commands: [{json.dumps(line)}]\n")
    failed = install(far, check=1)
    assert why in failed.stderr, failed.stderr
    assert left(to) == ["ligament"] and (to / "ligament").read_text() == "the one before\n"


def test_where_a_directory_has_its_name_nothing_is_put(far):
    _, to = far
    (to / "ligament").mkdir(parents=True)
    for more in ((), ("--dry-run",)):
        assert "is a directory" in install(far, *more, check=1).stderr
    assert left(to) == ["ligament"] and left(to / "ligament") == []


def test_a_site_that_is_not_reached_says_so(ssh, tmp_path):
    failed = call("ligament", "site", "install", ssh.site(tmp_path / "gone.yaml", ssh="nobody"), cwd=tmp_path,
                  check=1)
    assert ("nothing was put to the site "
            "gone") in failed.stderr and "Connection refused" in failed.stderr, failed.stderr
