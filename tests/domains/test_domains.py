"""One run over three domains on this machine, over loopback, whose agents are started by hand. The results are
those of a run in one domain. Every fault ends the run in all domains, with its reason, and leaves no process
behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import times

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples" / "reaction-diffusion"
LIMIT = 90  # s, for anything that is waited for

MODEL = """ymmsl_version: v0.2
models:
  pair:
    components:
      macro: {{ports: {{o_i: out, s: in}}, implementation: macro}}
      micro: {{ports: {{f_init: in, o_f: out}}, implementation: micro}}
    conduits:
      macro.out: micro.in
      micro.out: macro.in
programs:
  macro: {macro}
  micro: {micro}
"""

MACRO = """
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    for step in range(10):
        instance.send("out", Message(float(step), data=step))
        assert instance.receive("in").data == step + 1
open("result", "w").write("all came back")
"""

MICRO = """
import os, sys, time
instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    message = instance.receive("in")
    if message.data == 3:
        print("the last words of micro", flush=True)
        WHAT
    instance.send("out", Message(message.timestamp, data=message.data + 1))
"""
WAITS = "time.sleep(1000)"


def processes_of(directory):
    """Returns the processes whose working directory is below a run's directory; all instances have one
    there."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(Path(os.readlink(entry / "cwd"))).startswith(f"{directory}/"):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def until(true, what):
    """Waits until a condition holds, as long as the test may take."""
    end = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < end, f"it never came to this: {what}"
        time.sleep(0.01)


class Spread:
    """A run over several domains: the head and its agents."""

    def __init__(self, ligament, directory, model, *arguments, domains=2, join=None, agent=(), before_agent=()):
        self.directory, self.processes, self.texts, self.threads = directory, [], [], []
        self.start(
            [ligament, "run", str(model), "--domains", str(domains), "--listen", "127.0.0.1", "--overcommit",
             "--run-dir", str(directory), *arguments], model.parent,
        )
        invitation = directory / "invitation"
        until(lambda: invitation.exists() or self.processes[0].poll() is not None, "there is an invitation")
        if invitation.exists():
            assert invitation.stat().st_mode & 0o777 == 0o600
        for domain in range(1, domains + 1) if join is None else join:
            self.start(
                [*before_agent, ligament, "agent", "--join", str(invitation), "--domain", str(domain),
                 "--listen",
                 "127.0.0.1", *agent], model.parent,
            )

    def start(self, command, directory):
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )
        text = []
        thread = threading.Thread(target=lambda: text.extend(process.stdout))
        thread.start()
        self.processes.append(process)
        self.texts.append(text)
        self.threads.append(thread)

    def wait(self):
        """Exit statuses of the head and of the agents."""
        statuses = [process.wait(timeout=LIMIT) for process in self.processes]
        for thread in self.threads:
            thread.join(timeout=LIMIT)
        until(lambda: not processes_of(self.directory), "no instance is left")
        return statuses

    def text(self, which=0):
        return "".join(self.texts[which])

    def record(self):
        return json.loads((self.directory / "run.json").read_text())

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def spread(ligament, tmp_path):
    made = []

    def spread(model, *arguments, **more):
        made.append(Spread(ligament, tmp_path / f"run{len(made)}", model, *arguments, **more))
        return made[-1]

    yield spread
    for one in made:
        one.end()


@pytest.fixture
def pair(python_program, tmp_path):
    """The model of a pair whose second part does something special at the fourth message."""

    def write(what):
        file = tmp_path / "pair.ymmsl"
        file.write_text(MODEL.format(
            macro=python_program("macro", MACRO), micro=python_program("micro", MICRO.replace("WHAT", what))
        ))
        return file

    return write


def says_last_words(run):
    """Waits until `micro` has come to this point."""
    output = run.directory / "instances" / "micro" / "output.log"
    until(lambda: output.exists() and "the last words" in output.read_text(), "micro has come that far")


PLACES = ("--on", "1=macro", "--on", "2=micro")


