"""Files of a run over several domains. Inputs arrive before instances start. Outputs come back whole, or are
kept with a reason. Both can be read during the run. All this is tested with a common file system and without
one."""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from test_domains import LIMIT, Spread, until

MIB = 1 << 20

MODEL = """ymmsl_version: v0.2
models:
  town:
    components:
      macro: {{ports: {{o_i: out, s: in}}, implementation: macro}}
      micro: {{ports: {{f_init: in, o_f: out}}, implementation: micro, multiplicity: 2}}
    conduits:
      macro.out: micro.in
      micro.out: macro.in
programs:
  macro: {macro}
  micro: {micro}
ligament:
{options}
"""

MACRO = """
instance = Instance({Operator.O_I: ["out[]"], Operator.S: ["in[]"]})
while instance.reuse_instance():
    for slot in range(2):
        instance.send("out", Message(0.0, data=slot), slot)
    for slot in range(2):
        open(f"said-{slot}", "w").write(instance.receive("in", slot).data)
"""

MICRO = """
import json, os, sys
instance = Instance({Operator.F_INIT: ["in"], Operator.O_F: ["out"]})
while instance.reuse_instance():
    message = instance.receive("in")
    WHAT
    instance.send("out", Message(0.0, data=said))
"""

# The files that an instance finds: names, texts, which can be executed and written, and if the program is
# staged.
FINDER = """
    found = {}
    for place, _, names in os.walk("."):
        for name in names:
            path = os.path.join(place, name)
            mode = os.stat(path).st_mode
            found[path[2:]] = [open(path).read()[:20], oct(mode & 0o333)]
    open("data/own", "w").write("of its own")
    os.replace("data/own", "data/replaced")
    with open("restart", "r+") as restart:  # in place, as codes do with the file that they restart from
        restart.write(f"of {int(message.data)}")
    said = json.dumps(found, sort_keys=True)
"""


def can_mount():
    done = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                          check=False)
    return shutil.which("unshare") is not None and done.returncode == 0


needs_mounts = pytest.mark.skipif(not can_mount(), reason="nothing may be mounted here")


@pytest.fixture
def town(python_program, tmp_path):
    """The model, in a folder with files to be staged."""

    def write(what, options, micro=None):
        folder = tmp_path / "model"
        folder.mkdir()
        (folder / "mesh").write_text("the mesh of all")
        (folder / "restart").write_text("0000")
        (folder / "restart").chmod(0o444)
        (folder / "other").mkdir()
        (folder / "other" / "mesh").write_text("the mesh of one")
        (folder / "data" / "deep").mkdir(parents=True)
        (folder / "data" / "table").write_text("a table")
        (folder / "data" / "deep" / "tool").write_text("#!/bin/sh\necho tool\n")
        (folder / "data" / "deep" / "tool").chmod(0o755)
        file = folder / "town.ymmsl"
        body = MICRO.replace("    WHAT", what)
        program = python_program("micro", body)
        if micro is not None:
            program = micro(folder, body)
        file.write_text(MODEL.format(macro=python_program("macro", MACRO), micro=program, options=options))
        return file

    return write


class Hidden(Spread):
    """A run whose agents see neither the model's folder nor the run directory, or whose head has its run
    directory on a disk of its own (`head_disk`, bytes). Agents have scratch directories, on disks of
    `agent_disk` bytes if that is given."""

    def __init__(self, ligament, directory, model, *arguments, domains=1, head_disk=None, agent_disk=None):
        self.directory, self.processes, self.texts, self.threads = directory, [], [], []
        self.scratch = directory.with_name("scratch")
        self.scratch.mkdir()
        directory.mkdir()
        run = [ligament, "run", str(model), "--domains", str(domains), "--listen", "127.0.0.1",
               "--run-dir", str(directory), *arguments]
        if head_disk:
            run = self.with_disk(directory, head_disk, run)
        self.start(run, model.parent)
        seen = Path(f"/proc/{self.processes[0].pid}/root{directory}")
        until(lambda: (seen / "invitation").exists() or self.processes[0].poll() is not None,
              "there is an invitation")
        # A descriptor of the agent's own disk, to read the disk after the agent has ended. The agent waits
        # here, so the disk exists.
        self.inside = os.open(seen, os.O_RDONLY) if head_disk else None
        invitation = directory.with_name("invitation")
        invitation.write_text((seen / "invitation").read_text())
        invitation.chmod(0o600)
        for domain in range(1, domains + 1):
            agent = [ligament, "agent", "--join", str(invitation), "--domain", str(domain), "--listen",
                     "127.0.0.1",
                     "--scratch", str(self.scratch)]
            go = directory.with_name("go")
            if agent_disk:
                # The agent joins only after its disk was opened here.
                agent = ["sh", "-c", f'while [ ! -e {go} ]; do sleep 0.01; done; exec "$@"', "sh", *agent]
                agent = self.with_disk(self.scratch, agent_disk, agent)
            hide = [word for path in (model.parent, directory) for word in (str(path), "1m")]
            self.start(self.mounted(hide, agent), "/")
            if agent_disk:
                disk = Path(f"/proc/{self.agent(domain)}/root{self.scratch}")
                until(lambda: disk.stat().st_dev != self.scratch.stat().st_dev, "the agent has its disk")
                self.inside = os.open(disk, os.O_RDONLY)
                go.touch()

    @staticmethod
    def mounted(disks, command):
        """Returns a command in a mount namespace of its own, with these small disks: path and size."""
        script = ("while [ $1 != -- ]; do mount -t tmpfs -o size=$2 none $1 || exit 9; shift 2; done; shift; "
                  "exec \"$@\"")
        return ["unshare", "--mount", "sh", "-c", script, "sh", *disks, "--", *command]

    def with_disk(self, path, size, command):
        return self.mounted([str(path), str(size)], command)

    def agent(self, which=1):
        """The agent's process: the command has replaced the one that was started."""
        return self.processes[which].pid


