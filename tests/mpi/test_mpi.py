"""Instances that are MPI programs, started by Open MPI and by MPICH, with the same libligament."""

import json
import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
LIMIT = 120  # s; nothing here takes as long

# For each MPI: the keys of the model.
MPIS = {
    "openmpi": ("execution_model: openmpi", "  mpirun: {relay: mpirun.openmpi}"),
    "mpich": ("execution_model: direct", "  mpich: relay\n  mpirun: {relay: mpirun.mpich}"),
}

MACRO = """
import numpy as np
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["start"], Operator.S: ["end"]})
while instance.reuse_instance():
    ranks, steps = instance.get_setting("ranks", "int"), instance.get_setting("steps", "int")
    factor = np.repeat(np.arange(1, ranks + 1), 1200 // ranks)
    for step in range(steps):
        field = np.random.default_rng(step).random(1200)
        instance.send("start", Message(step, None, field))
        end = instance.receive("end")
        assert end.timestamp == step and np.array_equal(end.data, field * factor), step
"""

# Reports that the relay has been steered for a while, and waits until there is a request for a change.
STEERED_MACRO = MACRO.replace("    for step in range(steps):\n", """    for step in range(steps):
        if step == 8:
            place = pathlib.Path(os.environ["LIGAMENT_MODEL_DIR"])
            (place / "is_there").touch()
            while not (place / "goes_on").exists():
                time.sleep(0.01)
""").replace("import numpy", "import os, pathlib, time\nimport numpy", 1)

MODEL = """ymmsl_version: v0.1
model:
  name: relayed
  components:
    macro: {{implementation: macro, ports: {{o_i: start, s: end}}}}
    relay: {{implementation: relay, ports: {{f_init: start, o_f: end}}}}
  conduits: {{macro.start: relay.start, relay.end: macro.end}}
settings: {{ranks: {ranks}, steps: {steps}}}
implementations:
  macro: {{executable: {python}, args: macro.py}}
  relay: {{executable: {program}, args: [{mode}], {how}}}
resources:
  macro: {{threads: 1}}
  relay: {{mpi_processes: {ranks}{threads}}}
ligament:
{ligament}
  overcommit: true
"""


def compiled(folder, mpi, *more, source="relay.c"):
    built = ROOT / "target/release"
    compiler, standard = ("mpicc", "c11") if source.endswith(".c") else ("mpicxx", "c++17")
    # Header files of MPI for C++ have warnings of their own.
    words = [f"{compiler}.{mpi}", f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Werror",
             "-Wno-cast-function-type", *more,
             HERE / source, "-o", folder / "relay", f"-I{ROOT}/crates/capi/include",
             f"-I{ROOT}/bindings/cpp/include",
             f"-L{built}", "-lligament", f"-Wl,-rpath,{built}"]
    subprocess.run(words, check=True)
    return folder / "relay"


@pytest.fixture(scope="session", params=MPIS)
def mpi(request, tmp_path_factory):
    return request.param, compiled(tmp_path_factory.mktemp(request.param), request.param), *MPIS[request.param]


STEERED_MODEL = MODEL.replace("settings: {{", "settings: {{relay.factor: 1.0, ").replace(
    "  overcommit", "  steerable: {{relay.factor: {{min: 0.0}}}}\n  overcommit")


class Run:
    """A run that has been started."""

    def __init__(self, ligament, folder, mpi, ranks, mode="well", threads="", program=None, steps=20, env=None,
                 model=MODEL, macro=MACRO):
        name, built, usual, of_ligament = mpi
        (folder / "macro.py").write_text(macro)
        text, model = model, folder / "model.ymmsl"
        model.write_text(text.format(ranks=ranks, python=sys.executable, program=program or built, mode=mode,
                                      steps=steps, how=usual, ligament=of_ligament, threads=threads))
        self.folder = folder / "run"
        # Open MPI refuses root unless it is told twice; CI is root.
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.process = subprocess.Popen([ligament, "run", "--run-dir", self.folder, model],
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        env={**os.environ, **root, **(env or {})})

    def end(self):
        said, _ = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, said

    def output(self):
        return (self.folder / "instances/relay/output.log").read_text()

    def record(self):
        return json.loads((self.folder / "run.json").read_text())