def test_reaction_diffusion_over_three_domains_gives_what_it_gives_on_one(ligament, spread, tmp_path):
    model = EXAMPLE / "reaction_diffusion.ymmsl"
    alone = tmp_path / "alone"
    subprocess.run([ligament, "run", str(model), "--run-dir", str(alone), "-q"], check=True, timeout=LIMIT)
    run = spread(model)
    assert run.wait() == [0, 0, 0], run.text()
    domains = {instance["domain"] for instance in run.record()["instances"]}
    assert len(domains) > 1 and len(run.record()["domains"]) == 3
    # The messages at both ends of each conduit are counted, whatever their domains are.
    conduits = run.record()["conduits"]
    assert conduits and all(one["messages"] == one["received_messages"] > 0 for one in conduits), conduits
    results = [path.relative_to(alone) for path in alone.rglob("workdir/*") if path.suffix in (".csv", ".npy",
                                                                                               ".npz")]
    assert results, sorted(alone.rglob("*"))
    for result in results:
        assert (alone / result).read_bytes() == (run.directory / result).read_bytes(), result
    status = subprocess.run([ligament, "status", str(run.directory)], capture_output=True, text=True,
                            timeout=LIMIT)
    assert "done" in status.stdout
    profile = subprocess.run(
        [ligament, "profile", str(run.directory), "--json"], capture_output=True, text=True, timeout=LIMIT
    )
    assert profile.returncode == 0, profile.stderr


def test_an_instance_that_fails_elsewhere_ends_the_run_with_its_reason_and_its_last_words(spread, pair):
    run = spread(pair("os._exit(3)"), *PLACES)
    assert run.wait() == [1, 1, 1]
    text = run.text()
    assert "micro ended with exit status 3" in text and "the last words of micro" in text, text
    record = run.record()
    assert record["state"] == "failed" and record["reason"].startswith("micro ended with exit status 3")
    assert {one["name"]: one["state"] for one in record["instances"]} == {"macro": "stopped", "micro": "failed"}
    assert all("micro ended with exit status 3" in run.text(agent) for agent in (1, 2))


def test_status_says_where_each_instance_is_and_stop_ends_all(spread, pair, ligament):
    run = spread(pair(WAITS), *PLACES)
    says_last_words(run)

    def waits():
        told = subprocess.run(
            [ligament, "status", str(run.directory), "--json"], capture_output=True, text=True, timeout=LIMIT
        )
        instances = {one["name"]: one for one in json.loads(told.stdout)["instances"]}
        return instances["macro"].get("waits_for") == "micro.out" and (
            instances["macro"]["domain"], instances["micro"]["domain"]) == (1, 2)

    until(waits, "macro in domain 1 is seen to wait for micro in domain 2")
    subprocess.run([ligament, "stop", str(run.directory)], check=True, capture_output=True, timeout=LIMIT)
    assert run.wait() == [1, 1, 1]
    assert run.record()["state"] == "stopped"


def test_ctrl_c_at_the_head_ends_all_domains(spread, pair):
    run = spread(pair(WAITS), *PLACES)
    says_last_words(run)
    run.processes[0].send_signal(signal.SIGINT)
    assert run.wait() == [130, 130, 130]
    assert run.record()["state"] == "interrupted"


@pytest.mark.parametrize("encryption", [(), ("--no-encryption",)], ids=["encrypted", "not encrypted"])
def test_an_agent_that_is_killed_is_named_with_how_it_ended_long_before_patience_does(spread, pair, encryption):
    run = spread(pair(WAITS), *PLACES, "--patience", "1h", *encryption)
    says_last_words(run)
    run.processes[2].kill()
    statuses = run.wait()
    assert statuses[:2] == [1, 1]
    reason = run.record()["reason"]
    assert reason.startswith("the agent on ") and "(domain 2) is gone: it was " in reason, run.text()
    assert "killed by SIGKILL" in reason and "one process that it had left was ended" in reason, run.text()
    assert reason in run.text(1), "the other domain is told the same"


def test_an_agent_that_is_killed_before_all_have_come_is_not_waited_for(spread, pair):
    run = spread(pair(WAITS), *PLACES, join=(1,))
    until(lambda: "domain 1 has joined" in run.text(), "it has joined")
    run.processes[1].kill()
    assert run.wait()[0] == 1
    assert run.record()["reason"].startswith(
        "the agent of domain 1 is gone: it was killed by SIGKILL"), run.text()


def test_when_the_head_is_killed_no_instance_is_left_anywhere(spread, pair):
    run = spread(pair(WAITS), *PLACES, agent=("--patience", "20s"))
    says_last_words(run)
    run.processes[0].kill()
    assert run.wait()[1:] == [1, 1]
    assert "the head of the run is gone" in run.text(1)


