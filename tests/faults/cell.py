"""One run of one cell, in a process of its own that sees all of its descendants, and its verdict."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import machine

sys.path.append(str(Path(__file__).resolve().parent.parent))
import times  # noqa: E402

LIMIT = 120  # s; far longer than any run takes: who reaches it hangs

MODEL = """ymmsl_version: v0.1
model:
  name: faults
  components:
    macro: {implementation: macro, ports: {o_i: out, s: in}}
    micro: {implementation: micro, ports: {f_init: in, o_f: out}}
  conduits:
    macro.out: micro.in
    micro.out: macro.in
implementations:
  macro: MACRO
  micro: MICRO
"""


class Hangs(Exception):
    """A fault could not be caused; the text gives the reason."""


class Run:
    """The run of a plan."""

    def __init__(self, plan, expected, built, ground):
        self.plan, self.expected, self.built, self.ground = plan, expected, built, ground
        self.directory = ground / "run"
        self.mark, self.go, self.said = ground / "mark", ground / "go", ground / "said"
        self.temporary = ground / "tmp"
        self.problems = []
        self.group = self.eaters = self.process = self.disk = None
        self.deadline = time.monotonic() + LIMIT
        self.struck = None

    # ---- causing the fault -----------------------------------------------------------------------------------

    def environment(self, name):
        plan, cell = self.plan, self.plan.cell
        told = {
            "FAULT_STEPS": plan.steps, "FAULT_SIZE": plan.size, "FAULT_SIGNED": plan.signed,
            "FAULT_GO": self.go,
        }
        both = cell.who == "manager" and cell.moment == "starting"
        if name == plan.victim or both:
            hold = cell.fault in ("kill", "stop") and plan.detail != "itself"
            if cell.who in ("c", "python"):
                hold = hold and cell.moment in ("starting", "ending")
            elif cell.fault == "exception":
                hold = "child"
            told |= {
                "FAULT": cell.fault, "FAULT_WHO": cell.who if cell.who in ("manager", "child") else "itself",
                "FAULT_MOMENT": cell.moment, "FAULT_STEP": plan.step, "FAULT_DETAIL": plan.detail,
                "FAULT_MARK": self.mark, "FAULT_SESSION": plan.session,
                "FAULT_HOLD": {True: "go", False: "no"}.get(hold, hold),
                "FAULT_GROUP": self.eaters.processes if self.eaters else "",
            }
        if both and name != plan.victim:
            told |= {"FAULT": "none", "FAULT_DETAIL": "waiting", "FAULT_MARK": self.ground / "other"}
        return "{" + ", ".join(f'{key}: "{value}"' for key, value in told.items()) + "}"

    def program(self, name):
        if self.plan.languages[name] == "c":
            words = f"executable: {self.built / 'peer'}, args: [{name}]"
        else:
            words = f"executable: {self.built / 'python'}, args: [{self.built / 'peer.py'}, {name}]"
        return f"{{{words}, env: {self.environment(name)}}}"

    def prepare(self):
        plan, cell = self.plan, self.plan.cell
        self.temporary.mkdir()
        name = f"ligament-faults-{os.getpid()}"
        self.group = machine.Group.make(name)
        if self.group:
            self.group.processes.write_text(str(os.getpid()))
        if cell.fault == "memory" and plan.detail == "group":
            self.eaters = machine.Group.make(f"{name}-eaters", machine.GROUP_LIMIT)
        if cell.fault == "disk" and plan.detail == "space":
            machine.own_mounts()
            inside = f"instances/{plan.victim}/workdir" if cell.who != "manager" else "."
            self.disk = self.directory / inside
            machine.mount_small_disk(self.disk)
            # As `ligament submit` marks a directory that it prepares for a run: one with anything else in it is
            # refused.
            (self.directory / ".prepared").touch()
            if cell.who == "manager" and cell.moment == "starting":
                machine.fill(self.disk)
        text = MODEL.replace("MACRO", self.program("macro")).replace("MICRO", self.program("micro"))
        if cell.moment == "saving":
            text += "checkpoints: {simulation_time: [{every: 1.0}]}\n"
        (self.ground / "model.ymmsl").write_text(text)

    def start(self):
        command = [self.built / "ligament", "run", "model.ymmsl", "--run-dir", self.directory, "--quiet"]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LIGAMENT_")}
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(
                command, cwd=self.ground, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                env=environment | {"TMPDIR": str(self.temporary)}, start_new_session=True,
            )

    def until(self, condition, what):
        while time.monotonic() < self.deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.001)
        raise Hangs(what)

    def marked(self):
        """Returns the number of the victim when it has come to its moment."""

        def look():
            if self.process.poll() is not None and not self.mark.exists():
                raise Hangs("the run ended before the moment came")
            return self.mark.exists()

        self.until(look, "the moment never came")
        return int(self.mark.read_text())

    def ask(self, *words):
        return machine.quiet([self.built / "ligament", *words])

    def status(self):
        done = self.ask("status", str(self.directory), "--json")
        if done.returncode != 0:
            return {}
        return {one["name"]: one["state"] for one in json.loads(done.stdout)["instances"]}

    def send(self, pid, number):
        self.struck = time.monotonic()
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass

    def rest_and_continue(self, pid):
        """Continues a stopped process after a while, and checks that the run goes on."""
        self.until(lambda: machine.state_of(pid) in ("T", "Z", None), f"{pid} does not stop")
        time.sleep(self.plan.rest)
        if self.process.poll() is not None:
            self.problems.append("the run ended while a process stood still")
        os.kill(pid, signal.SIGCONT)

    def end_from_outside(self, way):
        if way == "stop":
            done = self.ask("stop", str(self.directory))
            if done.returncode != 0:
                self.problems.append(f"ligament stop: {done.stderr}")
        else:
            self.process.send_signal(getattr(signal, way))

    def strike(self):
        """Causes the fault from outside, at its moment."""
        plan, cell = self.plan, self.plan.cell
        if cell.who == "manager":
            self.strike_manager()
        elif cell.fault == "kill" and plan.detail == "outside":
            pid = self.marked()
            time.sleep(plan.delay)
            self.send(pid, signal.SIGKILL)
            self.go.touch()
        elif cell.fault == "stop":
            pid = self.marked()
            self.rest_and_continue(pid)
            self.go.touch()
        elif cell.fault == "hang" and cell.who != "child":
            self.marked()
            if cell.moment != "ending":
                waits = lambda: self.status().get(plan.peer, "").startswith("waiting")  # noqa: E731
                self.until(waits, f"the status does not say that {plan.peer} waits")
            self.end_from_outside("stop" if plan.seed % 2 else "SIGINT")

    def strike_manager(self):
        plan, cell, manager = self.plan, self.plan.cell, self.process.pid
        if cell.fault == "disk" and cell.moment == "starting":
            return
        self.marked()
        time.sleep(plan.delay)
        if cell.fault == "kill":
            self.send(manager, signal.SIGKILL)
        elif cell.fault == "stop":
            os.kill(manager, signal.SIGSTOP)
            self.rest_and_continue(manager)
        elif cell.fault == "exit":
            self.end_from_outside(plan.detail)
        elif cell.fault == "exception":
            self.send(manager, getattr(signal, plan.detail))
        elif cell.fault == "hang":
            os.kill(manager, signal.SIGSTOP)
            time.sleep(plan.rest)
            self.send(manager, signal.SIGKILL)
        elif cell.fault == "files":
            machine.no_more_files(manager)
        elif cell.fault == "disk":
            machine.fill(self.disk)
        if cell.fault in ("stop", "files", "disk"):
            self.go.touch()

    def strike_memory_of_manager(self):
        """The kernel must choose the manager among all processes when memory runs out."""
        self.marked()
        Path(f"/proc/{self.process.pid}/oom_score_adj").write_text("1000")
        self.eaters.processes.write_text(str(self.process.pid))

    def bring_about(self):
        cell = self.plan.cell
        self.prepare()
        self.start()
        if cell.who == "manager" and cell.fault == "memory":
            self.strike_memory_of_manager()
        else:
            self.strike()
        try:
            status = self.process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Hangs("the run does not end") from None
        # The guard of a killed run ends what is left; other runs end their processes before they end.
        if status < 0:
            self.until(lambda: machine.reap() or not machine.descendants(), "what the run left does not end")
        elif left := machine.descendants():
            self.problems.append("left: " + "; ".join(machine.describe(pid) for pid in left))
        return status

    # ---- judging ---------------------------------------------------------------------------------------------

    def expect(self, pattern, text, where):
        if pattern is None:
            return
        pattern = pattern.replace("{victim}", self.plan.victim).replace("{peer}", self.plan.peer)
        if not re.search(pattern, text):
            self.problems.append(f"{where}: no /{pattern}/ in: {text.strip()[-600:]!r}")

    def judge(self, status):
        said = self.said.read_text(errors="replace")
        path = self.directory / "run.json"
        record = json.loads(path.read_text()) if path.exists() and path.stat().st_size else {"state": "refused"}
        state, wanted = record["state"], self.expected
        if state not in wanted.states:
            self.problems.append(
                f"the state is {state} ({record.get('reason')}), not {' or '.join(wanted.states)}")
        if status not in wanted.exits:
            self.problems.append(f"the exit status is {status}, not {wanted.exits}: {said[-600:]!r}")
        if state == "failed":
            self.expect(wanted.reason, record.get("reason") or "", "reason")
            first = next((line for line in said.splitlines() if line), "")
            if record.get("reason") and record["reason"][:60] not in first:
                self.problems.append(f"the reason does not come first: {said[:300]!r}")
        if state == "failed" or len(wanted.states) == 1:
            self.expect(wanted.told, said, "told")
        self.judge_output(state)
        self.judge_leftovers(state)
        # On a full disk the timeline ends early, and the run reports this.
        if record.get("instances") and not (self.plan.cell.who == "manager" and self.plan.cell.fault == "disk"):
            self.problems += times.disagreements(self.built / "ligament", self.directory, self.ground)

    def judge_output(self, state):
        cell = self.plan.cell
        if cell.who == "manager" and cell.fault == "disk":
            return
        path = self.directory / "instances" / self.plan.victim / "output.log"
        output = path.read_text(errors="replace") if path.exists() else ""
        self.expect("last words", output, "output")
        if state == "failed" or len(self.expected.states) == 1:
            self.expect(self.expected.output, output, "output")

    def judge_leftovers(self, state):
        if state in ("done", "failed", "stopped", "interrupted"):
            names = [path.name for path in self.directory.iterdir()]
            left = [name for name in names if name in ("token", ".reserved") or ".new-" in name]
            if left:
                self.problems.append(f"left in the run directory: {left}")
            self.judge_checkpoints()
        if left := list(self.temporary.iterdir()):
            self.problems.append(f"left in TMPDIR: {left}")
        if self.disk:
            machine.unmount(self.disk)
        if self.group and (shared := self.group.shared_bytes_left()):
            self.problems.append(f"{shared} bytes of shared memory are left")

    def judge_checkpoints(self):
        """Each checkpoint has the files of all instances, or is not there."""
        directory = self.directory / "checkpoints"
        for file in directory.glob("*/checkpoint.json"):
            names = json.loads(file.read_text())["instances"]
            if missing := [one for one in names if not (file.parent / f"{one}.checkpoint").exists()]:
                self.problems.append(f"checkpoint {file.parent.name} lacks the files of {missing}")
        if self.process.returncode >= 0 and (directory / ".unfinished").exists():
            self.problems.append("left in the run directory: checkpoints/.unfinished")

    def clean(self):
        machine.end_descendants()
        if self.group:
            root = self.group.path.parent
            try:
                (root / "cgroup.procs").write_text(str(os.getpid()))
            except OSError:
                pass
            self.group.remove()
        if self.eaters:
            self.eaters.remove()


def life(plan, expected, built, keep):
    """Runs the process of a cell from start to end, and returns its result as a dictionary."""
    machine.adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ground = Path(tempfile.mkdtemp(prefix=f"faults-{plan.cell}-"))
    run = Run(plan, expected, built, ground)
    began = time.monotonic()
    before = set(os.listdir("/dev/shm"))
    try:
        run.judge(run.bring_about())
    except Hangs as what:
        left = "; ".join(machine.describe(pid) for pid in machine.descendants())
        said = run.said.read_text(errors="replace")[-600:] if run.said.exists() else ""
        run.problems.append(f"{what}; there are: {left}; said: {said!r}")
    except Exception:
        run.problems.append(traceback.format_exc())
    took = time.monotonic() - began
    run.clean()
    if new := [name for name in set(os.listdir("/dev/shm")) - before if "ligament" in name]:
        run.problems.append(f"left in /dev/shm: {new}")
    if run.problems and keep:
        run.problems.append(f"kept: {ground}")
    else:
        shutil.rmtree(ground, ignore_errors=True)
    return {"problems": run.problems, "seconds": took}


class Started:
    """A plan that runs in a process of its own. `pipe` becomes readable at its end."""

    def __init__(self, plan, expected, built, keep=False):
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(reading)
                os.setpgid(0, 0)
                result = life(plan, expected, built, keep)
                with open(writing, "w") as pipe:
                    json.dump(result, pipe)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(0)
        os.close(writing)
        self.pipe = open(reading)

    def result(self):
        """Describes the mistake, and how long the run took."""
        with self.pipe as pipe:
            text = pipe.read()
        os.waitpid(self.pid, 0)
        return json.loads(text) if text else {"problems": ["the test's own process failed"], "seconds": 0.0}
