"""Runs as jobs of a real Slurm with three nodes, each of which is a domain of its own."""

import json
from pathlib import Path

import programs
from conftest import call, until


def record(run):
    return json.loads((run / "run.json").read_text())


def where(run):
    return {one["name"]: one.get("on") for one in record(run)["instances"]}


def test_one_command_submits_a_run_over_three_nodes_and_shows_it_to_its_end(slurm, tmp_path):
    programs.write(tmp_path)
    done = call("ligament", "submit", "counting.ymmsl", "--nodes=3", "--time=10", cwd=tmp_path, check=0)
    run = tmp_path / "runs/latest"
    assert [one["name"] for one in record(run)["domains"]] == ["n1", "n2", "n3"]
    on = where(run)
    assert sorted(on.values()) == ["n1", "n2", "n3"], on
    for worker in ("worker[0]", "worker[1]"):
        assert programs.output(run, worker) == f"runs on {on[worker]}\n"
    assert "all came back" in programs.output(run, "source")
    assert "submitted as job" in done.stderr and "the run is done" in done.stderr, done.stderr
    assert "done after" in done.stdout and "\nworker[1] " in done.stdout, done.stdout
    script = (run / "job.sh").read_text()
    assert "#SBATCH --nodes=3\n" in script and script.startswith("#!/bin/bash\n# The job of the run counting-")
    until(lambda: call("squeue", "--noheader", cwd=tmp_path).stdout == "", "the end of the job")
    assert not (run / "invitation").exists(), "the key of a run does not outlast it"


def test_who_runs_where_is_the_users_word(slurm, tmp_path):
    programs.write(tmp_path)
    call("ligament", "submit", "counting.ymmsl", "--nodes=3", "--on", "n3=worker,source", cwd=tmp_path, check=0)
    assert set(where(tmp_path / "runs/latest").values()) == {"n3"}


def test_nodes_are_asked_for_as_the_model_needs_them_if_the_site_says_what_they_have(slurm, tmp_path):
    programs.write(tmp_path, workers=4)
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites/small.yaml").write_text("cores_per_node: 2\nlauncher: slurm\ntime: 10 min\n")
    dry = call("ligament", "submit", "counting.ymmsl", "--site=small", "--dry-run", cwd=tmp_path, check=0)
    assert "#SBATCH --nodes=3\n" in dry.stdout and "#SBATCH --time=00:10:00\n" in dry.stdout
    assert not (tmp_path / "runs").exists()
    call("ligament", "submit", "counting.ymmsl", "--site=small", cwd=tmp_path, check=0)
    assert sorted(where(tmp_path / "runs/latest").values()) == ["n1", "n1", "n2", "n2", "n3"]


def test_a_job_records_and_may_restart(slurm, tmp_path):
    programs.write(tmp_path)
    wanted = ["--restarts", "2", "--record", "source,worker[1]"]
    call("ligament", "submit", "counting.ymmsl", "--nodes=1", *wanted, cwd=tmp_path, check=0)
    run = tmp_path / "runs/latest"
    command = (run / "job.sh").read_text()
    assert "--restarts=2" in command and "--record=source" in command, command
    assert {path.name.split(".")[0] for path in (run / "records").iterdir()} >= {"source"}
    for site in "ab":
        (tmp_path / f"{site}.yaml").write_text("launcher: slurm\n")
    several = call("ligament", "submit", "counting.ymmsl", "--site=./a.yaml", "--site=./b.yaml", *wanted,
                   cwd=tmp_path, check=2)
    assert "neither restarted nor recorded" in several.stderr


def test_what_has_no_room_is_refused_and_named(slurm, tmp_path):
    programs.write(tmp_path, workers=6)
    failed = call("ligament", "submit", "counting.ymmsl", "--nodes=3", cwd=tmp_path, check=1)
    assert ("worker[5] needs 1 core on one node, and there is no room for it: n1 has 0 of 2 "
            "left") in failed.stderr
    call("ligament", "submit", "counting.ymmsl", "--nodes=3", "--overcommit", cwd=tmp_path, check=0)