def test_a_domain_that_never_comes_is_named_and_the_others_are_told(spread, pair):
    run = spread(pair(WAITS), *PLACES, "--join-timeout", "8s", join=(1,))
    assert run.wait() == [1, 1]
    record = run.record()
    assert record["state"] == "failed" and "the agent of domain 2 has not joined" in record["reason"]
    assert "the agent of domain 2 has not joined the run within 8.00 s (1 of 2 came)" in run.text()
    assert "goes without domain 1" in run.text(1)


def test_instances_that_wait_for_each_other_across_domains_are_found(spread, python_program, tmp_path):
    first = "instance = Instance({Operator.S: ['in'], Operator.O_I: ['out']})\n" \
            "while instance.reuse_instance():\n    instance.receive('in')\n"
    file = tmp_path / "ring.ymmsl"
    file.write_text(f"""ymmsl_version: v0.2
models:
  ring:
    components:
      a: {{ports: {{o_i: out, s: in}}, implementation: a}}
      b: {{ports: {{o_i: out, s: in}}, implementation: a}}
    conduits: {{a.out: b.in, b.out: a.in}}
programs:
  a: {python_program("a", first)}
""")
    run = spread(file, "--on", "1=a", "--on", "2=b")
    assert run.wait() == [1, 1, 1]
    assert run.record()["reason"].startswith("deadlock: a waits"), run.text()


def test_where_the_run_directory_is_not_to_be_seen_files_come_back(spread, pair, tmp_path):
    run = spread(pair("pass"), *PLACES, agent=("--scratch", str(tmp_path / "scratch")))
    assert run.wait() == [0, 0, 0], run.text()
    assert (run.directory / "instances/macro/workdir/result").read_text() == "all came back"
    assert "the last words of micro" in (run.directory / "instances/micro/output.log").read_text()
    assert not list((tmp_path / "scratch").glob("*")), "what was brought back is not kept"


def test_a_file_that_cannot_come_back_is_named_and_kept_where_it_is(spread, pair, tmp_path):
    odd = r"odd-\xff"
    scratch = tmp_path / "scratch"
    run = spread(pair(f'open(b"{odd}", "w").close()'), *PLACES, agent=("--scratch", str(scratch)))
    assert run.wait() == [0, 0, 0], run.text()
    assert (run.directory / "instances/macro/workdir/result").read_text() == "all came back"
    assert "stays on its machine" in run.text() and "its name is not UTF-8" in run.text(), run.text()
    assert [path.name for path in scratch.rglob("odd-*")] == [os.fsdecode(b"odd-\xff")]


@pytest.mark.parametrize("places", [("1=macro", "2=micro"), ("0=macro", "1=micro"), ("1=macro", "0=micro")])
def test_ports_of_which_only_one_has_slots_are_found_across_domains(spread, python_program, tmp_path, places):
    file = tmp_path / "slots.ymmsl"
    file.write_text(MODEL.format(
        macro=python_program("macro", MACRO), micro=python_program("micro", MICRO.replace('["in"]', '["in[]"]'))
    ))
    run = spread(file, *(word for place in places for word in ("--on", place)))
    assert run.wait() == [1, 1, 1]
    reason = run.record()["reason"]
    assert "cannot take part: " in reason and "joined to" in reason and '"[]"' in reason, run.text()
    assert "micro.in" in reason and "macro.out" in reason, reason


# The clocks of agents are wrong by ten hours: the time of day, and the time since the start of the machine.
CLOCKS = {
    "behind": ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", "-10h"],
    "ahead": ["env", "FAKETIME_DONT_FAKE_MONOTONIC=1", "faketime", "-f", "+10h"],
    "started earlier": ["unshare", "--time", "--kill-child", "--monotonic", "36000", "--boottime", "36000"],
}


def timeline_of(run):
    """The times at which each instance registered and ended, and the intervals in which it waited for a message
    (s)."""
    names, causes, now, lives, waits = {}, {}, {}, {}, {}
    for line in (run.directory / "timeline").read_text().splitlines()[2:]:
        kind, *fields = line.split()
        if kind == "i":
            names[fields[0]] = fields[2]
            waits[fields[2]] = []
        elif kind == "c":
            causes[fields[0]] = fields[2]
        elif kind in "be":
            now[fields[0]] = int(fields[1])
            lives.setdefault(names[fields[0]], []).append(int(fields[1]) / 1e9)
        elif kind == "p":
            now[fields[0]] += int(fields[1])
        elif kind == "x":
            begin = now[fields[0]] + int(fields[1])
            end = now[fields[0]] = begin + int(fields[2])
            if causes[fields[3]] == "message":
                waits[names[fields[0]]].append((begin / 1e9, end / 1e9))
    return lives, waits