def steer(ligament, folder, mpi, ranks, **more):
    """Steers a run in the middle, and returns the output of its ranks about that."""
    run = Run(ligament, folder, mpi, ranks, model=STEERED_MODEL, macro=STEERED_MACRO, **more)
    until = time.monotonic() + LIMIT
    while not (folder / "is_there").exists():
        assert time.monotonic() < until and run.process.poll() is None, run.end()
        time.sleep(0.01)
    told = subprocess.run([ligament, "steer", folder / "run", "relay.factor=2.5", "--at", "11.5"],
                          capture_output=True,
                          text=True, timeout=LIMIT)
    (folder / "goes_on").touch()
    status, said = run.end()
    assert told.returncode == status == 0, told.stdout + told.stderr + said + run.output()
    return sorted(line for line in run.output().splitlines() if "steered" in line)


def test_all_ranks_are_steered_at_the_same_time(ligament, tmp_path, mpi):
    told = steer(ligament, tmp_path, mpi, 4)
    assert told == [f"rank {rank} is steered at 12 to 2.5" for rank in range(4)]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_all_ranks_take_part_with_either_mpi(ligament, tmp_path, mpi, ranks):
    run = Run(ligament, tmp_path, mpi, ranks)
    status, said = run.end()
    assert status == 0, said
    lines = sorted(line for line in run.output().splitlines() if line.startswith("rank"))
    assert lines == [f"rank {rank} of {ranks}: 20 passes, 1 threads" for rank in range(ranks)]


def test_ranks_that_see_no_memory_of_rank_0_take_part_too(ligament, tmp_path, mpi):
    """This imitates other nodes: the ranks 1 and 3 cannot see rank 0's descriptors."""
    wrapper, root = tmp_path / "wrapper", tmp_path / "root"
    wrapper.write_text(f"""#!/bin/sh
case "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" in
    0) echo $$ > {root}.new && mv {root}.new {root} && exec {mpi[1]} "$@" ;;
    2) exec {mpi[1]} "$@" ;;
    *) while [ ! -e {root} ]; do sleep 0.01; done
       exec unshare --mount sh -c 'mount -t tmpfs none /proc/$(cat {root})/fd && exec "$@"' sh {mpi[1]} "$@" ;;
esac
""")
    wrapper.chmod(0o755)
    # MPICH's own memory would be found in the same place.
    apart = {"UCX_POSIX_USE_PROC_LINK": "n"}
    run = Run(ligament, tmp_path, mpi, 4, mode="afar", program=wrapper, env=apart)
    status, said = run.end()
    assert status == 0, said + run.output()
    lines = sorted(line for line in run.output().splitlines() if re.match(r"rank|\d:", line))
    assert lines == ["0: sees it", "1: is afar", "2: sees it", "3: is afar",
                     *(f"rank {rank} of 4: 20 passes, 1 threads" for rank in range(4))]


@pytest.mark.parametrize("source", ["relay.c", "relay.cpp", "relay.f90"])
def test_ranks_have_the_threads_that_the_model_asks_for(ligament, tmp_path, mpi, source):
    compile = compiled_fortran if source.endswith("f90") else partial(compiled, source=source)
    program = compile(tmp_path, mpi[0], "-fopenmp")
    run = Run(ligament, tmp_path, mpi, 2, threads=", threads_per_mpi_process: 3", program=program)
    status, said = run.end()
    assert status == 0, said
    assert run.output().count("20 passes, 3 threads") == 2


def test_all_ranks_get_the_same_status_and_text(ligament, tmp_path, mpi):
    run = Run(ligament, tmp_path, mpi, 4, mode="unlike")
    run.end()
    texts = re.findall(r"rank (\d) got (.*)", run.output())
    assert {rank for rank, _ in texts} == {"0", "1", "2", "3"}
    assert len({text for _, text in texts}) == 1, texts
    assert "1200" in texts[0][1] and "7" in texts[0][1]


