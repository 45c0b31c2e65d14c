"""The models that are watched, a run of a model, the page of a run, and its viewers."""

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, die_with_parent, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "live"
PYTHON = REPOSITORY / ".venv/bin/python"
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra"]
LIMIT = 120  # s
EVERY = 0.25  # s between the pictures of a viewer
TICK = os.sysconf("SC_CLK_TCK")


def build():
    """Compiles the programs into build/benchmarks/live."""
    missing = Ligament().missing()
    if missing:
        raise CannotMeasure(missing[0])
    OUT.mkdir(parents=True, exist_ok=True)
    for name in ("part", "light"):
        run(["gcc", *FLAGS, HERE / f"{name}.c", "-o", OUT / name, *Ligament().flags()], seconds=120)


# ---- models --------------------------------------------------------------------------------------------------
def _model(components, conduits, words, more=()):
    """Returns a model. `words` is the command of its only program."""
    return "\n".join([
        "ymmsl_version: v0.1", "model:", "  name: live", "  components:", *components,
        *(["  conduits:", *conduits] if conduits else []), "implementations:",
        f"  code: {{executable: {words[0]}, args: {json.dumps([str(word) for word in words[1:]])}}}", *more,
        ""])


def ring(instances):
    """Returns a model of codes that step together. Each has a conduit to the next one and a setting that can be
    steered."""
    components = [f"    p{i}: {{implementation: code, ports: {{o_i: out, s: in}}}}" for i in range(instances)]
    conduits = [f"    p{i}.out: p{(i + 1) % instances}.in" for i in range(instances)]
    return _model(components, conduits, [OUT / "part", "steps"],
                  ["settings: {k: 0.0}", "ligament: {steerable: {k: {min: 0.0}}}"])


def sender(core):
    """Returns a model of one code with an unconnected port."""
    return _model(["    code: {implementation: code, ports: {o_i: out}}"], [], [OUT / "part", "sender", core])


def alone(*words):
    """Returns a model of one code without ports."""
    return _model(["    code: {implementation: code}"], [], words)


def web(components, conduits, kind):
    """Returns a model of light components in one process. Each component sends on as many conduits as it
    receives from."""
    sends, receives, lines = [0] * components, [0] * components, []
    for k in range(conduits):
        one, step = k % components, k // components
        other = (one + 1 + step % (components - 1)) % components
        lines.append(f"    c{one}.o{sends[one]}: c{other}.i{receives[other]}")
        sends[one] += 1
        receives[other] += 1
    ports = [(", ".join(f"o{k}" for k in range(sends[i])), ", ".join(f"i{k}" for k in range(receives[i])))
             for i in range(components)]
    rows = [f"    c{i}: {{implementation: code, ports: {{o_i: [{o}], s: [{s}]}}}}"
            for i, (o, s) in enumerate(ports)]
    return _model(rows, lines, [OUT / "light", kind], ["ligament: {light: code}"])


# ---- a run ---------------------------------------------------------------------------------------------------
class Run:
    """A run that goes on until the end of the `with` block, and is then stopped."""

    def __init__(self, model):
        self.folder = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
        self.directory = self.folder / "run"
        (self.folder / "model.ymmsl").write_text(model, encoding="utf-8")
        self.process = None

    def __enter__(self):
        command = [Ligament().command, "run", self.folder / "model.ymmsl", "--run-dir", self.directory,
                   "--quiet",
                   "--overcommit"]
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                        preexec_fn=die_with_parent)
        try:
            self.until(lambda: all(one["state"] not in ("waiting", "starting", "registering")
                                   for one in self.status()["instances"]), "all instances take part")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([Ligament().command, "stop", self.directory], capture_output=True, check=False)
        try:
            self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def until(self, true, what):
        late = time.monotonic() + LIMIT
        while True:
            with contextlib.suppress(CannotMeasure, ValueError, KeyError):
                if true():
                    return
            if self.process.poll() is not None:
                raise CannotMeasure(f"the run ended too early: {self.process.communicate()[0][-2000:]}")
            if time.monotonic() > late:
                raise CannotMeasure(f"it never came to be that {what}")
            time.sleep(0.1)

    def command(self, *words):
        return run([Ligament().command, words[0], self.directory, *words[1:]], seconds=LIMIT)

    def status(self):
        return json.loads(self.command("status", "--json"))

    def said(self, instance):
        """Returns the lines that an instance has printed, as numbers."""
        output = self.directory / "instances" / instance / "output.log"
        # the instance has not been started yet
        text = output.read_text(encoding="utf-8") if output.exists() else ""
        return [tuple(map(float, line.split())) for line in text.splitlines()[: text.count("\n")]]

    def processor(self):
        """Returns the processor seconds of the run's own processes so far: the head and the guard, without
        instances."""
        head = self.process.pid
        own, program = [head], Path(f"/proc/{head}/exe").resolve()
        for child in Path(f"/proc/{head}/task/{head}/children").read_text(encoding="utf-8").split():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/exe").resolve() == program:
                    own.append(int(child))
        return sum(map(_seconds, own))


