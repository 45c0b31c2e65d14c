"""Other users of the machine of a run: they cannot end it, use up its resources, or receive messages in its
place."""

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from local_stranger import place as place_of
from terminals import LONG, until

ROOT = Path(__file__).resolve().parents[2]
STRANGER = Path(__file__).resolve().parent / "local_stranger.py"
COUNT = int(os.environ.get("LIGAMENT_STRANGERS", "3000"))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def stranger():
    """Starts a process of another user, and returns it when it is ready."""
    started = []

    def start(*words):
        one = subprocess.Popen([sys.executable, str(STRANGER), *map(str, words)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
        started.append(one)
        assert one.stdout.readline() == "ready\n"
        return one

    yield start
    for one in started:
        one.kill()
        one.wait()


def with_few_files(pid, count=120):
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, count))


def test_another_user_who_connects_without_end_does_not_disturb_a_run(place, stranger):
    place.detached()
    place.is_under_way()
    record = place.record
    with_few_files(record["pid"])
    crowd = stranger("connect", record["agent"], COUNT)
    crowd.stdout.readline()  # all of them have been tried, and those that got through are held
    status = json.loads(place.call("status", "run", "--json")[0])
    assert status["state"] == "running"
    place.tells("go")
    until(lambda: place.record["state"] != "running", "the end of the run")
    assert place.record["state"] == "done", place.record["reason"]


def test_nor_where_the_socket_has_an_abstract_name(place, stranger):
    """A case in which no directory is safe from changes by others."""
    path = place.path
    # Files that the run needs may lie below /tmp itself: the checkout, its Python, this test's own directory.
    needed = [path, ROOT, sys.executable, sys.prefix, shutil.which(place.ligament)]
    needed = {Path(one).resolve().relative_to("/tmp").parts[0] for one in needed
              if Path(one).resolve().is_relative_to("/tmp")}
    kept = " && ".join(f"mkdir /tmp/{one} && mount --bind /mnt/{one} /tmp/{one}"
                       for one in sorted(needed)) or "true"
    hidden = (f"mount --rbind /tmp /mnt && mount -t tmpfs -o mode=777 none /tmp && {kept} && cd {path} && "
              "exec \"$0\" \"$@\"")
    environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR",
                                                                                     "XDG_RUNTIME_DIR")}
    started = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hidden, place.ligament, "run", "endless.ymmsl", "--run-dir=run",
         "--detach"],
        cwd=path, env=environment, capture_output=True, text=True, timeout=LONG)
    assert started.returncode == 0, started.stderr
    place.is_under_way()
    record = place.record
    assert record["agent"].startswith("@ligament-")
    with_few_files(record["pid"])
    crowd = stranger("connect", record["agent"], COUNT)
    assert int(crowd.stdout.readline()) == COUNT  # each of them was taken in, and closed
    assert json.loads(place.call("status", "run", "--json")[0])["state"] == "running"
    place.tells("go")
    until(lambda: place.record["state"] != "running", "the end of the run")
    assert place.record["state"] == "done", place.record["reason"]
    log = (path / "run/manager.log").read_text()
    assert (f"{COUNT} strangers were not let in during the run, the last user 65534: this run belongs to "
            f"user") in log
    assert log.count("stranger") <= 3, "a line for each of them would fill the disk"


def test_own_processes_that_use_up_the_agent_s_files_are_waited_out(place):
    place.detached()
    place.is_under_way()

    def received():
        return [each["received_messages"] for each in json.loads(place.call("status", "run",
                                                                            "--json")[0])["instances"]]

    # A first message may need a ring or a slab, which the agent could then no longer make.
    until(lambda: min(received()) > 1, "the first exchanges")
    record = place.record
    with_few_files(record["pid"], len(os.listdir(f"/proc/{record['pid']}/fd")) + 3)
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(200)]
    for one in crowd:
        one.connect(place_of(record["agent"]))
    until(lambda: "as many files open as it may" in (place.path / "run/manager.log").read_text(),
          "a word in the log")
    for one in crowd:
        one.close()
    assert json.loads(place.call("status", "run", "--json")[0])["state"] == "running"
    place.tells("go")
    until(lambda: place.record["state"] != "running", "the end of the run")
    assert place.record["state"] == "done", place.record["reason"]


