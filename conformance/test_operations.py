"""The page of operations agrees with the table, and each name in the table exists in the binding of its
language."""

import json
import re
import subprocess
import sys

import pytest

import ligament
import operations
import programs
from programs import ROOT, TARGET

# Groups whose names are not operations of the instance in a binding.
OTHER_GROUPS = ("mpi", "paths", "grids", "modules", "checkpoints", "commands")
ROWS = [row for group in operations.groups() if not any(kind in group for kind in OTHER_GROUPS)
        for row in group["operation"]]
MPI_ROWS, PATH_ROWS, GRID_ROWS, MODULE_ROWS, CHECKPOINT_ROWS, COMMANDS = (
    [row for group in operations.groups() if kind in group for row in group["operation"]]
    for kind in OTHER_GROUPS)
# For each language: the file with its MPI operations, and the program in tests/mpi that calls them.
MPI = {"c": ("crates/capi/include/ligament_mpi.h", "relay.c"),
       "cpp": ("bindings/cpp/include/ligament/mpi.hpp", "relay.cpp"),
       "fortran": ("bindings/fortran/src/ligament_mpi.f90", "relay.f90"),
       "python": ("bindings/python/python/ligament/mpi.py", "relay.py")}

# For each language: the file with its operations on paths, and the program that calls them.
PATHS = {"c": ("crates/capi/include/ligament.h", "bindings/c/tests/path.c"),
         "cpp": ("bindings/cpp/include/ligament/path.hpp", "bindings/cpp/tests/path.cpp"),
         "python": ("bindings/python/python/ligament/path.py", "bindings/python/tests/test_paths.py"),
         "rust": ("crates/link/src/*.rs", "crates/link/tests/paths.rs")}

# For each language: the file with its operations on grids, and the programs that call them.
GRIDS = {"c": ("crates/capi/include/ligament.h", "tests/grid/*.c"),
         "cpp": ("bindings/cpp/include/ligament/grid.hpp", "tests/grid/*.cpp"),
         "fortran": ("bindings/fortran/src/parts/grids.f90", "tests/grid/*.f90"),
         "python": ("bindings/python/python/ligament/_[gl]*.py*", "tests/grid/*.py"),
         "rust": ("crates/grid/src/*.rs", "crates/grid/examples/*.rs")}

# For each language: the file with its operations on a block, and the modules that call them.
MODULES = {"c": ("crates/capi/include/ligament*.h", "tests/modules/*.c"),
           "cpp": ("crates/capi/include/ligament*.h", "tests/modules/*.c"),
           "fortran": ("bindings/fortran/src/ligament_modules.f90", "tests/modules/*.f90"),
           "python": ("bindings/python/python/ligament/grid.py", "tests/modules/*.py")}


# For each language: the file with its operations on checkpoints, and the programs that call them.
CHECKPOINTS = {"c": ("crates/capi/include/ligament.h", "tests/checkpoints/*.c"),
               "cpp": ("bindings/cpp/include/ligament/instance.hpp", "tests/checkpoints/*.cpp"),
               "fortran": ("bindings/fortran/src/parts/instances.f90", "tests/checkpoints/*.f90"),
               "java": ("bindings/java/src/main/java/org/ligament/Checkpoints.java",
                        "tests/checkpoints/*.java"),
               "python": ("bindings/python/python/ligament/_ligament.pyi", "tests/checkpoints/*.py")}


def texts(*patterns):
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


def c():
    symbols = subprocess.run(["nm", "-D", "--defined-only", TARGET / "libligament.so"], check=True,
                             capture_output=True, text=True).stdout
    return set(re.findall(r" T (lig_\w+)", symbols))


def cpp():
    return set(re.findall(r"(\w+)\(", texts("bindings/cpp/include/ligament/*.hpp")))


def fortran():
    source = re.sub(r"&\s*\n\s*", "", texts("bindings/fortran/src/parts/*.f90"))
    found = set(re.findall(r"(?:procedure|generic)[^:\n!]*::\s*(\w+)", source))
    return found | set(re.findall(r"^\s*(?:recursive )?subroutine (?:ligament_)?(\w+)", source, re.M))


def java():
    return set(re.findall(r"public [^=;{]*?(\w+)\(", texts("bindings/java/src/main/java/org/ligament/*.java")))


