"""Test networks: namespaces that are joined by veth, over a switch or directly. Their links have rates, and can
be cut and walled off. The machine's own interfaces are not changed, and nothing outlives the process that made
the network."""

import ipaddress
import itertools
import os
import signal
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path

NAMED = Path("/run/netns")
PREFIX = "lgt"
_counter = itertools.count()


def unavailable():
    """The reason why no network can be made here, in one sentence, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    absent = [program for program in ("ip", "tc", "nsenter") if shutil.which(program) is None]
    if absent:
        return f"{', '.join(absent)} is not installed (apt-get install iproute2 util-linux)"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)
    return f"network namespaces cannot be made: {probe.stderr.strip()}" if probe.returncode else None


def _command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


# ---- who owns a namespace ------------------------------------------------------------------------------------
def _birth(pid):
    """The start time of a process, in clock ticks since boot; None if there is no such process. Together with
    it, a pid is unique."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def owned_names(pid=None):
    """The beginning of the names of all namespaces that a process makes."""
    pid = pid or os.getpid()
    return f"{PREFIX}-{pid}-{_birth(pid)}-"


def processes_in(path):
    """The pids of all processes in a named namespace."""
    try:
        wanted = os.stat(path)
    except OSError:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                there = os.stat(entry / "ns/net")
            except OSError:
                continue
            if (there.st_dev, there.st_ino) == (wanted.st_dev, wanted.st_ino):
                found.append(int(entry.name))
    return found


def end_processes(path):
    """Kills all processes in a namespace, and those that they fork meanwhile."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pids = processes_in(path)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.005)  # a killed process keeps its namespace until the kernel has removed it


def remove(path):
    """Ends all processes in a namespace, then removes its name; its interfaces go with it."""
    if os.path.samefile("/proc/self/ns/net", path):
        raise OSError(f"{path} is the namespace of this process itself")
    end_processes(path)
    _command("ip", "netns", "delete", Path(path).name)


def sweep():
    """Removes the namespaces of processes that have ended, and returns their names. A namespace that cannot be
    removed is reported and left; it does no harm."""
    removed = []
    for path in sorted(NAMED.glob(f"{PREFIX}-*")) if NAMED.exists() else []:
        parts = path.name.split("-")
        if len(parts) >= 4 and parts[1].isdigit() and str(_birth(int(parts[1]))) != parts[2]:
            try:
                remove(path)
            except OSError as error:
                if path.exists():  # otherwise somebody else swept at the same time
                    warnings.warn(f"the namespace of a process that is no more stays: {error}", stacklevel=2)
                    continue
            removed.append(path.name)
    return removed


class Guard:
    """A process that waits for the end of this one, whatever ends it, and then removes its namespaces."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "guard", owned_names()],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )

    _of_this_process = {}

    @classmethod
    def ensure(cls):
        if os.getpid() not in cls._of_this_process:
            cls._of_this_process[os.getpid()] = cls()


def _guard(prefix):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    for path in NAMED.glob(f"{prefix}*"):
        try:
            remove(path)
        except OSError:
            pass
    sweep()