@pytest.mark.parametrize("clock", CLOCKS)
def test_clocks_that_are_hours_apart_matter_nowhere(spread, pair, clock):
    # time.sleep uses an absolute time, which libfaketime gets wrong.
    run = spread(pair("__import__('select').select([], [], [], 1)"), *PLACES, before_agent=CLOCKS[clock])
    assert run.wait() == [0, 0, 0], run.text()
    record = run.record()
    lives, waits = timeline_of(run)
    for name, (begin, end) in lives.items():
        assert 0 <= begin <= end <= record[
            "duration"], f"{name} lived from {begin} to {end} s: {record['duration']} s"
    # During a long wait of `macro`, `micro` slept: `macro` waited for `micro`, and not the other way round. On
    # a machine that stood still there may be other waits, during which a message was on its way.
    long = [wait for wait in waits["macro"] if wait[0] > lives["micro"][0] and wait[1] - wait[0] > 0.5]
    middles = [(begin + end) / 2 for begin, end in long]
    asleep = [middle for middle in middles if not any(begin < middle < end for begin, end in waits["micro"])]
    assert asleep, (lives, long, waits["micro"])
    said = [line.split()[0] for line in (run.directory / "manager.log").read_text().splitlines()
            if line[:4].isdigit() and line[4] == "-"]
    assert len(said) > 3 and said == sorted(said), "the log is in the order of the head's clock"
    assert record["started"] <= said[0] and said[-1] <= record["ended"], (record["started"], said,
                                                                          record["ended"])


def test_an_invitation_that_others_can_read_is_refused(spread, pair, ligament, tmp_path):
    copy = tmp_path / "copy"
    copy.write_text("{}")
    copy.chmod(0o644)
    told = subprocess.run(
        [ligament, "agent", "--join", str(copy), "--domain", "1"], capture_output=True, text=True, timeout=LIMIT
    )
    assert told.returncode == 1 and "can be read" in told.stderr


# ---- light programs: one process of many components, of which others are joined to it from elsewhere
TOWN = """
instance = Instance({Operator.O_I: ["weather[]"], Operator.S: ["heat[]"]})
while instance.reuse_instance():
    houses = range(instance.get_port_length("weather"))
    for hour in range(5):
        for house in houses:
            instance.send("weather", Message(float(hour), data=100 * house + hour), slot=house)
        assert [instance.receive("heat", slot=house).data for house in houses] == [
            1 + 100 * house + hour for house in houses]
open("result", "w").write("every house answered")
"""

HOUSE_PROGRAM = """
class House(Submodel):
    def __init__(self, instance):
        pass
    def initialise(self, instance):
        message = instance.receive("outside")
        self.hour, self.number, self.done = message.timestamp, message.data, False
        FAILS
    def is_done(self):
        return self.done
    def observe(self, instance):
        pass
    def solve(self, instance):
        self.done = True
    def observe_final(self, instance):
        if self.number is not None:
            instance.send("heat", Message(self.hour, data=self.number + 1))
run_light(House)
"""


@pytest.fixture
def town(python_program, tmp_path):
    """The model of a town and twelve houses, which are one process."""

    def write(fails="pass", ligament=""):
        file = tmp_path / "town.ymmsl"
        file.write_text(f"""ymmsl_version: v0.1
model:
  name: heating
  components:
    town: {{implementation: town, ports: {{o_i: weather, s: heat}}}}
    house: {{implementation: house, multiplicity: 12, ports: {{f_init: outside, o_f: heat}}}}
  conduits:
    town.weather: house.outside
    house.heat: town.heat
implementations:
  town: {python_program("town", TOWN)}
  house: {python_program("house", HOUSE_PROGRAM.replace("FAILS", fails))}
ligament:
  light: [house]
{ligament}""")
        return file

    return write


