"""Runs, the page of a run, and a browser that shows it."""

import http.client
import json
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 60

# A component that pauses while the file `hold` exists, and ends when the file `go` exists.
SOURCE = """
import os, time
instance = Instance({Operator.O_I: ["out"], Operator.S: ["back"]})
told = lambda word: os.path.exists(os.path.join(HERE, word))
while instance.reuse_instance():
    for step in range(100000):
        instance.send("out", Message(float(step), data=np.full(1000, float(step))))
        instance.receive("back")
        while told("hold") and not told("go"):
            time.sleep(0.01)
        if told("go"):
            break
        time.sleep(0.01)
"""

WORKER = """
import logging
instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    message = instance.receive("in")
    if message.timestamp == 0.0:
        logging.getLogger().warning("<b>the worker</b> warns")
        print("<script>document.title = 'broken into'</script>")
    instance.send("out", Message(message.timestamp, data=step))
"""

MODEL = """ymmsl_version: v0.1
model:
  name: endless
  components:
    source: {{implementation: source, ports: {{o_i: out, s: back}}}}
    worker: {{implementation: worker, ports: {{f_init: in, o_f: out}}}}
  conduits:
    source.out: worker.in
    worker.out: source.back
settings: {{t_max: 1000.0}}
implementations:
  source: {source}
  worker: {worker}
"""

# Each component waits for the other.
STUCK = """
instance = Instance({Operator.O_I: ["out"], Operator.S: ["in"]})
while instance.reuse_instance():
    instance.receive("in")
    instance.send("out", Message(0.0))
"""

DEADLOCK = """ymmsl_version: v0.1
model:
  name: knot
  components:
    left: {{implementation: stuck, ports: {{o_i: out, s: in}}}}
    right: {{implementation: stuck, ports: {{o_i: out, s: in}}}}
  conduits:
    left.out: right.in
    right.out: left.in
implementations:
  stuck: {stuck}
"""


# A program stops where it calls `stands`, for as long as the test holds it there (`Place.holds`).
STANDS = """
import os, time
told = lambda word: os.path.exists(os.path.join(HERE, word))

def stands(name):
    if told(f"hold-{name}"):
        open(os.path.join(HERE, f"{name}-stands"), "w").close()
        while told(f"hold-{name}") and not told("go"):
            time.sleep(0.01)
        os.remove(os.path.join(HERE, f"{name}-stands"))
"""

# A front that moves by D in each step until it is told to end, and records its moves.
FRONT = STANDS + """
instance = Instance({Operator.O_I: ["out"], Operator.S: ["back"]})
while instance.reuse_instance():
    D, last = instance.get_setting("D", "float"), instance.get_setting("last", "int")
    front, step = 0.0, 0
    with open("steps.txt", "w") as steps:
        while not told("go") and step < last:
            stands("front")
            if instance.steer(float(step)):
                D = instance.get_setting("D", "float")
            front += D
            print(step, D, front, file=steps, flush=True)
            instance.send("out", Message(float(step), data=front))
            instance.receive("back")
            if not told("quick"):
                time.sleep(0.01)
            step += 1
"""

ECHO = STANDS + """
instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    message = instance.receive("in")
    stands("echo")
    instance.steer(message.timestamp)
    instance.send("out", Message(message.timestamp))
"""

# This component never asks for changes of settings.
DEAF = """
import os, time
instance = Instance({})
while instance.reuse_instance():
    while not os.path.exists(os.path.join(HERE, "go")):
        time.sleep(0.02)
"""

STEERED = """ymmsl_version: v0.1
model:
  name: steered
  components:
    front: {{implementation: front, ports: {{o_i: out, s: back}}}}
    echo: {{implementation: echo, ports: {{f_init: in, o_f: out}}}}
{deaf}  conduits:
    front.out: echo.in
    echo.out: front.back
settings:
  {{front.D: 0.5, front.n: 3, front.on: true, front.name: wave, front.list: [0.5, 1.0], front.last: 100000,
    k: 2.0, echo.k2: 1.0}}
ligament:
  steerable:
    front.D: {{min: 0.0, max: 1.0, unit: mm^2/s}}
    front.n:
    front.on:
    front.name:
    front.list: {{min: 0.0}}
    k: {{min: 0.0}}
    echo.k2: {{apply: restart}}
implementations:
  front: {front}
  echo: {echo}
"""