def python():
    found = set(dir(ligament)) | set(dir(ligament.Instance)) | set(dir(ligament.Message))
    return found


def rust():
    source = texts("crates/instance/src/**/*.rs")
    return set(re.findall(r"pub fn (\w+)", source)) | set(re.findall(r"^    pub (\w+):", source,
                                                                     re.M)) | {"Instance::new"}


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_every_name_is_in_the_binding(language):
    there = globals()[language]()
    assert [row["what"] for row in ROWS if row[language] != "-" and row[language] not in there] == []


def is_called(name, source):
    """Returns true if a source uses this name: as a call of a function or method, as a member, or as the
    constructor of an object."""
    if name == "create":
        name = "ligament_instance"  # the name that programs in Fortran use for it
    calls = rf"[.%]{name}\b|\b(?:ligament_)?{name}(?:<[^<>]*>)?\s*[({{]|\b{name} \w+[;(]"
    return re.search(calls, source) is not None


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_every_operation_is_called_by_the_language_s_drivers(language):
    source = programs.sources(language)
    assert [row["what"] for row in ROWS if row[language] != "-" and not is_called(row[language], source)] == []
    assert not is_called("frobnicate", source)


@pytest.mark.parametrize("language", MPI)
def test_every_collective_operation_is_there_and_called(language):
    part, program = (texts(path) for path in (MPI[language][0], f"tests/mpi/{MPI[language][1]}"))
    for row in MPI_ROWS:
        name = row[language]
        assert re.search(rf"\b{name}\b", part), f"{name} is not in {MPI[language][0]}"
        own = "ligament_mpi_instance" if name == "create" else name
        assert re.search(rf"\b{own}\b", program), f"{MPI[language][1]} does not call {name}"


@pytest.mark.parametrize(("rows", "files"), [
    *[pytest.param(PATH_ROWS, (language, *PATHS[language]), id=f"path-{language}") for language in PATHS],
    *[pytest.param(GRID_ROWS, (language, *GRIDS[language]), id=f"grid-{language}") for language in GRIDS],
    *[pytest.param(MODULE_ROWS, (language, *MODULES[language]), id=f"modules-{language}")
      for language in MODULES],
    *[pytest.param(CHECKPOINT_ROWS, (language, *CHECKPOINTS[language]), id=f"checkpoints-{language}")
      for language in CHECKPOINTS],
])
def test_every_operation_of_a_part_of_its_own_is_there_and_called(rows, files):
    language, *files = files
    part, program = map(texts, files)
    for row in rows:
        name = row[language].rpartition("::")[2]
        if name == "-":
            continue
        # `Key` is the type `RunKeys` of another crate, under a new name.
        there = r"RunKeys as Key\b" if row[language] == "Key::make" else rf"\b{name}\("
        there = rf"{there}|def {name}\b|@property\s+def {name}\b|(?:procedure|interface|generic)\b.* {name}\b"
        assert re.search(there, part), f"{name} is not in {files[0]}"
        assert re.search(rf"\b{name}\b", program), f"{files[1]} does not call {name}"
    assert not re.search(r"\bfrobnicate\b", program)


@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row["command"])
def test_every_command_is_there(row):
    command = [TARGET / "ligament", *row["command"].split()[1:], "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and f"Usage: {row['command']}" in done.stdout, done.stdout + done.stderr


MODEL = """ymmsl_version: v0.1
model:
  name: operations
  components:
    giver: {{implementation: giver, ports: {{o_i: [deal, plain], s: [back, nothing]}}}}
    taker: {{implementation: taker, ports: {{s: deal, o_i: back}}}}
    lone: {{implementation: lone}}
  conduits:
    giver.deal: taker.deal
    taker.back: giver.back
settings:
  ratio: 0.25
  count: 3
implementations:
{implementations}"""

OUTPUT = """name giver
index 0
rank 0 of 1
run 1
ports 2 2
connected 1 0
vector 1 0
resizable 1 0
length 2
setting 1
settings 2
steered 0 1 2
first 0 1
more 1
came 5 1
overlay 0
into 3
nothing 0
any 0 7
under 3 9
more 0
"""


def steered(directory):
    """Writes the files of a run in which a setting changed at a model time of 1 s."""
    change = {"change": 1, "who": "somebody", "asked": "", "what": "set", "model_time": 1.0, "state": "agreed",
              "settings": [{"name": "giver.ratio", "to": "0.5"}]}
    record = {"version": 1, "ligament": "", "run": "earlier", "model": "operations", "model_files": [],
              "state": "done",
              "reason": None, "pid": 1, "agent": None, "host": "", "started": "", "ended": "", "duration": 1.0,
              "instances": [], "steering": [change]}
    directory.mkdir()
    (directory / "run.json").write_text(json.dumps(record))


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_every_operation_does_in_every_language_what_it_does_in_the_others(driver, language, tmp_path):
    command = driver(language, "operations")
    lines = [f"  {role}: {{executable: {json.dumps(command[0])}, args: {json.dumps([*command[1:], role])}}}\n"
             for role in ("giver", "taker", "lone")]
    (tmp_path / "model.ymmsl").write_text(MODEL.format(implementations="".join(lines)))
    steered(tmp_path / "earlier")
    run = subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet", "--steered",
                          "earlier"],
                         cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "run/instances/giver/output.log").read_text() == OUTPUT
    assert "said by the giver" in (tmp_path / "run/manager.log").read_text()