@pytest.mark.parametrize("places", [("1=town", "2=house"), ("0=house", "2=town"), ("0=town", "1=house")])
def test_a_light_program_and_a_code_of_another_domain_exchange_all_messages(spread, town, places):
    run = spread(town(), *(word for place in places for word in ("--on", place)))
    assert run.wait() == [0, 0, 0], run.text()
    assert (run.directory / "instances/town/workdir/result").read_text() == "every house answered"
    where = {one["domain"] for one in run.record()["instances"] if one["name"] != "town"}
    pids = {one["pid"] for one in run.record()["instances"] if one["name"] != "town"}
    assert len(where) == 1 and len(pids) == 1, "one process runs all houses"
    assert all(one["state"] == "done" for one in run.record()["instances"])


def test_light_components_are_placed_together_where_nobody_says_where(spread, town):
    run = spread(town())
    assert run.wait() == [0, 0, 0], run.text()
    assert len({one["domain"] for one in run.record()["instances"] if one["name"] != "town"}) == 1


def test_light_components_that_are_to_be_in_two_domains_are_refused_before_anything_starts(spread, town):
    run = spread(town(), "--on", "1=house[3]", "--on", "2=house[4]")
    assert run.wait() == [2, 1, 1], "the others are told, and do not wait for a run that will not be"
    assert "house" in run.text() and "one process" in run.text(), run.text()
    assert all("goes without domain" in run.text(agent) for agent in (1, 2))



def test_a_light_component_that_fails_elsewhere_is_the_one_that_is_named(spread, town):
    run = spread(town("assert self.number != 703"), "--on", "1=town", "--on", "2=house")
    assert run.wait() == [1, 1, 1]
    assert run.record()["reason"].startswith("house[7] "), run.text()


def test_a_knot_of_a_light_component_and_a_code_elsewhere_is_found(spread, town):
    run = spread(town("self.number = None if self.number == 302 else self.number"), "--on", "1=town", "--on",
                 "2=house")
    assert run.wait() == [1, 1, 1]
    assert run.record()["reason"].startswith("deadlock: ") and "house[3]" in run.record()["reason"], run.text()


def test_a_light_process_that_is_killed_elsewhere_ends_the_run(spread, town):
    run = spread(town("__import__('os').kill(__import__('os').getpid(), 9) if self.number == 302 else None"),
                 "--on", "1=town", "--on", "2=house")
    assert run.wait() == [1, 1, 1]
    assert "SIGKILL" in run.record()["reason"] and "house" in run.record()["reason"], run.text()


# ---- a process of the run that is killed: the others know at once, and nothing is lost without a word
def writes_elsewhere(scratch):
    """Waits until `micro` has come to this point. Returns the directory in which its agent has its files."""
    found = lambda: [one for one in scratch.glob("*/instances/micro/output.log")
                     if "the last words" in one.read_text()]
    until(found, "micro has come that far")
    return found()[0].parent.parent.parent


def test_agents_end_at_once_when_the_head_is_killed_and_name_the_files_that_nobody_fetches(spread, pair,
                                                                                           tmp_path):
    scratch = tmp_path / "scratch"
    run = spread(pair(WAITS), *PLACES, agent=("--patience", "1h", "--scratch", str(scratch)))
    home = writes_elsewhere(scratch)
    os.kill(run.processes[0].pid, signal.SIGKILL)
    assert run.wait() == [-9, 1, 1]
    host = os.uname().nodename
    for agent in (1, 2):
        text = run.text(agent)
        assert f"process {run.processes[0].pid} on {host}) is gone: it was killed by SIGKILL" in text, text
    assert f"stays on {host} in {home}" in run.text(2), run.text(2)
    assert (home / "instances/micro/output.log").exists()


def test_agents_that_have_joined_end_at_once_when_the_head_is_killed_while_it_waits_for_others(spread, pair):
    run = spread(pair(WAITS), *PLACES, join=[1], agent=("--patience", "1h"))
    until(lambda: "domain 1 has joined" in (run.directory / "manager.log").read_text(), "domain 1 has joined")
    os.kill(run.processes[0].pid, signal.SIGKILL)
    assert run.wait() == [-9, 1]
    assert "the head of the run is gone" in run.text(1), run.text(1)
    until(lambda: not (run.directory / "invitation").exists(), "the invitation is gone")


