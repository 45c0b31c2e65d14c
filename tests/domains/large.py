"""One run over two or three domains on this machine that exchanges large messages, and a fault in the middle of
a message. The run is in a process of its own that sees all of its descendants, and ends with a verdict. All
random choices follow from a seed."""

import ctypes
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "faults"))
import machine  # noqa: E402

LIMIT = 120  # s; far longer than any run takes: who reaches it hangs
KILLS = ("macro", "micro", "agent", "head")
STOPS = ("stop", "SIGINT", "cut")
MOMENTS = ("before", "midst", "midst", "end")
# Words that a process prints only after a mistake that the test did not make.
WRONG = re.compile(r"SIGSEGV|SIGBUS|SIGABRT|panicked|crashed|a bug in|malformed|is wrong$", re.M)
CLONE_NEWNET = 0x40000000

MODEL = """ymmsl_version: v0.2
models:
  large:
    components:
      macro: {{ports: {{o_i: out, s: in}}, implementation: macro}}
      micro: {{ports: {{f_init: in, o_f: out}}, implementation: micro}}
    conduits: {{macro.out: micro.in, micro.out: macro.in}}
programs:
  macro: {{executable: {program}, args: [macro], env: {environment}}}
  micro: {{executable: {program}, args: [micro], env: {environment}}}
"""


@dataclass(frozen=True)
class Plan:
    seed: int
    way: str
    moment: str
    places: tuple  # domains of macro and micro
    victim: int  # which agent, where one is killed
    size: int
    steps: int
    step: int
    delay: float
    lends: bool
    encrypted: bool

    def __str__(self):
        return (f"{self.way} {self.moment} step {self.step} +{self.delay * 1e3:.1f} ms, {self.size >> 20} MiB "
                f"{'lent' if self.lends else 'copied'} from domain {self.places[0]} to {self.places[1]}"
                f"{'' if self.encrypted else ', not encrypted'}")


def plan(seed, ways):
    chance = random.Random(seed)
    way, moment = ways[seed % len(ways)], chance.choice(MOMENTS)
    places = chance.choice([(1, 2), (0, 1), (1, 0)])
    size = chance.choice([8, 8, 8, 8, 12, 16, 24, 32, 48, 64, 128, 300]) << 20
    # On an idle machine, 8 MiB take some milliseconds. Faults are spread over several times as long, so they
    # meet every phase.
    delay = chance.choice([0, chance.uniform(0, size / 1e9), chance.uniform(0, 6 * size / 1e9)])
    steps = 3 if way == "cut" else 1000
    return Plan(
        seed, way, moment, places, chance.randrange(1, max(places) + 1), size, steps, chance.randrange(3),
        delay,
        chance.random() < 0.5, chance.random() < 0.5,
    )


def can_cut():
    """Returns true if connections can be cut here, in a network of the run's own. A child process tries it."""
    pid = os.fork()
    if pid == 0:
        try:
            own_network()
            import socket
            listener = socket.create_server(("127.0.0.1", 0))
            one = socket.create_connection(listener.getsockname())
            other, _ = listener.accept()  # noqa: F841
            cut_all()
            os._exit(0 if _is_cut(one) else 1)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def _is_cut(one):
    try:
        one.send(b"?")
        return False
    except OSError:
        return True


