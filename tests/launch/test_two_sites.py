"""One run with a job at each of two sites: two real Slurms side by side, one reached by a real ssh."""

import json
import os
import re
import signal
import socket
import stat
from contextlib import ExitStack

import programs
import pytest
from conftest import ROOT, call, until
from test_mpi_nodes import ENV, MACRO, MODEL, SPREAD, WAYS
from two_slurms import WITH_ROOM, Cluster, Submitted, write_sites


@pytest.fixture(scope="module")
def clusters(ssh, tmp_path_factory):
    with ExitStack() as stack:
        made = []
        for name, nodes in (("a", 2), ("b", 1)):
            made.append(Cluster(tmp_path_factory.mktemp(f"slurm-{name}"), nodes))
            stack.callback(made[-1].stop)
        yield tuple(made)


@pytest.fixture
def two(clusters, ssh, tmp_path):
    """Begins a run at both sites. No job is left at either site afterwards."""
    programs.write(tmp_path)
    write_sites(tmp_path, ssh, *clusters)
    made = []

    def begin(*words, **more):
        made.append(Submitted(tmp_path, *words, **more))
        return made[-1]

    yield begin
    for one in made:
        if one.process.poll() is None:
            call("ligament", "cancel", "latest", cwd=tmp_path)
            one.process.wait(60)
    for cluster in clusters:
        until(cluster.is_empty, "the end of all jobs")


def sites_of(record):
    """Returns the domain of each instance. The name of a domain begins with its site."""
    return {one["name"]: one["on"].split("/")[0] for one in record["instances"]}


def add(site, *lines):
    """Adds lines to a site's file."""
    site.write_text(site.read_text() + "".join(f"{line}\n" for line in lines))


def test_one_command_runs_a_model_at_both_with_the_result_of_one_machine(two, clusters, tmp_path):
    # Each node has two cores. At site b both are for the two workers, whatever site a keeps for its agents.
    add(tmp_path / "sites/a.yaml", "agent_cores: 1")
    run = two(first=WITH_ROOM)
    said = run.end(0)
    assert "submitted as jobs" in said and "(2 nodes)" in said and "(1 node)" in said, said
    assert sites_of(run.record()) == {"source": "a", "worker[0]": "b", "worker[1]": "b"}
    assert len(run.record()["domains"]) == 4, "this machine, two nodes of a, and one of b"
    call("ligament", "run", "counting.ymmsl", "--run-dir", "alone", "--overcommit", cwd=tmp_path, check=0)
    for name in ("source", "worker[0]", "worker[1]"):
        ours, alone = (programs.output(place, name).split("\n", 1) for place in (run.run, tmp_path / "alone"))
        assert ours[-1] == alone[-1], name
    assert "all came back" in programs.output(run.run, "source")
    for cluster in clusters:
        until(cluster.is_empty, "the end of the jobs")
    until(lambda: not list(tmp_path.rglob("invitation")), "the removal of the run's keys")
    there = list((tmp_path / "there/runs").iterdir())
    assert len(there) == 1 and "#SBATCH --nodes=2\n" in (there[0] / "job.sh").read_text()


@pytest.mark.parametrize("late", [0, 1])
def test_whichever_job_begins_first_waits_and_is_watched_as_if_it_were_here(two, clusters, tmp_path, late):
    add(tmp_path / "sites/a.yaml", "streams: 3")
    with clusters[late].full():
        run = two("-s", "pause=0.1", "-s", "steps=100000")
        first, last = "ab"[1 - late], "ab"[late]
        until(lambda: (run.run / "sites.json").exists() and len(run.jobs()) == 2
              and "runs on" in run.jobs()[first]["stands"]
              and "waits in the queue" in run.jobs()[last]["stands"], "one job, before the other")
        shown = call("ligament", "status", cwd=tmp_path, check=0).stdout
        assert "waits for its domains" in shown and "waits in the queue (Resources)" in shown, shown
        told = json.loads(call("ligament", "status", "--json", cwd=tmp_path, check=0).stdout)
        assert [job["site"] for job in told["sites"]] == ["a", "b"]
        keys = list(tmp_path.rglob("invitation"))
        assert len(keys) == 3 and all(stat.S_IMODE(key.stat().st_mode) == 0o600 for key in keys), keys
        secret = json.loads(keys[0].read_text())["secret"]
        for pid in (entry for entry in os.listdir("/proc") if entry.isdigit()):
            try:
                words = open(f"/proc/{pid}/cmdline", "rb").read()
            except OSError:
                continue
            assert secret.encode() not in words, "a key stands on a command line"
    until(lambda: "runs" in call("ligament", "peek", "latest", "worker[0]", "../output.log",
                                 cwd=tmp_path).stdout
          or "runs on" in call("ligament", "logs", "latest", "worker[0]", cwd=tmp_path).stdout, "a worker")
    assert "source" in call("ligament", "status", cwd=tmp_path, check=0).stdout

    def streams():
        told = json.loads(call("ligament", "status", "--json", cwd=tmp_path, check=0).stdout)
        return {(link["name"].split("/")[0], link["streams"]) for link in told["links"]}

    until(lambda: streams() == {("a", 3), ("b", 4)}, "as many connections as the site's file says")
    call("ligament", "peek", "latest", "source", cwd=tmp_path, check=0)
    call("ligament", "cancel", cwd=tmp_path, check=0)
    run.end(1)
    assert run.record()["state"] == "stopped"