PARTS = """ymmsl_version: v0.1
model:
  name: parts
  components:
    rows: {{implementation: rows, ports: {{o_i: rows}}}}
    part: {{implementation: part, ports: {{s: part}}}}
  conduits: {{rows.rows: part.part}}
implementations:
{implementations}ligament:
  ranks: {{rows: 2, part: 3}}
  exchange: {{rows.rows -> part.part: {{array: [4, 6]}}}}
"""


def weighed(step):
    """Returns the expected output of the receiving ranks for a message: the sum of the elements of each rank,
    each multiplied by its position."""
    whole = [10 * row + column + 100 * step for row in range(4) for column in range(6)]
    parts = (whole[3:9], [whole[23], whole[0], whole[7]],
             [whole[6 * row + column] for row in range(1, 4) for column in range(2, 6)])
    return [sum(place * element for place, element in enumerate(part, 1)) for part in parts]


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_a_part_of_an_array_goes_from_every_language_to_the_next(driver, language, tmp_path):
    names = list(operations.LANGUAGES)
    after = names[(names.index(language) + 1) % len(names)]
    lines = []
    for role, of in (("rows", language), ("part", after)):
        command = driver(of, "operations")
        arguments = json.dumps([*command[1:], role])
        lines.append(f"  {role}: {{executable: {json.dumps(command[0])}, args: {arguments}}}\n")
    (tmp_path / "model.ymmsl").write_text(PARTS.format(implementations="".join(lines)))
    run = subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet",
                          "--overcommit"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stdout
    printed = [(tmp_path / f"run/instances/part/output.{rank}.log").read_text() for rank in range(3)]
    expected = zip(*(weighed(step) for step in range(3)))
    assert printed == ["array 4 6\n" + "".join(f"part {sum}\n" for sum in sums) for sums in expected]


EVENTS = """ymmsl_version: v0.1
model:
  name: events
  components:
    pulse: {{implementation: pulse, ports: {{o_i: spikes}}}}
    count: {{implementation: count, ports: {{s: input}}}}
  conduits: {{pulse.spikes: count.input}}
implementations:
{implementations}ligament:
  ranks: {{pulse: 2}}
  ticks: {{pulse: 1 ms, count: 1 ms}}
  exchange: {{pulse.spikes -> count.input: {{events: 100, latency: 1 ms}}}}
"""


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_events_go_by_the_clock_from_every_language_to_the_next(driver, language, tmp_path):
    names = list(operations.LANGUAGES)
    after = names[(names.index(language) + 1) % len(names)]
    lines = []
    for role, of in (("pulse", language), ("count", after)):
        command = driver(of, "operations")
        arguments = json.dumps([*command[1:], role])
        lines.append(f"  {role}: {{executable: {json.dumps(command[0])}, args: {arguments}}}\n")
    (tmp_path / "model.ymmsl").write_text(EVENTS.format(implementations="".join(lines)))
    run = subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet",
                          "--overcommit"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stdout
    printed = (tmp_path / "run/instances/count/output.log").read_text()
    # Two ranks send three events in each tick. In tick k the ids begin at 10 k. Their times are the tick, and
    # 250 and 500 µs after it.
    expected = [f"tick {1000 * (k + 1)} ids {60 * k + 15} times {6000 * k + 1500}\n" for k in range(3)]
    assert printed == "".join(expected)