def own_network():
    """Makes a network for this process and its descendants alone, with a loopback interface."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, capture_output=True)


def cut_all():
    """Breaks every connection of this network, and returns their number."""
    cut = ["ss", "--kill", "--tcp", "--no-header", "state", "established"]
    return len(subprocess.run(cut, check=True, capture_output=True).stdout.splitlines())


class Hangs(Exception):
    """A fault could not be caused; the text gives the reason."""


class Run:
    """The run of a plan."""

    def __init__(self, plan, program, command, ground):
        self.plan, self.program, self.command, self.ground = plan, program, command, ground
        self.directory, self.mark = ground / "run", ground / "mark"
        self.problems, self.processes, self.missed = [], [], False
        self.deadline = time.monotonic() + LIMIT

    def start(self, *words):
        said = self.ground / f"said{len(self.processes)}"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LIGAMENT_")}
        with open(said, "wb") as file:
            self.processes.append(subprocess.Popen(
                [self.command, *map(str, words)], cwd=self.ground, stdin=subprocess.DEVNULL, stdout=file,
                stderr=file,
                env=environment | {"TMPDIR": str(self.ground)}, start_new_session=True,
            ))

    def said(self, which=0):
        return (self.ground / f"said{which}").read_text(errors="replace")

    def until(self, condition, what):
        while time.monotonic() < self.deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.0005)
        raise Hangs(what)

    def begin(self):
        plan, domains = self.plan, max(self.plan.places)
        environment = {
            "LARGE_SIZE": plan.size, "LARGE_STEPS": plan.steps, "LARGE_STEP": plan.step,
            "LARGE_MOMENT": plan.moment,
            "LARGE_MARK": self.mark, "LARGE_LENDS": "yes" if plan.lends else "no",
        }
        text = "{" + ", ".join(f'{key}: "{value}"' for key, value in environment.items()) + "}"
        (self.ground / "model.ymmsl").write_text(MODEL.format(program=self.program, environment=text))
        self.start(
            "run", "model.ymmsl", "--domains", domains, "--listen", "127.0.0.1", "--overcommit", "--run-dir",
            self.directory, "--on", f"{plan.places[0]}=macro", "--on", f"{plan.places[1]}=micro",
            *(() if plan.encrypted else ("--no-encryption",)),
        )
        invitation = self.directory / "invitation"
        self.until(lambda: invitation.exists() or self.processes[0].poll() is not None,
                   "there is no invitation")
        for domain in range(1, domains + 1):
            self.start("agent", "--join", invitation, "--domain", domain, "--listen", "127.0.0.1", "--patience",
                       "20s" if plan.way == "head" else "60s")

    def pid_of(self, name):
        """The process of an instance."""
        for pid in machine.descendants():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[:2] == [os.fsencode(self.program), name.encode()]:
                return pid
        return None

    def strike(self):
        plan, head = self.plan, self.processes[0]
        victim = None
        if plan.way in ("macro", "micro"):
            # One look may miss a process whose parent has just changed.
            victim = self.until(lambda: self.pid_of(plan.way), f"there is no process of {plan.way}")
        if plan.delay:
            time.sleep(plan.delay)
        if victim is not None:
            self.kill(victim)
        elif plan.way == "agent":
            self.kill(self.processes[plan.victim].pid)
        elif plan.way == "head":
            self.kill(head.pid)
        elif plan.way == "stop":
            done = machine.quiet([self.command, "stop", str(self.directory)])
            if done.returncode != 0:
                self.problems.append(f"ligament stop: {done.stderr}")
        elif plan.way == "SIGINT":
            head.send_signal(signal.SIGINT)
        elif plan.way == "cut":
            self.missed = cut_all() == 0

    def kill(self, pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            self.missed = True

    def bring_about(self):
        self.begin()

        def look():
            if self.processes[0].poll() is not None and not self.mark.exists():
                raise Hangs("the run ended before the moment came")
            return self.mark.exists()

        self.until(look, "the moment never came")
        self.strike()
        for process in self.processes:
            try:
                process.wait(max(0.1, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Hangs(f"{process.args[1]} does not end") from None
        # The guard of a killed process ends its descendants; all other processes end theirs before they end.
        self.until(lambda: machine.reap() or not machine.descendants(), "what the run left does not end")

    # ---- judging ---------------------------------------------------------------------------------------------

    def expectation(self):
        """Returns the expected state, reason, and exit statuses of the head and of the agents. If the head is
        killed, any state is right."""
        plan, agents = self.plan, len(self.processes) - 1
        if plan.way in ("macro", "micro"):
            return "failed", rf"^{plan.way} was ended by signal SIGKILL", [1] * (agents + 1)
        if plan.way == "agent":
            statuses = [1] * (agents + 1)
            statuses[plan.victim] = -9
            reason = rf"^the agent on .*\(domain {plan.victim}\) is gone: it was killed by SIGKILL"
            return "failed", reason, statuses
        if plan.way == "head":
            return None, None, [-9] + [1] * agents
        state, status = {"stop": ("stopped", 1), "SIGINT": ("interrupted", 130), "cut": ("done", 0)}[plan.way]
        return state, None, [status] * (agents + 1)

    def judge(self):
        state, reason, wanted = self.expectation()
        statuses = [process.returncode for process in self.processes]
        said = [self.said(which) for which in range(len(self.processes))]
        if statuses != wanted:
            self.problems.append(
                f"exit statuses {statuses}, not {wanted}; said: {[text[-700:] for text in said]}")
        path = self.directory / "run.json"
        record = json.loads(path.read_text()) if path.exists() else {}
        if state and record.get("state") != state:
            self.problems.append(f"the state is {record.get('state')} ({record.get('reason')}), not {state}")
        if reason and not re.search(reason, record.get("reason") or ""):
            self.problems.append(f"the reason is {record.get('reason')!r}, not /{reason}/")
        outputs = [file.read_text(errors="replace") for file in self.directory.glob("instances/*/output.log")]
        for text in [*said, json.dumps(record), *outputs]:
            if found := WRONG.search(text):
                self.problems.append(f"{found.group()!r} in: {text[-1500:]}")
                break


def life(plan, program, command, keep):
    """Runs the process of a run from start to end, and returns its result as a dictionary."""
    machine.adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ground = Path(tempfile.mkdtemp(prefix="large-"))
    run = Run(plan, program, command, ground)
    group = machine.Group.make(f"ligament-large-{os.getpid()}")
    if group:
        group.processes.write_text(str(os.getpid()))
    began = time.monotonic()
    try:
        if plan.way == "cut":
            own_network()
        run.bring_about()
        run.judge()
    except Hangs as what:
        left = "; ".join(machine.describe(pid) for pid in machine.descendants())
        said = [run.said(which)[-600:] for which in range(len(run.processes))]
        run.problems.append(f"{what}; there are: {left}; said: {said}")
    except Exception:
        run.problems.append(traceback.format_exc())
    took = time.monotonic() - began
    machine.end_descendants()
    if group:
        if not run.problems and (shared := group.shared_bytes_left()):
            run.problems.append(f"{shared} bytes of shared memory are left")
        (group.path.parent / "cgroup.procs").write_text(str(os.getpid()))
        group.remove()
    if run.problems and keep:
        run.problems.append(f"kept: {ground}")
    else:
        shutil.rmtree(ground, ignore_errors=True)
    return {"problems": run.problems, "seconds": took, "missed": run.missed}


class Started:
    """A plan that runs in a process of its own. `pipe` becomes readable at its end."""

    def __init__(self, plan, program, command, keep=False):
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.plan, self.pid = plan, os.fork()
        if self.pid == 0:
            try:
                os.close(reading)
                os.setpgid(0, 0)
                with open(writing, "w") as pipe:
                    json.dump(life(plan, program, command, keep), pipe)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(0)
        os.close(writing)
        self.pipe = open(reading)

    def result(self):
        with self.pipe as pipe:
            text = pipe.read()
        os.waitpid(self.pid, 0)
        nothing = {"problems": ["the test's own process failed"], "seconds": 0.0, "missed": False}
        return (json.loads(text) if text else nothing) | {"plan": str(self.plan), "seed": self.plan.seed}