def test_an_agent_that_is_killed_does_not_take_the_name_of_its_files_with_it(spread, pair, tmp_path):
    scratch = tmp_path / "scratch"
    run = spread(pair(WAITS), *PLACES, agent=("--scratch", str(scratch)))
    home = writes_elsewhere(scratch)
    os.kill(run.processes[2].pid, signal.SIGKILL)
    assert run.wait() == [1, 1, -9]
    assert f"stays on {os.uname().nodename} in {home}" in run.record()["reason"], run.text()


# ---- malformed data at the socket at which an agent's own instances register
def agent_socket(process):
    """Returns the path of the socket at which a process listens, as the kernel shows it."""
    inodes = set()
    for fd in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            link = os.readlink(fd)
        except OSError:
            continue  # closed meanwhile
        if link.startswith("socket:["):
            inodes.add(link[len("socket:["):-1])
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if len(fields) == 8 and fields[3] == "00010000" and fields[6] in inodes and "/ligament-" in fields[7]:
            return fields[7]
    raise AssertionError(f"process {process.pid} listens at no socket")


def half_open(name):
    """Two hundred connections that send nothing. They stay until the test ends."""
    made = []
    for _ in range(200):
        made.append(socket.socket(socket.AF_UNIX))
        made[-1].connect(name)
    return made


def saying(*pieces):
    """A connection that sends these pieces, and returns the answer."""

    def say(name):
        stranger = socket.socket(socket.AF_UNIX)
        stranger.settimeout(LIMIT)
        stranger.connect(name)
        try:
            for piece in pieces:
                stranger.sendall(piece)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(65536):
                pass
        except OSError:
            pass  # it was closed
        return [stranger]

    return say


def another_user(name):
    """Another user of this machine cannot connect."""
    script = "import os, socket, sys; os.setuid(65534); socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    told = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, timeout=LIMIT)
    assert "PermissionError" in told.stderr, told.stdout + told.stderr
    return []


KNOCKS = {
    "half open": half_open,
    "garbage": saying(os.urandom(4096)),
    "oversized": saying(b"\xff" * 8, bytes(1 << 20)),
    "slow": saying(*[b"x"] * 64),
    "closing": lambda name: [one.close() for one in half_open(name)],
    "another user": another_user,
}


@pytest.mark.parametrize("kind", KNOCKS)
def test_nonsense_at_the_socket_of_an_agent_does_not_disturb_its_run(spread, pair, tmp_path, kind):
    if kind == "another user" and os.geteuid() != 0:
        pytest.skip("only root can be another user")
    go_on = tmp_path / "go-on"
    run = spread(pair(
        f"[None for _ in iter(lambda: __import__('time').sleep(0.01) or os.path.exists('{go_on}'), True)]"),
                 *PLACES)
    says_last_words(run)
    held = [KNOCKS[kind](agent_socket(process)) for process in run.processes]
    go_on.touch()
    assert run.wait() == [0, 0, 0], run.text()
    assert (run.directory / "instances/macro/workdir/result").read_text() == "all came back"
    del held


def test_the_head_says_what_was_never_received_or_asked_for_in_any_domain(spread, tmp_path, python_program):
    macro = MACRO.replace("assert instance", "step < 9 and instance").replace(".data == step + 1", "")
    file = tmp_path / "pair.ymmsl"
    micro = MICRO.replace("WHAT", "instance.get_setting('t_max', default=1)")
    file.write_text(MODEL.format(macro=python_program("macro", macro), micro=python_program("micro", micro)))
    run = spread(file, "--on", "1=micro", "--quiet", "-s", "tmax=1", domains=1)
    assert run.wait() == [0, 0], run.text()
    assert "1 message was never received on the conduit micro.out: macro.in" in run.text()
    assert 'the setting "tmax" was never asked for; did you mean "t_max"?' in run.text()


def test_a_wait_in_which_a_run_of_several_domains_ended_is_a_wait_everywhere(spread, ligament, pair, tmp_path):
    # The limit is twice as long as necessary, because `macro` may be held up before it begins to wait.
    run = spread(pair("time.sleep(2); os.kill(os.getpid(), 9)"), "--on", "1=micro", domains=1)
    assert run.wait()[0] == 1
    [macro] = [one for one in run.record()["instances"] if one["name"] == "macro"]
    assert macro["waiting"] > 0.9, macro
    assert not times.disagreements(ligament, run.directory, tmp_path)
