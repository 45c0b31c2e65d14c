"""A run over the hosts of a network: `ligament run` on the first host, `ligament agent --join` on the
others."""

import os
import subprocess
import time
from pathlib import Path

INVITATION = "invitation"  # in the run directory, for its owner's eyes only


def can_spread(command):
    """The reason why this build of Ligament cannot spread a run over several machines, in one sentence, or
    None."""
    done = subprocess.run([command, "agent", "--help"], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 and "--join" in done.stdout else f"{command} has no `agent --join` yet"


class SpreadRun:
    """A run over hosts; host number i of `hosts` is domain i. `on` names the components of each domain by the
    domain's number: {1: ["pong"]}. `listen` has the addresses at which each host listens (by default its first
    IPv4 address). `options` go to `ligament run`, and `agent_options` to each agent, or to that of one domain:
    {1: [...]}. `prefix` comes before both commands (`taskset -c 1`). The constructor waits only until each
    agent is started."""

    def __init__(self, command, hosts, model, directory, on=None, listen=None, encrypt=True, options=(),
                 agent_options=(), environment=None, folder=None, prefix=()):
        self.directory, self.hosts = Path(directory), list(hosts)
        self.listen = listen or [host.v4 for host in self.hosts]
        self.logs = [self.directory.with_name(f"{self.directory.name}.domain{i}.txt")
                     for i in range(len(self.hosts))]
        self.environment = {**os.environ, **(environment or {})}
        self.folder = folder
        words = [*prefix, command, "run", model, "--run-dir", self.directory, "--domains", len(self.hosts) - 1,
                 "--listen", self.listen[0], "--overcommit", *([] if encrypt else ["--no-encryption"]),
                 *options]
        for domain, names in (on or {}).items():
            for name in names:
                words += ["--on", f"{domain}={name}"]
        self.processes = [self._start(0, words)]
        self.join_file = self.directory / INVITATION
        self.agent_options = agent_options if isinstance(agent_options, dict) else {}
        of_all = [] if self.agent_options else agent_options
        self.join = [*prefix, command, "agent", "--join", self.join_file, *of_all]
        if len(self.hosts) > 1 and self._await_invitation():
            for number in range(1, len(self.hosts)):
                self.start_agent(number)

    def _start(self, number, words):
        with open(self.logs[number], "ab") as log:
            return self.hosts[number].start(*words, stdout=log, stderr=log, env=self.environment,
                                            cwd=self.folder)

    def start_agent(self, number):
        """Starts the agent of a domain that has none."""
        words = [*self.join, *self.agent_options.get(number, ()), "--domain", number, "--listen",
                 self.listen[number]]
        self.processes.append(self._start(number, words))

    def _await_invitation(self, seconds=60):
        until = time.monotonic() + seconds
        while not self.join_file.exists():
            if self.processes[0].poll() is not None:
                return False  # it has said why
            assert time.monotonic() < until, f"no {INVITATION} after {seconds} s\n{self.said()}"
            time.sleep(0.01)
        return True

    def wait(self, limit=120):
        """Waits until the run is over in all domains. Returns the exit status of each."""
        until = time.monotonic() + limit
        try:
            return [process.wait(max(until - time.monotonic(), 0.1)) for process in self.processes]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run is not over after {limit} s\n{self.said()}") from None

    def succeed(self, limit=120):
        """Waits until the run ends well in all domains."""
        statuses = self.wait(limit)
        assert statuses == [0] * len(self.hosts), f"exit statuses {statuses}\n{self.said()}"

    def said(self):
        """Returns the output of all domains so far."""
        return "\n".join(f"--- domain {i}:\n{log.read_text(errors='replace')}"
                         for i, log in enumerate(self.logs) if log.exists())

    def file(self, instance, name):
        """Returns the text of a file in an instance's working directory."""
        found = list((self.directory / "instances" / instance).rglob(name))
        assert len(found) == 1, f"{name} of {instance}: {found}\n{self.said()}"
        return found[0].read_text()
