"""Codes with OpenMP threads, without MPI: as many as the model asks for. The main thread calls the instance,
outside of the parallel region or within it. test_mpi.py has codes that have MPI as well."""

import subprocess
import sys
from pathlib import Path

import pytest
from test_mpi import MACRO

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent

MODEL = """ymmsl_version: v0.1
model:
  name: threaded
  components:
    macro: {{implementation: macro, ports: {{o_i: start, s: end}}}}
    team: {{implementation: team, ports: {{f_init: start, o_f: end}}}}
  conduits: {{macro.start: team.start, team.end: macro.end}}
settings: {{ranks: {threads}, steps: 20}}
implementations:
  macro: {{executable: {python}, args: macro.py}}
  team: {{executable: {program}, args: [{mode}], env: {{{env}}}}}
resources:
  macro: {{threads: 1}}
  team: {{threads: {asked}}}
"""


@pytest.fixture(scope="module", params=["c", "cpp", "f90"])
def team(request, tmp_path_factory):
    folder, built = tmp_path_factory.mktemp(request.param), ROOT / "target/release"
    flags = ["-O1", "-Wall", "-fopenmp", f"-I{ROOT}/crates/capi/include", f"-I{ROOT}/bindings/cpp/include"]
    libraries = ["-o", "team", f"-L{built}", "-lligament", f"-Wl,-rpath,{built}"]
    source, fortran = HERE / f"team.{request.param}", ROOT / "bindings/fortran/src"
    if request.param == "f90":
        subprocess.run(["gcc", *flags, "-c", fortran / "ligament_descriptors.c"], cwd=folder, check=True)
        sources = [fortran / "ligament.f90", source, "ligament_descriptors.o"]
        subprocess.run(["gfortran", *flags, *sources, *libraries], cwd=folder, check=True)
    else:
        compiler, standard = {"c": ("gcc", "c11"), "cpp": ("g++", "c++17")}[request.param]
        flags += [f"-std={standard}", "-Wextra", "-Werror"]
        subprocess.run([compiler, *flags, source, *libraries], cwd=folder, check=True)
    return folder / "team"


def told(ligament, folder, team, mode, asked, threads, env=""):
    """Runs the team. The macro model expects that this number of threads has worked. Returns the output of the
    team."""
    (folder / "macro.py").write_text(MACRO)
    model = folder / "model.ymmsl"
    model.write_text(MODEL.format(
        program=team, mode=mode, asked=asked, threads=threads, env=env, python=sys.executable,
    ))
    done = subprocess.run([ligament, "run", "--run-dir", folder / "run", model], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    return (folder / "run/instances/team/output.log").read_text()


@pytest.mark.parametrize("mode", ["around", "within"])
def test_a_team_has_the_threads_that_the_model_asks_for(ligament, tmp_path, monkeypatch, team, mode):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert told(ligament, tmp_path, team, mode, asked=3, threads=3) == "3 threads\n"


def test_a_program_s_own_number_of_threads_stays(ligament, tmp_path, team):
    said = told(ligament, tmp_path, team, "around", asked=3, threads=2, env="OMP_NUM_THREADS: 2")
    assert said == "2 threads\n"
