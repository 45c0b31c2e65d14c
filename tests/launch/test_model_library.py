"""A library of models as sites have them: files that import each other, and programs that are named by
variables of modules. `module` is a function of login shells here, with a `modulecmd` of the test's own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sshd import call, until

MODULECMD = """#!/bin/sh
# As Environment Modules' own: prints what the shell is to do.
[ "$2" = load ] || exit 0
if [ ! -f "$MODULES/$3" ]; then
    echo "echo 'ERROR: Unable to locate a modulefile for $3' >&2; false"
else
    cat "$MODULES/$3"
fi
"""

PROGRAMS = """ymmsl_version: v0.2
programs:
  heat:
    description: a code in a virtual environment
    modules: python-site heat/2.1
    virtual_env: $PYTHON_SITE/venv
    executable: python
    env: {+HEAT_PATH: ":own", OWN: "a $b"}
    args: [-u, "${HEAT_ROOT}/heat.py", --input, $TABLE.csv, "$$HEAT_ROOT"]
  wall:
    description: a code that is started by mpirun
    modules: [wall]
    execution_model: openmpi
    executable: $WALL_ROOT/bin/wall
    args: $WALL_ROOT/share --of $HEAT_ROOT
  table:
    description: a code without modules, in the user's own directory
    executable: ${OWN_CODES}/table
"""

ROOM = """ymmsl_version: v0.2
imports:
- from codes.programs import implementation heat
- from codes.programs import implementation wall
models:
  room:
    description: a nested model
    ports: {f_init: begin, o_f: end}
    components:
      heat: {description: x, ports: {f_init: begin, o_f: end}, implementation: heat}
      wall: {description: x, ports: {f_init: begin, o_f: end}, implementation: wall}
    conduits:
      begin: heat.begin
      heat.end: wall.begin
      wall.end: end
"""

HOUSE_MODEL = """ymmsl_version: v0.2
imports:
- from rooms.room import implementation room
- from codes.programs import implementation table
models:
  house:
    description: two levels of imports
    components:
      table: {description: x, ports: {o_i: out, s: back}, implementation: table}
      room: {description: x, ports: {f_init: begin, o_f: end}, implementation: room}
    conduits:
      table.out: room.begin
      room.end: table.back
resources:
  room.heat: {threads: 1}
  room.wall: {mpi_processes: 2}
  table: {threads: 1}
"""

# Each program passes on the arguments with which it was started.
CODE = """
import json, os, sys, time
told = {name: os.environ.get(name) for name in ("VIRTUAL_ENV", "HEAT_PATH", "OWN")}
open(f"started-{os.environ.get('OMPI_COMM_WORLD_RANK', '0')}", "w").write(json.dumps([sys.argv, told]))
if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":
    from ligament import Instance, Message, Operator
    instance = Instance({Operator.F_INIT: ["begin"], Operator.O_F: ["end"]})
    while instance.reuse_instance():
        instance.send("end", Message(0.0, data=instance.receive("begin").data + 1))
    open("over", "w").close()
while not os.path.exists("over"):    # a rank that ends before the instance is over ends the run
    time.sleep(0.01)
"""

TABLE = """
from ligament import Instance, Message, Operator
instance = Instance({Operator.O_I: ["out"], Operator.S: ["back"]})
while instance.reuse_instance():
    instance.send("out", Message(0.0, data=1))
    open("end", "w").write(str(instance.receive("back").data))