MAPPED = """ymmsl_version: v0.1
model:
  name: mapped
  components:
    giver: {{implementation: giver, ports: {{o_i: [a, b]}}}}
    mapper: {{implementation: mapper, ports: {{f_init: [a, b], o_f: [sum, each, spare]}}}}
    taker: {{implementation: taker, ports: {{f_init: [sum, each]}}}}
  conduits: {{giver.a: mapper.a, giver.b: mapper.b, mapper.sum: taker.sum, mapper.each: taker.each}}
settings: {{factor: 1.0, lazy: {lazy}}}
implementations:
  mapper: {{executable: {executable}, args: {arguments}}}
  giver: {{executable: {python}, args: [ends.py, giver]}}
  taker: {{executable: {python}, args: [ends.py, taker]}}
"""

ENDS = """
import sys
from ligament import Instance, InstanceFlags, Message, Operator, Settings

if sys.argv[1] == "giver":
    instance = Instance({Operator.O_I: ["a", "b[]"]})
    assert instance.reuse_instance()
    instance.send("a", Message(1.0, 5.0, 10.0))
    instance.set_port_length("b", 2)
    instance.send("b", Message(2.0, 4.0, 1.0), 0)
    instance.send("b", Message(3.0, None, 2.0), 1)
    under = Settings({"factor": 3.0})
    instance.send("a", Message(6.0, 6.5, 1.0, under))
    instance.set_port_length("b", 3)
    for slot in range(3):
        instance.send("b", Message(7.0, None, slot + 1.0, under), slot)
    instance.finish()
else:
    instance = Instance({Operator.F_INIT: ["sum", "each[]"]}, InstanceFlags.DONT_APPLY_OVERLAY)
    while instance.reuse_instance():
        came = [instance.receive("sum")]
        came += [instance.receive("each", slot) for slot in range(instance.get_port_length("each"))]
        assert len({(one.timestamp, one.next_timestamp, str(one.settings)) for one in came}) == 1
        first = came[0]
        factor = first.settings["factor"] if first.settings else None
        rest = [one.data.tolist() for one in came[1:]]
        print(first.timestamp, first.next_timestamp, factor, first.data, *rest)
"""

# Each line has the latest timestamp and the earliest next timestamp of the inputs. In the second pass, the
# vector port has another length, a setting has another value, and a next timestamp has already passed.
SUMS = """3.0 4.0 None 13.0 [10.0, 1.0] [20.0, 2.0]
7.0 None 3.0 21.0 [1.0, 1.0] [2.0, 2.0] [3.0, 3.0]
"""

WITH_MAPPERS = [language for language in operations.LANGUAGES
                if next(row for row in ROWS if row["what"] == "runs a mapper")[language] != "-"]


def mapped(command, folder, lazy):
    model = MAPPED.format(lazy=lazy, executable=json.dumps(command[0]),
                          arguments=json.dumps([*command[1:], "mapper"]),
                          python=json.dumps(sys.executable))
    (folder / "model.ymmsl").write_text(model)
    (folder / "ends.py").write_text(ENDS)
    return subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet"],
                          cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)


@pytest.mark.parametrize("language", WITH_MAPPERS)
def test_a_mapper_sees_to_times_settings_slots_and_passes(driver, language, tmp_path):
    run = mapped(driver(language, "operations"), tmp_path, "false")
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "run/instances/taker/output.log").read_text() == SUMS


@pytest.mark.parametrize("language", WITH_MAPPERS)
def test_a_mapper_that_leaves_a_port_out_ends_the_run(driver, language, tmp_path):
    run = mapped(driver(language, "operations"), tmp_path, "true")
    assert run.returncode == 1 and 'the mapper made no message for port "' in run.stdout, run.stdout
    assert "(ligament explain mapper-incomplete)" in run.stdout, run.stdout


@pytest.mark.parametrize("language", operations.LANGUAGES)
def test_an_operation_that_a_language_lacks_has_a_note(language):
    assert [row["what"] for row in ROWS if row[language] == "-" and "note" not in row] == []
    assert any("note" in row for row in MPI_ROWS) and any("note" in row for row in PATH_ROWS)


def test_the_page_is_what_the_table_says():
    assert operations.PAGE.read_text() == operations.page(), "say conformance/operations.py --write"