class Once(Run):
    """A run that ends by itself."""

    def __enter__(self):
        file = self.folder / "model.ymmsl"
        run([Ligament().command, "run", file, "--run-dir", self.directory, "--quiet"], seconds=LIMIT)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def _stat(pid):
    """Returns the fields of /proc/PID/stat after the name."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def _seconds(pid):
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICK


# ---- the page ------------------------------------------------------------------------------------------------
class Page:
    """The server of the page of a run. `words` makes the command line that starts it, for example in a
    namespace."""

    def __init__(self, run, words=lambda *command: [*map(str, command)]):
        self.run, self.words = run, words

    def __enter__(self):
        self.process = subprocess.Popen(self.words(Ligament().command, "view", self.run.directory, "--json"),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL,
                                        text=True, preexec_fn=die_with_parent)
        line = self.process.stdout.readline()
        if not line:
            self.__exit__()
            raise CannotMeasure("\"ligament view\" does not serve the page")
        told = json.loads(line)
        self.link, self.port = told["link"], int(told["at"].rstrip("/").rsplit(":", 1)[1])
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def processor(self):
        """Returns the processor seconds so far."""
        return _seconds(self.process.pid)

    def secret(self):
        """Returns the secret of the link, which opens one session."""
        return re.search(r"#\w+=([0-9a-f]+)$", self.link).group(1)

    def opens(self):
        """Opens a session. Returns the headers that identify it."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        secret = self.secret()
        headers = {"Origin": f"http://127.0.0.1:{self.port}", "X-Ligament": "1",
                   "Content-Type": "application/json"}
        line.request("POST", "/api/session", json.dumps({"secret": secret}), headers)
        answer = line.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            raise CannotMeasure(f"the page's server lets nobody in: {told}")
        return {"Cookie": answer.headers["set-cookie"].split(";")[0], "X-Ligament": told["word"]}


class Viewers:
    """Viewers that request the page four times a second, and stalled viewers that send a request and never
    read."""

    def __init__(self, page, viewers, stalled=0):
        self.page, self.count, self.stalled_count = page, viewers, stalled
        self.over, self.threads, self.stalled, self.pictures, self.wrong = threading.Event(), [], [], 0, []

    def __enter__(self):
        session = self.page.opens()
        for _ in range(self.stalled_count):
            line = socket.socket()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect(("127.0.0.1", self.page.port))
            headers = "".join(f"{name}: {value}\r\n" for name, value in session.items())
            line.sendall(f"GET /api/news?since=0 HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
            self.stalled.append(line)
        for _ in range(self.count):
            thread = threading.Thread(target=self._look, args=(session,), daemon=True)
            thread.start()
            self.threads.append(thread)
        return self

    def __exit__(self, *_):
        self.over.set()
        for line in self.stalled:
            line.close()

    def _look(self, session):
        line = http.client.HTTPConnection("127.0.0.1", self.page.port, timeout=LIMIT)
        picture = 0
        while not self.over.is_set():
            asked = time.monotonic()
            try:
                line.request("GET", f"/api/news?since={picture}", headers=session)
                answer = line.getresponse()
                text = answer.read()
            except OSError as problem:
                if not self.over.is_set():
                    self.wrong.append(str(problem))
                return
            if answer.status != 200:
                return self.wrong.append(text.decode(errors="replace")[:200])
            # Only the number is read: reading a large picture here would take processor time that is measured.
            picture = int(re.search(rb'"picture":\s*(\d+)', text).group(1))
            self.pictures += 1
            self.over.wait(max(0.0, asked + EVERY - time.monotonic()))


def laid_out(page):
    """Returns the ms in which the server answers the first request for the plan of the model."""
    session = page.opens()
    line = http.client.HTTPConnection("127.0.0.1", page.port, timeout=LIMIT)
    line.connect()
    began = time.monotonic()
    line.request("GET", "/api/plan", headers=session)
    told = json.loads(line.getresponse().read())
    took = (time.monotonic() - began) * 1e3
    if not told["nodes"]:
        raise CannotMeasure(f"the model is not drawn: {told.get('why')}")
    return took


# ---- a browser -----------------------------------------------------------------------------------------------
def browse(link, instances, seconds):
    """Returns the s until the page was useful, and the ms of script for a redraw, in Chromium."""
    library = REPOSITORY / "tests/live/node_modules/playwright-core/index.mjs"
    if not library.exists():
        run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], seconds=300, folder=REPOSITORY / "tests/live")
    program = shutil.which("chromium")
    if not program or not shutil.which("node"):
        raise CannotMeasure("there is no Chromium or no Node: apt-get install chromium nodejs npm")
    told = run(["node", HERE / "browser.mjs", program, library, link, instances, seconds],
               seconds=2 * LIMIT + seconds)
    return json.loads(told.splitlines()[-1])