def test_who_has_waited_too_long_gives_its_nodes_back_queues_again_and_ends_with_the_reason(two, clusters):
    with clusters[1].full():
        run = two("--wait-for-others", "1s", "--queue-again", "1")
        said = run.end(1)
        assert "gives its nodes back, and queues again (1 of 1)" in said, said
        assert "the job at a has waited 1 s for the others, 2 times" in said, said
        assert "that at b waits in the queue (Resources)" in said and run.record()["state"] == "failed"
        until(lambda: clusters[0].is_empty() and len(clusters[1].jobs()) == 1, "the end of both jobs")


def test_a_run_that_waits_is_cancelled_at_both_sites(two, clusters, tmp_path):
    with clusters[0].full():
        run = two()
        run.await_words("waits in the queue (Resources)")
        call("ligament", "cancel", cwd=tmp_path, check=0)
        run.end(1)
        assert run.record()["state"] == "stopped"
        until(lambda: clusters[1].is_empty() and len(clusters[0].jobs()) == 1, "the end of both jobs")


@pytest.mark.parametrize("moment", ["queued", "running"])
def test_the_end_of_one_job_ends_both_and_is_named(two, clusters, moment):
    a, b = clusters
    if moment == "queued":
        with b.full():
            run = two()
            run.await_words("waits in the queue (Resources)")
            job = run.jobs()["b"]["job"]
            b.cancel(job)
            said = run.end(1)
    else:
        run = two("-s", "pause=0.1", "-s", "steps=100000")
        until(lambda: (run.run / "instances/worker[0]/output.log").exists()
              and "runs on" in programs.output(run.run, "worker[0]"), "the run")
        job = run.jobs()["b"]["job"]
        b.cancel(job)
        said = run.end(1)
    ends = {"queued": f"the job {job} at b is over (CANCELLED)", "running": "was told to end (SIGTERM)"}
    assert ends[moment] in run.record()["reason"] and run.record()["state"] == "failed", said
    for cluster in clusters:
        until(cluster.is_empty, "the end of the jobs")


def test_what_the_second_site_refuses_takes_back_what_the_first_has(two, clusters, tmp_path):
    site = tmp_path / "sites/b.yaml"
    site.write_text(site.read_text() + "partition: nowhere\n")
    run = two()
    said = run.end(2)
    assert "the site b does not take the job" in said and "invalid partition" in said, said
    until(clusters[0].is_empty, "the end of the first job")


def test_a_job_whose_head_was_killed_does_not_keep_its_nodes(two, clusters, tmp_path):
    with clusters[1].full():
        # The job waits ten times as long for the head's file as the head takes on an idle machine, so that a
        # slow machine does not end it.
        run = two("--patience", "1s", "--detach")
        run.end(0)
        until(lambda: (run.run / "sites.json").exists() and len(run.jobs()) == 2
              and "runs on" in run.jobs()["a"]["stands"], "the first job")
        os.kill(run.record()["pid"], signal.SIGKILL)
        until(clusters[0].is_empty, "the end of the first job")
        log = next((tmp_path / "there/runs").iterdir()) / "job.log"
        assert "the head of the run has not looked after this job for 10 s" in log.read_text()
        # The other job still waits for nodes, and no other process knows of it.
        said = call("ligament", "status", cwd=tmp_path, check=0).stdout
        job = run.jobs()["b"]["job"]
        assert f"the job {job} at b " in said and "as it was last seen; \"ligament cancel" in said, said
        dry = call("ligament", "cancel", "--dry-run", cwd=tmp_path, check=0).stdout
        assert f"the job {job} at b of {run.record()['run']} would be cancelled" in dry and job in clusters[
            1].jobs(), dry
        said = call("ligament", "cancel", cwd=tmp_path, check=0).stdout
        assert f"the job {job} at b of" in said and "is over (" in said.split(" at a of ")[1], said
        until(lambda: job not in clusters[1].jobs(), "the end of the second job")
        assert not list(tmp_path.rglob("site-b/invitation")), "its keys are gone"
        again = call("ligament", "cancel", cwd=tmp_path, check=1)
        assert "is not running" in again.stderr, again.stderr
    until(lambda: run.record()["state"] == "failed", "the guard's word")
    assert "killed" in run.record()["reason"], "its guard has said so"


