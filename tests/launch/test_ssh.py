"""Runs over machines that are reached by a real sshd. All of them are this machine, under other names."""

import json
import os
import signal
import subprocess
from pathlib import Path

import programs
import pytest
from conftest import call, until

def test_a_run_spreads_over_machines_that_ssh_reaches(site, tmp_path):
    programs.write(tmp_path)
    done = call("ligament", "run", "counting.ymmsl", "--hosts=east,west:2", f"--site={site}", "--json",
                cwd=tmp_path, check=0)
    record = json.loads(done.stdout)
    assert [one["name"] for one in record["domains"]][1:] == ["east", "west"]
    assert {one["on"] for one in record["instances"]} == {"east", "west"}
    run = Path(record["directory"])
    assert programs.output(run, "worker[0]") == "runs on there\n"


def test_machines_are_read_from_a_host_file_and_from_the_site(site, tmp_path):
    programs.write(tmp_path)
    (tmp_path / "hosts").write_text("# ours\neast slots=4\n")
    done = call("ligament", "run", "counting.ymmsl", "--hostfile=hosts", f"--site={site}", "--json",
                cwd=tmp_path, check=0)
    assert {one["on"] for one in json.loads(done.stdout)["instances"]} == {"east"}
    site.write_text(site.read_text() + "hosts: [west]\nagent_cores: 0\n")
    done = call("ligament", "run", "counting.ymmsl", "--overcommit", f"--site={site}", "--json", cwd=tmp_path,
                check=0)
    assert {one["on"] for one in json.loads(done.stdout)["instances"]} == {"west"}


@pytest.mark.parametrize("host, said", [("nobody", "Connection refused"),
                                        ("stranger", "Host key verification failed")])
def test_a_machine_that_ssh_does_not_reach_is_named_with_what_ssh_said(site, tmp_path, host, said):
    programs.write(tmp_path)
    failed = call("ligament", "run", "counting.ymmsl", f"--hosts=east,{host}", f"--site={site}", cwd=tmp_path)
    assert failed.returncode in (1, 2)
    assert f"the agent on {host}: not reached; ssh said: " in failed.stderr, failed.stderr
    assert said in failed.stderr, failed.stderr


def test_a_machine_that_never_comes_up_ends_in_an_error_within_the_sites_time(site, tmp_path):
    programs.write(tmp_path)
    sleeper = tmp_path / "sleeper"
    sleeper.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec sleep 600\n")
    sleeper.chmod(0o755)
    site.write_text(site.read_text() + f"ligament: {sleeper}\nstart_within: 3 s\n")
    failed = call("ligament", "run", "counting.ymmsl", "--hosts=east,west", f"--site={site}", cwd=tmp_path)
    # On a slow machine, ssh may take longer than this time to connect, and then no agent was started.
    pids = tmp_path / "pids"
    for pid in pids.read_text().split() if pids.exists() else []:
        os.kill(int(pid), signal.SIGKILL)
    assert failed.returncode in (1, 2)
    assert "east" in failed.stderr and "west" in failed.stderr and "3" in failed.stderr, failed.stderr


def test_no_key_stands_on_a_command_line_or_in_a_file_that_others_may_read(site, tmp_path):
    programs.write(tmp_path)
    looker = tmp_path / "looker"
    # The invitation exists until all agents have joined. So no agent joins before the test has read it.
    looker.write_text(f"""#!/bin/sh
cat /proc/[0-9]*/cmdline > {tmp_path}/cmdlines 2>/dev/null
case "$*" in *--join*) while [ ! -e {tmp_path}/read ]; do sleep 0.05; done ;; esac
exec ligament "$@"
""")
    looker.chmod(0o755)
    site.write_text(site.read_text() + f"ligament: {looker}\n")
    keys = []

    run = subprocess.Popen(["ligament", "run", "counting.ymmsl", "--hosts=east", "--overcommit",
                            f"--site={site}",
                            "--run-dir=r", "-s", "pause=0.05"],
                           cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           stdin=subprocess.DEVNULL)
    invitation = tmp_path / "r/invitation"

    def read():
        try:
            keys.append((invitation.stat().st_mode & 0o777, json.loads(invitation.read_text())))
        except (FileNotFoundError, json.JSONDecodeError):
            return False
        return True

    until(read, "the invitation")
    (tmp_path / "read").touch()
    assert run.wait(timeout=120) == 0
    mode, content = keys[0]
    assert mode == 0o600
    secrets = [value for value in content.values() if isinstance(value, str) and len(value) >= 32]
    assert secrets, content.keys()
    cmdlines = (tmp_path / "cmdlines").read_bytes()
    assert b"--join" in cmdlines
    for secret in secrets:
        assert secret.encode() not in cmdlines


def test_a_site_is_checked_where_it_is(ssh, site, tmp_path):
    far = ssh.site(tmp_path / "far.yaml", ssh="east", ligament=os.popen("command -v ligament").read().strip())
    assert "east: ligament" in call("ligament", "site", "check", "./far.yaml", cwd=tmp_path, check=0).stdout
    far.write_text(far.read_text() + "modules: [no-such-module]\n")
    assert "no-such-module" in call("ligament", "site", "check", "./far.yaml", cwd=tmp_path, check=1).stderr
    closed = ssh.site(tmp_path / "closed.yaml", ssh="nobody")
    refused = call("ligament", "site", "check", closed, cwd=tmp_path, check=1)
    assert "the site closed cannot be reached: ssh nobody said:" in refused.stderr


def test_a_run_is_submitted_at_a_site_behind_ssh_and_shown_here(slurm, ssh, tmp_path):
    programs.write(tmp_path)
    work, ligament = tmp_path / "there", os.popen("command -v ligament").read().strip()
    work.mkdir()
    programs.write(work)
    # On the other side of a login, commands also find Slurm and Python by the site's file.
    far = ssh.site(tmp_path / "far.yaml", ssh="east", ligament=ligament, directory=work, launcher="slurm")
    far.write_text(far.read_text() + f"""commands:
- export SLURM_CONF={slurm}/slurm.conf
- export PATH="{os.environ['PATH']}"
""")
    done = call("ligament", "submit", "counting.ymmsl", "--site", far, "--nodes=3", "-s", "steps=7",
                cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the run is done" in done.stderr and "done after" in done.stdout
    assert "steps: 7" in (work / "runs/latest/settings.yaml").read_text()
    assert not (tmp_path / "runs").exists()
    over = call("ligament", "cancel", "latest", "--site", far, cwd=tmp_path)
    assert over.returncode == 1 and "is not running: it is done" in over.stderr


def test_agents_are_started_by_one_mpirun(ssh, site, tmp_path):
    programs.write(tmp_path)
    site.write_text(site.read_text() + "launcher: mpirun\nhosts: [east]\n")
    # mpirun also reaches machines by ssh. Its processes see the file of the invitation, because they are on
    # this machine.
    env = {"OMPI_MCA_plm_rsh_agent": f"ssh -F {ssh.where}/client.conf", "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = call("ligament", "run", "counting.ymmsl", f"--site={site}", "--overcommit", "--json", cwd=tmp_path,
                env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(done.stdout)
    assert {one["on"] for one in record["instances"]} == {"east"}
    assert (Path(record["directory"]) / "agents.hosts").read_text() == "east slots=1\n"
