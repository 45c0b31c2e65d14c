"""Models of players: each component is a script, the conduits say who sends to whom.

Steps, with `;` between them: `send PORT [BYTES]`, `receive PORT`, `hold PORT` (receive, and keep the view),
`drop` (from now on a thread drops all that is held at a SIGUSR1), `into PORT BYTES` (receive into memory of
one's own), `within PORT SECONDS` (receive with a time-out, which is no error), `any PORT PORT…` (receive from
whichever has something), `poll PORT`, `await FILE` (in Python only), `sleep SECONDS`, `compute SECONDS`, `stop`
(SIGSTOP to itself), `xN STEP, STEP…` (N times). A slot of a vector port is `port[2]`. `late SECONDS` as the
first step waits before the instance registers.
"""

import json
import subprocess
import time

import times

# A time that no run here reaches unless it hangs.
LIMIT = 300


def ports_of(conduits):
    """The ports of each component, by operator."""
    ports = {}
    for conduit in conduits:
        sender, receivers = (end.strip() for end in conduit.split(":", 1))
        for end, operator in [(sender, "o_i")] + [(end.strip(" []"), "s") for end in receivers.split(",")]:
            component, port = end.split(".")
            known = ports.setdefault(component, {"o_i": [], "s": []})[operator]
            if port not in known:
                known.append(port)
    return ports


def model(scripts, conduits, program, ligament="", multiplicity=None, manual=()):
    """The yMMSL of a cast. `program` gives the executable and its first arguments for the n-th component."""
    ports = ports_of(conduits)
    lines = ["ymmsl_version: v0.1", "model:", "  name: cast", "  components:"]
    for name in scripts:
        many = f", multiplicity: {multiplicity[name]}" if multiplicity and name in multiplicity else ""
        o_i, s = (", ".join(ports.get(name, {}).get(operator, [])) for operator in ("o_i", "s"))
        lines.append(f"    {name}: {{implementation: {name}, ports: {{o_i: [{o_i}], s: [{s}]}}{many}}}")
    lines.append("  conduits:")
    lines += [f"    {conduit}" for conduit in conduits]
    lines.append("implementations:")
    for n, (name, script) in enumerate(scripts.items()):
        executable, *arguments = program(n, script)
        lines.append(f"  {name}: {{executable: {executable}, args: {json.dumps([*arguments, script])}}}")
    if ligament:
        lines += ["ligament:", f"  {ligament}"]
    return "\n".join(lines) + "\n"


class Play:
    """A run of a cast."""

    def __init__(self, command, text, directory, *arguments):
        self.command, self.directory = command, directory / "run"
        file = directory / "cast.ymmsl"
        file.write_text(text)
        self.process = subprocess.Popen(
            [command, "run", str(file), "--run-dir", str(self.directory), *arguments], cwd=directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate()

    def end(self):
        """Returns the exit status, the output, and the record of the run."""
        output, _ = self.process.communicate(timeout=LIMIT)
        record = self.directory / "run.json"
        assert record.exists(), output
        return self.process.returncode, output, json.loads(record.read_text())

    def status(self):
        """Returns the state of each instance; empty before the run answers."""
        done = subprocess.run([self.command, "status", str(self.directory), "--json"], capture_output=True,
                              text=True)
        if done.returncode != 0:
            return {}
        return {one["name"]: one for one in json.loads(done.stdout)["instances"]}

    def until(self, wanted):
        """Asks until the answer satisfies a condition."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            assert self.process.poll() is None, self.process.stdout.read()
            status = self.status()
            if status and wanted(status):
                return status
            time.sleep(0.02)
        raise AssertionError(f"it did not come about: {status}")

    def disagreements(self):
        """Returns the differences between the times in the run's record and in its timeline."""
        return times.disagreements(self.command, self.directory, self.directory.parent)

    def log(self):
        return (self.directory / "manager.log").read_text()