def test_a_dry_run_shows_the_script_of_each_site_and_submits_nothing(two, clusters, tmp_path):
    run = two("--dry-run")
    said = run.end(0)
    assert "# ---- a ----" in said and "# ---- b ----" in said, said
    assert said.count("#SBATCH --job-name=counting-") == 2 and "#SBATCH --nodes=2\n" in said
    assert "--first 1 --nodes 2" in said and "--first 3 --nodes 1" in said
    assert not (tmp_path / "runs").exists() and not (tmp_path / "there").exists()


@pytest.mark.parametrize("words, why", [
    (["--on", "c=source"],
     "is placed in \"c\"; in a run at several sites things are placed at one of them: a, b"),
    (["--on", "a=worker"], "nothing runs at the site b"),
    (["--nodes", "c=2"], "the site c is none of a, b"),
    (["--site", "a"], "the site a is given twice"),
    (["--partition", "x"], "cannot be meant for several sites"),
    (["--reservation", "x"], "the reservation x cannot be meant for several sites"),
    (["--gpus", "c=1"], "the site c is none of a, b"),
    (["--wait-for-others", "10min"], "--wait-for-others is 600 s, and the job at a may take 600 s"),
])
def test_what_makes_no_sense_is_refused_before_anything_is_submitted(two, tmp_path, words, why):
    assert why in two(*words).end(2)
    assert not (tmp_path / "runs").exists()


def test_an_mpi_program_runs_over_the_nodes_of_one_site_and_a_job_gets_what_it_asks_for(two, clusters,
                                                                                        tmp_path):
    where = tmp_path / "mpi"
    where.mkdir()
    (where / "spread.c").write_text(SPREAD)
    built = ROOT / "target/release"
    call("mpicc.mpich", "spread.c", "-o", "spread", f"-I{ROOT}/crates/capi/include", f"-L{built}", "-lligament",
         f"-Wl,-rpath,{built}", cwd=where, check=0)
    (tmp_path / "macro.py").write_text(MACRO.format(sum=10))
    model, _, launcher, plugin, more = WAYS["mpich"]
    (tmp_path / "spread.ymmsl").write_text(MODEL.format(
        model=model, launcher=launcher, env=ENV.format(plugin), more=more, program=where / "spread",
        resources="nodes: 2, mpi_processes_per_node: 2"))
    a, b = clusters
    add(tmp_path / "sites/b.yaml", "licences: [solver]", "gpus_per_node: 1")
    with b.reserved("workshop"):
        run = two("--reservation", "b=workshop", first=[
            "spread.ymmsl", "--site", "a", "--site", "b", "--on", "a=ranks", "--on", "b=macro", "--nodes",
            "a=2"])
        run.end(0)
        told = b.about(run.jobs()["b"]["job"])
    assert "Reservation=workshop" in told and "Licenses=solver:1" in told and "gres:gpu:1" in told.replace(
        "/", ":"), told
    assert sites_of(run.record()) == {"macro": "b", "ranks": "a"}
    assert "all sums were right" in programs.output(run.run, "macro")
    nodes = dict(re.findall(r"rank (\d) runs on (n\d)", programs.output(run.run, "ranks")))
    assert sorted(nodes) == ["0", "1", "2", "3"] and len(set(nodes.values())) == 2, nodes


def test_the_four_parts_of_a_model_run_at_four_sites_that_ssh_reaches(ssh, tmp_path):
    names = ["one", "two", "three", "four"]
    programs.write(tmp_path, workers=3)
    (tmp_path / "sites").mkdir()
    path = f"export PATH=\"{os.environ['PATH']}\""
    for i, name in enumerate(names):
        # Each site lists its only machine, so there is no queue: its agents start at once.
        ssh.site(tmp_path / f"sites/{name}.yaml", ssh=["east", "west"][i % 2], directory=tmp_path / name,
                 hosts=f"[{socket.gethostname()}]", commands=json.dumps([path, f"export AT={name}"]))
    words = [word for name in names for word in ("--site", name)]
    places = ["--on", "one=source", *(word for i, name in enumerate(names[1:])
                                      for word in ("--on", f"{name}=worker[{i}]"))]
    run = Submitted(tmp_path, first=["counting.ymmsl", *words, *places, "--overcommit"])
    try:
        run.end(0)
    finally:
        if run.process.poll() is None:
            call("ligament", "cancel", "latest", cwd=tmp_path)
            run.process.wait(60)
    assert sites_of(run.record()) == {"source": "one", "worker[0]": "two", "worker[1]": "three",
                                      "worker[2]": "four"}
    for i, name in enumerate(names[1:]):
        assert programs.output(run.run, f"worker[{i}]").strip() == f"runs on {name}"
    assert "all came back" in programs.output(run.run, "source")
    until(lambda: all(job["over"] for job in run.jobs().values()), "the note that no job is left")
    until(lambda: not list(tmp_path.rglob("invitation")), "the removal of the run's keys")
