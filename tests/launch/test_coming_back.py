"""The user leaves a submitted run and comes back to it: in the queue, while it runs, and when it is over; here
and behind ssh."""

import getpass
import json
import os
import signal
import subprocess

import programs
import pytest
from conftest import call, until
from terminals import Terminal

ENDLESS = ("-s", "pause=0.05", "-s", "steps=100000")


@pytest.fixture(autouse=True)
def queue(slurm, tmp_path):
    """Jobs that a test leaves in the queue of its own Slurm are removed before the next test."""
    yield
    call("scancel", f"--user={getpass.getuser()}", cwd=tmp_path)
    until(lambda: call("squeue", "--noheader", cwd=tmp_path).stdout == "", "the end of the jobs")


def submitted(where, *words):
    done = call("ligament", "submit", "counting.ymmsl", "--json", *words, cwd=where, check=0)
    return json.loads(done.stdout)


def state(job):
    done = subprocess.run(["squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T"],
                          capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def test_a_run_in_the_queue_is_waited_for_left_and_come_back_to(slurm, tmp_path):
    programs.write(tmp_path)
    first = submitted(tmp_path, "--nodes=3", *ENDLESS)
    second = submitted(tmp_path, "--nodes=3", "--run-dir=second")
    until(lambda: (tmp_path / "runs/latest/run.json").exists(), "the begin of the first run")
    waiting = subprocess.Popen(["ligament", "attach", "second"], cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert '"ligament cancel second" ends it' in waiting.stderr.readline()
    assert "waits in the queue (" in waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    _, error = waiting.communicate(timeout=60)
    assert waiting.returncode == 130 and "left second alone" in error, error
    assert state(second["job"]) == "PENDING"
    again = subprocess.Popen(["ligament", "attach", "second"], cwd=tmp_path, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: "waits in the queue" in again.stderr.readline(), "the queue")
    call("ligament", "cancel", first["directory"], cwd=tmp_path, check=0)
    out, error = again.communicate(timeout=120)
    assert again.returncode == 0, error
    assert "the run is done" in error and "second: done after" in out
    assert "second: done after" in call("ligament", "attach", "second", cwd=tmp_path, check=0).stdout


def test_who_leaves_what_submit_shows_leaves_the_job(slurm, tmp_path):
    programs.write(tmp_path)
    terminal = Terminal(["ligament", "submit", "counting.ymmsl", "--nodes=3", "--run-dir=run", *ENDLESS],
                        tmp_path)
    terminal.shows("messages/s")
    terminal.shows("source")
    terminal.presses_ctrl_c()
    assert terminal.ends() == 130
    assert ("left run alone; \"ligament attach run\" comes back to it, \"ligament cancel run\" ends "
            "it") in terminal.text
    terminal.goes_away()
    job = json.loads((tmp_path / "run/job.json").read_text())["job"]
    assert state(job) == "RUNNING"
    back = Terminal(["ligament", "attach", "run"], tmp_path)
    back.shows("messages/s")
    call("ligament", "cancel", "run", cwd=tmp_path, check=0)
    assert back.ends() in (1, 130) and "run: interrupted after" in back.text
    back.goes_away()


def test_a_run_at_a_site_behind_ssh_is_shown_here_on_a_terminal_too(slurm, ssh, tmp_path):
    work, ligament = tmp_path / "there", os.popen("command -v ligament").read().strip()
    work.mkdir()
    programs.write(tmp_path)
    programs.write(work)
    far = ssh.site(tmp_path / "far.yaml", ssh="east", ligament=ligament, directory=work, launcher="slurm")
    far.write_text(far.read_text() + f"""commands:
- export SLURM_CONF={slurm}/slurm.conf
- export PATH="{os.environ['PATH']}"
""")
    done = call("ligament", "submit", "counting.ymmsl", "--site", far, "--nodes=3", "--detach", *ENDLESS,
                cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    terminal = Terminal(["ligament", "attach", "--site", far], tmp_path)
    terminal.shows("messages/s")
    terminal.presses_ctrl_c()
    assert terminal.ends() == 130
    assert "comes back to it" in terminal.text
    terminal.goes_away()
    call("ligament", "cancel", "--site", far, cwd=tmp_path, check=0)
    over = call("ligament", "attach", "--site", far, "--json", cwd=tmp_path)
    assert over.returncode == 130 and json.loads(over.stdout)["state"] == "interrupted", over