def test_a_failure_on_a_node_fails_the_run_with_its_reason(slurm, tmp_path):
    programs.write(tmp_path)
    failed = call("ligament", "submit", "counting.ymmsl", "--nodes=3", "-s", "worker.fail_at=3",
                  "--on=n3=worker",
                  cwd=tmp_path, check=1)
    assert "worker[" in failed.stderr and "exit status 1" in failed.stderr, failed.stderr


def test_a_job_that_waits_is_seen_and_cancelled_and_so_is_one_that_runs(slurm, tmp_path):
    programs.write(tmp_path)
    slow = ("ligament", "submit", "counting.ymmsl", "--nodes=3", "--json", "-s", "pause=0.1", "-s",
            "steps=100000")
    first = json.loads(call(*slow, cwd=tmp_path, check=0).stdout)
    until(lambda: (tmp_path / "runs/latest/run.json").exists(), "the begin of the run")
    second = json.loads(call(*slow, cwd=tmp_path, check=0).stdout)
    waits = until(lambda: "waits in the queue (Resources)" in
                  (said := call("ligament", "status", second["directory"], cwd=tmp_path).stderr) and said,
                  "the queue")
    assert "has not begun" in waits
    dry = call("ligament", "cancel", second["directory"], "--dry-run", cwd=tmp_path, check=0)
    assert f"scancel {second['job']}" in dry.stdout
    call("ligament", "cancel", second["directory"], cwd=tmp_path, check=0)
    again = call("ligament", "cancel", second["directory"], cwd=tmp_path, check=1)
    assert f"its job {second['job']} is over (CANCELLED)" in again.stderr
    call("ligament", "cancel", first["directory"], cwd=tmp_path, check=0)
    until(lambda: record(Path(first["directory"]))["state"] in ("interrupted", "stopped"),
          "the end of the first run")
    until(lambda: call("squeue", "--noheader", cwd=tmp_path).stdout == "", "the end of the jobs")


def test_within_an_allocation_a_run_uses_all_its_nodes_by_itself(slurm, tmp_path):
    programs.write(tmp_path)
    call("salloc", "--nodes=3", "--exclusive", "ligament", "run", "counting.ymmsl", cwd=tmp_path, check=0)
    run = tmp_path / "runs/latest"
    # This machine is none of the job's nodes, so it has the head and no instances.
    assert [one["name"] for one in record(run)["domains"]][1:] == ["n1", "n2", "n3"]
    assert sorted(where(run).values()) == ["n1", "n2", "n3"]


def test_what_slurm_does_not_take_is_said_in_its_words(slurm, tmp_path):
    programs.write(tmp_path)
    refused = call("ligament", "submit", "counting.ymmsl", "--partition=nowhere", cwd=tmp_path, check=2)
    assert "Slurm does not take the job" in refused.stderr and "invalid partition" in refused.stderr


def test_a_job_that_ends_before_its_run_begins_says_what_it_printed(slurm, tmp_path):
    programs.write(tmp_path)
    (tmp_path / "odd.yaml").write_text("commands: [echo sourced something odd, 'false # as if']\n")
    failed = call("ligament", "submit", "counting.ymmsl", "--site=./odd.yaml", cwd=tmp_path, check=1)
    assert "sourced something odd" in failed.stderr, failed.stderr
    assert "this line of the site failed: false" in failed.stderr and "has not begun" in failed.stderr


def test_a_run_whose_head_is_on_another_machine_is_not_called_lost(slurm, tmp_path):
    programs.write(tmp_path)
    call("ligament", "submit", "counting.ymmsl", cwd=tmp_path, check=0)
    run = tmp_path / "runs/latest"
    # The run is seen as from a login node: its record is of another machine, whose processes are not visible.
    text = record(run)
    text.update(state="running", host="n1.far.away", pid=2**22 + 1)
    (run / "run.json").write_text(json.dumps(text))
    assert "running on n1.far.away, as it last wrote down" in call("ligament", "status", cwd=tmp_path,
                                                                   check=0).stdout
    stopped = call("ligament", "stop", cwd=tmp_path, check=2)
    assert "runs on n1.far.away, where it can be told to end" in stopped.stderr