@pytest.fixture
def hidden(ligament, tmp_path):
    made = []

    def run(model, *arguments, **more):
        made.append(Hidden(ligament, tmp_path / "run", model, *arguments, **more))
        return made[-1]

    yield run
    for one in made:
        one.end()
        if one.inside is not None:
            os.close(one.inside)


PLACES = ("--on", "0=macro", "--on", "1=micro")
STAGED = """  stage:
    micro: [mesh, data, restart]
    "micro[1]": {mesh: other/mesh, more/table: data/table}
"""
EXPECTED = {
    "0": {"mesh": "the mesh of all", "restart": "0000"},
    "1": {"mesh": "the mesh of one", "more/table": "a table", "restart": "0000"},
}


@pytest.mark.parametrize("how", ["on one machine", "run directory in common", "scratch directory",
                                 pytest.param("nothing in common", marks=needs_mounts)])
def test_an_instance_finds_the_same_files_wherever_it_runs(how, town, ligament, tmp_path, request):
    model = town(FINDER, STAGED)
    if how == "on one machine":
        directory = tmp_path / "run"
        told = subprocess.run([ligament, "run", str(model), "--run-dir", str(directory)], cwd=tmp_path,
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        assert told.returncode == 0, told.stdout + told.stderr
    else:
        if how == "nothing in common":
            spread = request.getfixturevalue("hidden")(model, *PLACES)
        else:
            agent = ("--scratch", str(tmp_path / "scratch")) if how == "scratch directory" else ()
            spread = Spread(ligament, tmp_path / "run", model, *PLACES, domains=1, agent=agent)
            request.addfinalizer(spread.end)
        assert spread.wait() == [0, 0], spread.text() + spread.text(1)
        directory = spread.directory
        assert not list((tmp_path / "scratch").glob("*")), "what was brought back is not kept"
    for slot, own in EXPECTED.items():
        found = json.loads((directory / f"instances/macro/workdir/said-{slot}").read_text())
        executable = found.pop("data/deep/tool")
        assert executable[0].startswith("#!/bin/sh") and int(executable[1], 8) & 0o333 == 0o311, executable
        texts = {name: text for name, (text, mode) in found.items() if int(mode, 8) == 0o200}
        assert texts == {"data/table": "a table", **own}
        # The run directory shows the same files, and those that the instance has left.
        workdir = directory / f"instances/micro[{slot}]/workdir"
        names = sorted(str(path.relative_to(workdir)) for path in workdir.rglob("*") if path.is_file())
        assert names == sorted(["data/table", "data/deep/tool", "data/replaced", *own])
        assert (workdir / "mesh").read_text() == own["mesh"]
        # An instance's change of its own copy is its result, and changes no other input.
        assert (workdir / "restart").read_text() == f"of {slot}"
    assert not list(directory.rglob("*.part-*"))
    assert (directory / "inputs/restart").read_text() == "0000"
    assert (model.parent / "mesh").stat().st_mode & 0o200, "the user's own file is as it was"


@needs_mounts
def test_the_program_itself_can_be_staged(hidden, town):
    def staged(folder, body):
        (folder / "bin").mkdir()
        script = folder / "bin" / "micro"
        script.write_text(f"#!{sys.executable}\nfrom ligament import *\nimport beside\n{body}")
        script.chmod(0o755)
        (folder / "bin" / "beside.py").write_text("what = 'a module beside it'\n")
        return "{executable: bin/micro}"

    model = town("    said = beside.what", "  stage:\n    micro: [bin/micro, bin/beside.py]\n", micro=staged)
    run = hidden(model, *PLACES)
    assert run.wait() == [0, 0], run.text() + run.text(1)
    assert (run.directory / "instances/macro/workdir/said-0").read_text() == "a module beside it"


def test_a_large_input_arrives_as_it_is_for_each_of_several_domains(town, ligament, tmp_path, request):
    model = town("    import hashlib\n    said = hashlib.sha256(open('large', 'rb').read()).hexdigest()",
                 "  stage:\n    micro: large\n")
    large = os.urandom(21 * MIB + 17)
    (model.parent / "large").write_bytes(large)
    run = Spread(ligament, tmp_path / "run", model, "--on", "0=macro", "--on", "1=micro[0]", "--on",
                 "2=micro[1]",
                 agent=("--scratch", str(tmp_path / "scratch")))
    request.addfinalizer(run.end)
    assert run.wait() == [0, 0, 0], run.text()
    for slot in range(2):
        said = (run.directory / f"instances/macro/workdir/said-{slot}").read_text()
        assert said == hashlib.sha256(large).hexdigest()


@needs_mounts
def test_no_room_for_an_input_ends_the_run_before_anything_starts_and_says_where(hidden, town):
    model = town("    said = 'x'", "  stage:\n    micro: large\n")
    (model.parent / "large").write_bytes(bytes(9 * MIB))
    run = hidden(model, *PLACES, agent_disk=4 * MIB)
    assert run.wait() == [1, 1], run.text() + run.text(1)
    record = run.record()
    assert record["state"] == "failed"
    for part in ("there is no room for ", "inputs/large on the disk of ",
                 "9.0 MiB are needed, and 4.0 MiB are free"):
        assert part in record["reason"], record["reason"]
        assert part in run.text(1), run.text(1)
    assert "(ligament explain no-room-for-files)" in run.text(), run.text()
    assert not list((run.directory / "instances/macro/workdir").iterdir()), "nothing had started"


@needs_mounts
def test_a_disk_that_is_full_in_the_midst_of_inputs_ends_the_run_and_leaves_nothing_there(hidden, town):
    model = town("    said = 'x'", "  stage:\n    micro: many\n")
    (model.parent / "many").mkdir()
    for number in range(1500):  # each takes a page
        (model.parent / "many" / f"file-{number}").write_text("x")
    run = hidden(model, *PLACES, agent_disk=4 * MIB)
    assert run.wait() == [1, 1], run.text() + run.text(1)
    assert re.search(r"inputs/many/file-\d+ on the disk of .*: 1 B are needed, and 0 B are free",
                     run.text()), run.text()
    assert not os.listdir(run.inside), "nothing is left in the scratch directory"


@needs_mounts
def test_no_room_in_the_run_directory_for_an_input_says_so(hidden, town):
    model = town("    said = 'x'", "  stage:\n    micro: large\n")
    (model.parent / "large").write_bytes(bytes(9 * MIB))
    run = hidden(model, *PLACES, head_disk=4 * MIB)
    assert run.wait() == [1, 1], run.text() + run.text(1)
    assert "inputs/large on the disk of " in run.text() and "9.0 MiB are needed" in run.text(), run.text()


@needs_mounts
def test_what_has_no_room_in_the_run_directory_stays_where_it_is_and_the_run_says_so(hidden, town):
    left = "    open('large', 'wb').write(b'7' * (9 << 20)) if message.data else None\n" \
           "    open('small', 'w').write('small')\n    said = 'x'"
    run = hidden(town(left, "  timeline: 0\n"), *PLACES, head_disk=6 * MIB)
    assert run.wait() == [1, 1], run.text() + run.text(1)
    place = f"/proc/self/fd/{run.inside}"
    record = json.loads(Path(f"{place}/run.json").read_text())
    [scratch] = run.scratch.iterdir()
    assert scratch.stat().st_mode & 0o777 == 0o700, "nobody else sees what is there"
    kept = scratch / "instances/micro[1]/workdir/large"
    assert record["state"] == "failed"
    for part in ("workdir/large of micro[1]", "on the disk of ", "9.0 MiB are needed", " are free",
                 f"as {kept}"):
        assert part in record["reason"], record["reason"]
    assert kept.read_bytes() == b"7" * (9 * MIB)
    assert "(ligament explain no-room-for-files)" in run.text(), run.text()
    found = sorted(path.name for path in Path(f"{place}/instances/micro[1]/workdir").iterdir())
    assert found == ["small"], "nothing half-written, and what there was room for"


class Live:
    """A run with files that its instances have written. It waits until it is told to go on."""

    def __init__(self, ligament, run, gate, folder):
        self.ligament, self.run, self.gate, self.folder = ligament, run, gate, folder

    def ask(self, *words, status=0):
        told = subprocess.run([self.ligament, *words], cwd=self.folder, capture_output=True, timeout=LIMIT,
                              check=False)
        assert told.returncode == status, told.stdout + told.stderr
        return told.stdout if status == 0 else told.stderr.decode()

    def peek(self, *words, status=0):
        return self.ask("peek", str(self.run.directory), "micro[1]", *words, status=status)


@pytest.fixture(params=["run directory in common", "scratch directory"])
def live(request, ligament, town, tmp_path):
    gate = tmp_path / "gate"
    what = f"""
    print("first line", flush=True)
    open("numbers", "w").write("".join(f"{{i}}\\n" for i in range(100000)))
    open("bytes", "wb").write(bytes(range(256)) * 2000)
    os.mkdir("deep")
    os.symlink("/etc", "deep/etc")
    import time
    while not os.path.exists({str(gate)!r}):
        time.sleep(0.01)
    print("last line", flush=True)
    said = "x"
"""
    agent = ("--scratch", str(tmp_path / "scratch")) if request.param == "scratch directory" else ()
    run = Spread(ligament, tmp_path / "run", town(what, "  timeline: 0\n"), *PLACES, domains=1, agent=agent)
    request.addfinalizer(run.end)
    live = Live(ligament, run, gate, tmp_path)
    peek = [ligament, "peek", str(run.directory), "micro[1]", "deep/etc"]
    until(lambda: b"leads out" in subprocess.run(peek, capture_output=True, timeout=LIMIT, check=False).stderr,
          "the instance has written all")
    return live


def test_files_of_an_instance_that_runs_are_shown_wherever_it_is(live):
    numbers = "".join(f"{i}\n" for i in range(100000)).encode()
    for _ in range(2):  # while it runs, and after
        assert live.peek("numbers") == numbers
        assert live.peek("numbers", "--lines", "3") == b"99997\n99998\n99999\n"
        assert live.peek("numbers", "-n", "60000") == b"".join(b"%d\n" % i for i in range(40000, 100000))
        assert live.peek("numbers", "-n", "0") == b""
        assert live.peek("numbers", "--bytes", "8") == b"8\n99999\n"
        assert live.peek("bytes") == bytes(range(256)) * 2000
        lines = live.peek().decode().splitlines()
        assert [line.split()[-1] for line in lines] == (["bytes", "deep/", "numbers"] if lines[1].endswith("/")
                                                        else ["bytes", "numbers"])
        told = json.loads(live.peek("--json"))
        assert {"name": "bytes", "directory": False, "bytes": 512000}.items() <= told["files"][0].items()
        for path in ("../output.log", "/etc/passwd", "deep/../../../../x"):
            assert "leads out of the instance's directory" in live.peek(path, status=2)
        assert "has no file \"nothing\"" in live.peek("nothing", status=2)
        for nobody in ("nobody", "../instances/micro[1]", ".."):
            assert f"has no instance \"{nobody}\"" in live.ask("peek", str(live.run.directory), nobody,
                                                               status=2)
        assert live.ask("logs", str(live.run.directory), "micro[1]").startswith(b"first line\n")
        if not live.gate.exists():
            assert "leads out" in live.peek("deep/etc/passwd", status=2)
            live.gate.touch()
            assert live.run.wait() == [0, 0], live.run.text()


def test_what_an_instance_prints_is_followed_to_its_end_wherever_it_is(live):
    following = subprocess.Popen([live.ligament, "logs", "-f", str(live.run.directory), "micro[1]"],
                                 stdout=subprocess.PIPE, text=True)
    assert following.stdout.readline() == "first line\n"
    live.gate.touch()
    assert following.stdout.read() == "last line\n"
    assert following.wait(LIMIT) == 0
    assert live.run.wait() == [0, 0], live.run.text()


@pytest.mark.parametrize("live", ["scratch directory"],
                         indirect=True)  # else the files are seen without the agent
def test_who_looks_at_an_agent_that_does_not_answer_is_told(live):
    agent = live.run.processes[1]
    os.kill(agent.pid, signal.SIGSTOP)
    try:
        said = live.peek("numbers", status=2)
    finally:
        os.kill(agent.pid, signal.SIGCONT)
    assert "has not shown it within" in said, said
    live.gate.touch()
    assert live.run.wait() == [0, 0], live.run.text()