# ---- what a test sees ----------------------------------------------------------------------------------------
class Namespace:
    """One machine of the network, as the kernel can imitate it."""

    def __init__(self, path, name, addresses=()):
        self.path, self.name, self.addresses = Path(path), name, list(addresses)
        self.processes = []

    @property
    def v4(self):
        return next(address for address in self.addresses if ":" not in address)

    @property
    def v6(self):
        return next(address for address in self.addresses if ":" in address)

    def words(self, *command):
        """Returns the command line that runs `command` in this namespace. The rest of the machine (files, /sys)
        is the same."""
        return ["nsenter", f"--net={self.path}", "--", *map(str, command)]

    def run(self, *command, limit=60, **more):
        """Runs a command to its end. Returns its output, with the error output after it. After a failure it
        raises an error with both."""
        done = subprocess.run(
            self.words(*command), stdin=more.pop("stdin", subprocess.DEVNULL), capture_output=True, text=True,
            timeout=limit, check=False, **more,
        )
        if done.returncode:
            raise AssertionError(f"in {self.name}: {' '.join(map(str, command))}: status {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start(self, *command, **more):
        """Starts a command. It ends with the network at the latest."""
        more.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(self.words(*command), start_new_session=True, **more)
        self.processes.append(process)
        return process

    def counted(self, protocol, name):
        """A counter of the kernel's for this namespace, as /proc/net/snmp has it: ("Tcp", "RetransSegs")."""
        lines = [line.split() for line in self.run("cat", "/proc/net/snmp").splitlines()
                 if line.startswith(f"{protocol}:")]
        return int(dict(zip(*lines))[name])

    def break_connections(self, most=None):
        """Breaks the TCP connections of this namespace, or some of them, at both ends, as a gateway does that
        is restarted. Returns their number."""
        all_ = connections(self)[:most]
        for local, remote in all_:
            self.run("ss", "-K", "-tn", "src", local, "dst", remote)
        return len(all_)

    def end(self):
        """Ends all processes in this namespace."""
        end_processes(self.path)
        self.reap()

    def reap(self):
        """Waits for the processes that were started here, after their end."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()

    def wall(self, *ports):
        """Refuses new connections from outside from now on, except to these TCP ports. Open connections
        stay."""
        self.unwall()
        except_these = f"tcp dport != {{ {', '.join(map(str, ports))} }} " if ports else ""
        for rule in (
            "add table inet wall", "add chain inet wall inwards { type filter hook input priority 0 ; }",
                     f'add rule inet wall inwards iifname != "lo" tcp flags & (syn | ack) == syn '
                     f'{except_these}drop'):
            _command(*self.words("nft", rule))

    def unwall(self):
        """Removes the wall."""
        subprocess.run(self.words("nft", "delete table inet wall"), capture_output=True, check=False)


class Network:
    """Namespaces with these names, joined by one switch (or by `links` switches, for machines with several
    interfaces), or two of them joined by a cable without a switch (`direct`). Host number i has the addresses
    10.LAN.LINK.i and fdLAN:LINK::i; LAN is 88, unless two networks are to be joined. `rate` is the rate of each
    host's link in each direction, as `tc` writes it ("1gbit"); None means no limit."""

    def __init__(self, *names, rate=None, links=1, direct=False, mtu=1500, lan=88):
        if direct and (len(names) != 2 or links != 1):
            raise ValueError("a cable has two ends")
        sweep()
        Guard.ensure()
        self.names, self.links, self.direct, self.mtu, self.lan = names, links, direct, mtu, lan
        self.prefix = f"{owned_names()}{next(_counter)}-"
        self.hosts, self.switch = {}, None
        try:
            self._make()
            if rate:
                self.set_rate(rate)
        except BaseException:
            self.close()
            raise

    def _namespace(self, name):
        _command("ip", "netns", "add", self.prefix + name)
        _command("ip", "-n", self.prefix + name, "link", "set", "lo", "up")
        return Namespace(NAMED / (self.prefix + name), name)

    def _make(self):
        for name in self.names:
            self.hosts[name] = self._namespace(name)
        if not self.direct:
            self.switch = self._namespace("switch")
        for link in range(self.links):
            device = f"eth{link}"
            if self.direct:
                first, second = self.names
                self._cable(self.hosts[first], device, self.hosts[second], device)
            else:
                self._on("switch", "link", "add", f"br{link}", "type", "bridge")
                self._on("switch", "link", "set", f"br{link}", "up")
                for name in self.names:
                    self._cable(self.hosts[name], device, self.switch, f"{name}.{link}")
                    self._on("switch", "link", "set", f"{name}.{link}", "master", f"br{link}")
            for number, host in enumerate(self.hosts.values(), 1):
                v4, v6 = f"10.{self.lan}.{link}.{number}", str(
                    ipaddress.ip_address(f"fd{self.lan}:{link}::{number}"))
                self._on(host.name, "addr", "add", f"{v4}/24", "dev", device)
                self._on(host.name, "addr", "add", f"{v6}/64", "dev", device, "nodad")
                host.addresses += [v4, v6]

    def _cable(self, one, device, other, port):
        _command("ip", "link", "add", device, "netns", one.path.name, "mtu", self.mtu, "type", "veth",
                 "peer", "name", port, "netns", other.path.name, "mtu", self.mtu)
        _command("ip", "-n", one.path.name, "link", "set", device, "up")
        _command("ip", "-n", other.path.name, "link", "set", port, "up")

    def join(self, host, number, device="outside"):
        """Joins a host of another network to this one, with a number. Returns its IPv4 address here."""
        port, address = f"{host.name}.0", f"10.{self.lan}.0.{number}"
        self._cable(host, device, self.switch, port)
        self._on("switch", "link", "set", port, "master", "br0")
        _command("ip", "-n", host.path.name, "addr", "add", f"{address}/24", "dev", device)
        return address

    def _on(self, name, *words):
        return _command("ip", "-n", self.prefix + name, *words)

    def __getitem__(self, name):
        return self.hosts[name]

    def _ports(self, name, link):
        return [f"{name}.{i}" for i in ([link] if link is not None else range(self.links))]

    def set_rate(self, rate, name=None):
        """Sets the rate of the link of one host (or of each) in each direction. The queue holds 50 ms."""
        for host in [name] if name else self.names:
            for link in range(self.links):
                shaped = [(host, f"eth{link}")]
                if not self.direct:
                    shaped.append(("switch", f"{host}.{link}"))
                for where, device in shaped:
                    _command("tc", "-n", self.prefix + where, "qdisc", "replace", "dev", device, "root", "tbf",
                             "rate", rate, "burst", "256kb", "latency", "50ms")

    def cut(self, name, link=None):
        """Separates a host from the others, as a cut of a distant cable does: no host is told, and packets are
        lost."""
        self._need_switch()
        for port in self._ports(name, link):
            self._on("switch", "link", "set", port, "nomaster")

    def restore(self, name, link=None):
        """Joins the host again."""
        self._need_switch()
        for port in self._ports(name, link):
            self._on("switch", "link", "set", port, "master", f"br{port.rpartition('.')[2]}")

    def _need_switch(self):
        if self.direct:
            raise ValueError("a cable without a switch is not cut")

    def carried(self, name, link=0):
        """Returns the numbers of bytes that have left and reached this host over the link."""
        text = self.hosts[name].run("cat", "/proc/net/dev")
        words = next(line for line in text.splitlines()
                     if line.strip().startswith(f"eth{link}:")).split(":")[1].split()
        return int(words[8]), int(words[0])

    def close(self):
        for host in [*self.hosts.values(), *([self.switch] if self.switch else [])]:
            host.end()
            if host.path.exists():
                remove(host.path)
        self.hosts, self.switch = {}, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def connections(namespace, *options):
    """Returns the TCP connections of a namespace as (local, remote) addresses with ports, each from its own
    end."""
    text = namespace.run("ss", "-Htn", *(options or ("state", "established")))
    return [tuple(line.split()[-2:]) for line in text.splitlines() if line.strip()]


if __name__ == "__main__":
    if sys.argv[1:2] == ["guard"] and len(sys.argv) == 3:
        _guard(sys.argv[2])
    elif sys.argv[1:] == ["sweep"]:
        print("\n".join(sweep()))
    else:
        sys.exit("usage: namespaces.py sweep")