"""


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Library:
    """The library, and the programs and modules that belong to it; `environment` is that of a user who has
    logged in."""

    def __init__(self, path):
        self.path, self.house = path, path / "models/house.ymmsl"
        home, site = path / "home", path / "site"
        for name, text in [("house", HOUSE_MODEL), ("rooms/room", ROOM), ("codes/programs", PROGRAMS)]:
            file = path / f"models/{name}.ymmsl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (path / "models/codes/table.csv").write_text("1,2\n")
        program(site / "modulecmd", MODULECMD)
        program(site / "venv/bin/python", f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
        program(site / "heat/heat.py", CODE)
        program(site / "wall/bin/wall", f"#!{sys.executable}\n{CODE}")
        program(home / "codes/table", f"#!{sys.executable}\n{TABLE}")
        modules = site / "modules"
        (modules / "heat").mkdir(parents=True)
        (modules / "python-site").write_text(f"export PYTHON_SITE={site}\n")
        (modules / "heat/2.1").write_text(f"export HEAT_ROOT={site}/heat HEAT_PATH=module TABLE=table\n")
        (modules / "wall").write_text(f"export WALL_ROOT={site}/wall\n")
        (home / ".bash_profile").write_text('module() { eval "$("$MODULECMD" bash "$@")"; }\n')
        self.environment = {
            "HOME": str(home), "MODULES": str(modules), "MODULECMD": str(site / "modulecmd"),
            "OWN_CODES": str(home / "codes"), "HEAT_ROOT": "/of/another/day",
            "YMMSL_PATH": str(path / "models"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }

    def call(self, *words, check=None):
        return call(*words, cwd=self.house.parent, env=self.environment, check=check)


@pytest.fixture
def library(tmp_path):
    return Library(tmp_path)


def started(run, instance, rank=0):
    return json.loads((run / f"instances/{instance}/workdir/started-{rank}").read_text())


needs_mpi = pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed")


@needs_mpi
@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_modules_set_is_filled_in_where_each_program_starts(library, ligament, tmp_path, elsewhere):
    run, site = tmp_path / "run", tmp_path / "site"
    words = [ligament, "run", library.house, "--run-dir", run, "--overcommit"]
    if elsewhere:
        agent = [ligament, "agent", "--join", run / "invitation", "--domain", "1", "--listen", "127.0.0.1",
                 "--scratch", tmp_path / "scratch"]
        whole = [*words, "--domains", "1", "--listen", "127.0.0.1", "--on", "0=table", "--on", "1=room.heat",
                 "--on", "1=room.wall"]
        head = subprocess.Popen([str(word) for word in whole], env={**os.environ, **library.environment},
                                cwd=library.house.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        try:
            until(lambda: (run / "invitation").exists() or head.poll() is not None, "the invitation")
            joined = library.call(*agent)
            text = head.communicate(timeout=120)[0]
            assert (head.returncode, joined.returncode) == (0, 0), text + joined.stderr
        finally:
            head.kill()
            head.wait()
    else:
        library.call(*words, check=0)
    assert (run / "instances/table/workdir/end").read_text() == "3"
    arguments, told = started(run, "room.heat")
    assert arguments == [f"{site}/heat/heat.py", "--input", str(tmp_path / "models/codes/table.csv"),
                         "$HEAT_ROOT"]
    # The value that a module gives a variable comes before the text that the program appends.
    assert told == {"VIRTUAL_ENV": f"{site}/venv", "HEAT_PATH": "module:own", "OWN": "a $b"}
    for rank in range(2):
        arguments, _ = started(run, "room.wall", rank)
        assert arguments == [f"{site}/wall/bin/wall", f"{site}/wall/share", "--of", "/of/another/day"]


def test_check_says_what_only_the_start_will_tell_and_promises_nothing(library, ligament):
    checked = library.call(ligament, "check", library.house, check=0)
    assert checked.stderr == ""
    verdict, *notes = checked.stdout.splitlines()
    assert verdict.endswith("it can be run, as far as can be known before it starts"), verdict
    heat, wall = (next(note for note in notes if f'of "codes.programs.{name}"' in note) for name in ("heat",
                                                                                                     "wall"))
    for what in ('the virtual environment "$PYTHON_SITE/venv"', 'the script "${HEAT_ROOT}/heat.py"',
                 "are looked for when it starts, after its modules (python-site, heat/2.1)"):
        assert what in heat, heat
    assert 'the executable "$WALL_ROOT/bin/wall"' in wall and "is looked for when it starts" in wall, wall
    told = json.loads(library.call(ligament, "check", "--json", library.house, check=0).stdout)
    assert (told["ok"], told["warnings"]) == (True,
                                              0) and any("heat.py" in note for note in told["notes"]), told
    # No module sets this variable, but it is known.
    del library.environment["OWN_CODES"]
    refused = library.call(ligament, "check", library.house, check=2)
    assert ('the executable "${OWN_CODES}/table" of "codes.programs.table" has a variable, OWN_CODES, that is '
            'not set') in refused.stderr


@needs_mpi
@pytest.mark.parametrize("lacks, said", [
    ("modules/wall", "Unable to locate a modulefile for wall"),
    ("wall/bin/wall", "site/wall/bin/wall: it is not there"),
    ("venv/bin/python", "site/venv: it has no bin/python"),
    ("modulecmd", None),
])
def test_what_a_site_lacks_is_named_in_the_reason(library, ligament, tmp_path, lacks, said):
    if lacks == "modulecmd":
        Path(library.environment["HOME"], ".bash_profile").unlink()
        said = "no Environment Modules or Lmod, or only interactive shells have them"
    else:
        (tmp_path / "site" / lacks).unlink()
    failed = library.call(ligament, "run", library.house, "--run-dir", tmp_path / "run", "--overcommit",
                          check=1)
    reason = json.loads((tmp_path / "run/run.json").read_text())["reason"]
    assert said in reason and "load its module" not in reason, failed.stderr