def test_another_rank_that_makes_an_instance_is_told_who_speaks(ligament, tmp_path, mpi):
    run = Run(ligament, tmp_path, mpi, 2, mode="alone")
    status, _ = run.end()
    assert status == 1
    assert "this is rank 1 of the 2 of relay, and rank 0 speaks for all of them" in run.output()


def test_an_mpirun_of_another_mpi_is_refused_before_anything_starts(ligament, tmp_path, mpi):
    other = {"openmpi": "mpirun.mpich", "mpich": "mpirun.openmpi"}[mpi[0]]
    mixed = (*mpi[:3], mpi[3].replace(f"mpirun.{mpi[0]}", other))
    status, said = Run(ligament, tmp_path, mixed, 2).end()
    assert status != 0 and other in said and ("Open MPI's" in said or "MPICH's" in said), said


def test_a_launcher_that_is_not_there_is_named(ligament, tmp_path, mpi):
    missing = (*mpi[:3], mpi[3].replace(f"mpirun.{mpi[0]}", "mpirun.nowhere"))
    status, said = Run(ligament, tmp_path, missing, 2).end()
    assert status != 0 and '"mpirun.nowhere"' in said and "is not there" in said, said


def compiled_fortran(folder, mpi, *more):
    """The same in Fortran: the user's compilers compile the binding's sources."""
    built, source = ROOT / "target/release", ROOT / "bindings/fortran/src"
    flags = ["-O1", "-Wall", f"-I{ROOT}/crates/capi/include"]
    for compiler, file in [("gfortran", source / "ligament.f90"), ("gcc", source / "ligament_descriptors.c"),
                           ("mpicc", source / "ligament_mpi_ranks.c"), ("mpif90", source / "ligament_mpi.f90")]:
        name = compiler if compiler in ("gcc", "gfortran") else f"{compiler}.{mpi}"
        subprocess.run([name, *flags, "-c", file], cwd=folder, check=True)
    # gfortran 10 and newer need an option that tells that MPI's procedures take any type.
    subprocess.run([f"mpif90.{mpi}", "-O1", *more, "-fallow-argument-mismatch", HERE / "relay.f90",
                    "ligament.o",
                    "ligament_descriptors.o", "ligament_mpi.o", "ligament_mpi_ranks.o", "-o", "relay",
                    f"-L{built}",
                    "-lligament", f"-Wl,-rpath,{built}"], cwd=folder, check=True)
    return folder / "relay"


@pytest.mark.parametrize("language", ["cpp", "fortran", "python"])
def test_other_languages_do_as_c_does(ligament, tmp_path, mpi, language):
    if language == "cpp":
        program, arguments = compiled(tmp_path, mpi[0], source="relay.cpp"), ""
    elif language == "fortran":
        program, arguments = compiled_fortran(tmp_path, mpi[0]), ""
    else:
        program, arguments = sys.executable, f"{HERE / 'relay.py'}, "
    # The wheel of mpi4py uses the MPI whose library it finds under MPICH's own name.
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libmpi.so.12").symlink_to("/usr/lib/x86_64-linux-gnu/libmpich.so.12")
    env = {"MPI4PY_MPIABI": mpi[0], "LD_LIBRARY_PATH": tmp_path / "lib"} if mpi[0] == "mpich" else {
        "MPI4PY_MPIABI": "openmpi"}
    for mode, wanted in [("well", 0), ("unlike", 1), ("steered", 0)]:
        folder = tmp_path / mode
        folder.mkdir()
        if mode == "steered":
            told = steer(ligament, folder, mpi, 3, mode=f"{arguments}{mode}", program=program, env=env)
            assert [line.replace("12.0", "12") for line in told] == [f"rank {rank} is steered at 12 to 2.5"
                                                                     for rank in range(3)]
            continue
        run = Run(ligament, folder, mpi, 3, mode=f"{arguments}{mode}", program=program, env=env)
        status, said = run.end()
        assert status == wanted, said
        if mode == "well":
            lines = sorted(line for line in run.output().splitlines() if line.startswith("rank"))
            assert lines == [f"rank {rank} of 3: 20 passes, 1 threads" for rank in range(3)]
        else:
            texts = re.findall(r"rank \d got (.*)", run.output())
            assert len(texts) >= 3 and len(set(texts)) == 1, texts