class Place:
    """A directory with models, runs, and pages of them."""

    def __init__(self, path, ligament):
        self.path, self.ligament, self.pages, self.agents = path, ligament, [], []

    def call(self, *words, status=0):
        done = subprocess.run([self.ligament, *map(str, words)], cwd=self.path, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == status, f"{words} gave {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def tells(self, word):
        (self.path / word).touch()

    def starts(self, model="endless", *words):
        """A run that goes on by itself until it is told `go`."""
        return json.loads(self.call("run", f"{model}.ymmsl", "--run-dir=run", "--detach", "--json", *words))

    def starts_in_two_domains(self, model, *words):
        """The head, and the agent of domain 1. They end with the run."""
        quiet = {"cwd": self.path, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL}
        listen = ["--listen", "127.0.0.1", "--quiet"]
        self.agents.append(subprocess.Popen([self.ligament, "run", f"{model}.ymmsl", "--run-dir=run",
                                             "--domains", "1",
                                             "--overcommit", *listen, *words], **quiet))
        until = time.monotonic() + LIMIT
        while not (self.path / "run/invitation").exists():
            assert self.agents[0].poll() is None and time.monotonic() < until
            time.sleep(0.02)
        self.agents.append(subprocess.Popen([self.ligament, "agent", "--join", "run/invitation", "--domain",
                                             "1", *listen],
                                            **quiet))
        while self.record()["agent"] is None:
            assert self.agents[0].poll() is None and time.monotonic() < until
            time.sleep(0.02)

    def waits_until(self, holds):
        """Waits until the run's status satisfies a condition."""
        until = time.monotonic() + LIMIT
        while not (found := holds(status := json.loads(self.call("status", "run", "--json")))):
            assert time.monotonic() < until, status
            time.sleep(0.05)
        return found

    def goes(self):
        """Waits until the front moves."""
        def time_of_front(status):
            return next(one["model_time"] for one in status["instances"] if one["name"] == "front") or 0.0

        self.waits_until(lambda status: time_of_front(status) > 3.0)

    def holds(self, name):
        """Waits until the front is stopped between two steps, or the echo within one, before they call
        `steer`."""
        self.tells(f"hold-{name}")
        until = time.monotonic() + LIMIT
        while not (self.path / f"{name}-stands").exists():
            assert time.monotonic() < until, f"{name} does not stand"
            time.sleep(0.02)

    def lets_go(self, name):
        """Lets a stopped program go on."""
        (self.path / f"hold-{name}").unlink()

    def steps(self, run="run"):
        """The record of the front: step, D, front."""
        text = (self.path / run / "instances/front/workdir/steps.txt").read_text()
        # The last line may be read while it is written.
        return [tuple(map(float, line.split())) for line in text[:text.rfind("\n") + 1].splitlines()]

    def journal(self):
        """The run's journal."""
        return [json.loads(line) for line in (self.path / "run/journal.jsonl").read_text().splitlines()]

    def is_over(self, status=0):
        self.tells("go")
        self.call("attach", "run", status=status)
        return self.record()

    def record(self, run="run"):
        return json.loads((self.path / run / "run.json").read_text())

    def view(self, *words, run="run"):
        """The page of a run, from the output of its server."""
        page = subprocess.Popen([self.ligament, "view", run, "--json", *map(str, words)], cwd=self.path,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)
        self.pages.append(page)
        line = page.stdout.readline()
        assert line, page.stderr.read()
        return json.loads(line)

    def close(self):
        """Ends the page that was opened last."""
        page = self.pages.pop()
        page.terminate()
        _, page.said = page.communicate(timeout=LIMIT)
        return page.returncode

    def clear(self):
        self.tells("go")
        if (self.path / "run/run.json").exists() and self.record()["state"] == "running":
            subprocess.run([self.ligament, "stop", "run"], cwd=self.path, capture_output=True, timeout=LIMIT)
        while self.pages:
            assert self.close() == 0
        for agent in self.agents:
            agent.wait(timeout=LIMIT)


class Asker:
    """Asks a page's server as a program does."""

    def __init__(self, view):
        self.port = int(view["at"].rstrip("/").rsplit(":", 1)[1])
        self.secret = view["link"].split("#")[1].split("=")[1]
        # A connection for all further requests.
        self.line = None

    def stays(self):
        """Keeps one connection, as browsers do."""
        self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        return self

    def ask(self, method, path, headers=(), body=None, host=None):
        """Status, headers, and text of the answer."""
        line = self.line or http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        line.putrequest(method, path, skip_host=True)
        for name, value in {"Host": host or f"127.0.0.1:{self.port}", **dict(headers)}.items():
            line.putheader(name, value)
        text = json.dumps(body).encode() if body is not None else b""
        if body is not None:
            line.putheader("Content-Type", "application/json")
            line.putheader("Content-Length", str(len(text)))
        line.endheaders(text)
        answer = line.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()

    @property
    def own(self):
        return {"Origin": f"http://127.0.0.1:{self.port}", "X-Ligament": "1"}

    def opens(self, secret=None):
        """A session: the headers that prove it."""
        status, headers, text = self.ask("POST", "/api/session", self.own, {"secret": secret or self.secret})
        assert status == 200, text
        return {"Cookie": headers["set-cookie"].split(";")[0], "X-Ligament": json.loads(text)["word"]}


class Browser:
    """A real browser."""

    def __init__(self, program):
        self.process = subprocess.Popen(["node", str(HERE / "browser.mjs"), program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def does(self, deed, **words):
        """Performs an action; `viewer` names one of several viewers, each with a browser of its own."""
        self.process.stdin.write(json.dumps({"do": deed, **words}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the browser is gone"
        told = json.loads(line)
        assert "error" not in told, told["error"]
        return told["told"]

    def until(self, what, **whose):
        return self.does("until", what=what, **whose)

    def says(self, text, place="body", **whose):
        """Waits until a part of the page has a text."""
        self.until(f"document.querySelector({json.dumps(place)})?.innerText.includes({json.dumps(text)})",
                   **whose)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=LIMIT)