def test_nobody_else_can_get_at_the_socket_and_it_is_gone_with_the_run(place):
    place.detached()
    address = Path(place.record["agent"])
    assert address.is_absolute() and address.is_socket()
    found = address.parent.stat()
    assert (found.st_mode & 0o777, found.st_uid) == (0o700, os.geteuid())
    place.tells("go")
    until(lambda: place.record["state"] == "done", "the end of the run")
    until(lambda: not address.parent.exists(), "the socket's directory is gone")


def test_the_socket_of_a_run_that_is_killed_is_gone_too(place):
    place.detached()
    place.is_under_way()
    record = place.record
    os.kill(record["pid"], 9)
    until(lambda: place.record["state"] == "failed", "the guard's word")
    until(lambda: not Path(record["agent"]).parent.exists(), "the socket's directory is gone")


# ---- who may read what a run leaves
def modes_in(place):
    until(lambda: place.record["state"] == "done", "the end of the run")
    made = ["run", "run/instances", "run/instances/source/workdir"]
    return [(place.path / one).stat().st_mode & 0o777 for one in made]


def test_a_run_directory_is_for_its_user_alone(place):
    place.tells("go")
    place.detached()
    assert modes_in(place)[0] == 0o700


def test_a_run_directory_that_is_shared_can_be_read_by_the_group_whatever_the_umask(place):
    place.tells("go")
    before = os.umask(0o077)
    try:
        place.detached("--share", "group")
    finally:
        os.umask(before)
    assert modes_in(place) == [0o750] * 3


def test_a_run_for_which_there_is_no_room_leaves_its_record(place):
    """The disk has room for a record, but not for the copy of a model with many settings."""
    settings = "".join(f"  setting_{i}: {i}\n" for i in range(20_000))
    model = place.path / "endless.ymmsl"
    model.write_text(model.read_text().replace("settings: {t_max: 1000.0}\n", f"settings:\n{settings}"))
    (place.path / "disk").mkdir()
    script = ("mount -t tmpfs -o size=128k none disk && { \"$0\" run endless.ymmsl --run-dir disk/run; cat "
              "disk/run/run.json; }")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, place.ligament], cwd=place.path,
                          capture_output=True, text=True, timeout=LONG)
    record = json.loads(done.stdout)
    assert record["state"] == "failed" and "No space left on device" in record["reason"], done.stderr


# ---- another user who takes the name of a run that is dead
@pytest.fixture
def taken(place, stranger):
    """A run that claims to be under way, and another user who listens at the name of its socket."""
    place.detached()
    place.is_under_way()
    place.tells("go")
    until(lambda: place.record["state"] == "done", "the end of the run")
    name = f"@ligament-taken-{os.getpid()}"
    listener = stranger("listen", name)
    record = {**place.record, "state": "running", "agent": name, "ended": None}
    (place.path / "run/run.json").write_text(json.dumps(record))
    (place.path / "run/token").write_text("a secret of this run\n")
    yield name, listener
    (place.path / "run/run.json").write_text(json.dumps({**record, "state": "done"}))


@pytest.mark.parametrize("words", [["status", "run"], ["stop", "run"], ["join", "run", "worker"]],
                         ids=lambda words: words[0])
def test_another_user_who_answers_for_a_dead_run_is_told_nothing(place, taken, words):
    _, listener = taken
    done = subprocess.run([place.ligament, *words], cwd=place.path, capture_output=True, text=True,
                          timeout=LONG)
    assert "belongs to user 65534" in done.stderr and done.returncode != 0, done.stderr
    assert listener.stdout.readline() == "0\n"


def test_an_instance_says_nothing_to_another_user_who_answers_for_its_agent(place, taken):
    name, listener = taken
    program = "from ligament import *\nInstance({Operator.S: ['in']})"
    environment = {**os.environ, "LIGAMENT_AGENT": name, "LIGAMENT_INSTANCE": "worker",
                   "LIGAMENT_TOKEN": "secret"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                          timeout=LONG)
    assert "RegistrationError" in done.stderr and "belongs to user 65534" in done.stderr, done.stderr
    assert listener.stdout.readline() == "0\n"
