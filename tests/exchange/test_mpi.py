"""One source, as ranks of Open MPI, of MPICH, and without MPI: 4 ranks send parts of an array to 2."""

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RELEASE = ROOT / "target/release"

MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      left: {{ports: {{o_i: part}}, implementation: left}}
      right: {{ports: {{s: part}}, implementation: right}}
    conduits: {{left.part: right.part}}
programs:
  left: {{executable: {left}, args: send{left_model}}}
  right: {{executable: {right}, args: receive{right_model}}}
resources: {{{resources}}}
ligament:
  ranks: {{left: 4, right: 2}}
  exchange: {{left.part -> right.part: {{array: 40}}}}
{more}"""

# The way to compile and start each.
FAMILIES = {"no MPI": (["gcc"], "", ""),
            "Open MPI": (["mpicc.openmpi", "-DWITH_MPI"], ", execution_model: openmpi", "mpirun.openmpi"),
            "MPICH": (["mpicc.mpich", "-DWITH_MPI"], "", "mpirun.mpich")}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Compiles the source for each MPI, once."""
    folder, made = tmp_path_factory.mktemp("parts"), {}

    def program(family):
        if family not in made:
            made[family] = folder / family.replace(" ", "")
            subprocess.run([*FAMILIES[family][0], "-std=c11", "-Wall", "-Wextra", "-O1", HERE / "parts.c", "-o",
                            made[family], f"-I{ROOT}/crates/capi/include", f"-L{RELEASE}", "-lligament",
                            f"-Wl,-rpath,{RELEASE}"], check=True)
        return made[family]

    return program


@pytest.mark.parametrize("left, right", [("no MPI", "no MPI"), ("Open MPI", "no MPI"), ("no MPI", "MPICH"),
                                         ("MPICH", "Open MPI")])
def test_one_source_exchanges_parts_with_either_mpi_and_without(run, program, monkeypatch, left, right):
    # Open MPI refuses root unless it is told twice; CI is root.
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")
    ranks = {"left": 4, "right": 2}
    sides = {"left": left, "right": right}
    with_mpi = {side: FAMILIES[family][2] for side, family in sides.items() if FAMILIES[family][2]}
    resources = [f"m.{side}: {{mpi_processes: {ranks[side]}}}" for side in with_mpi]
    mpirun = [f"{side}: {launcher}" for side, launcher in with_mpi.items()]
    mpich = [side for side, family in sides.items() if family == "MPICH"]
    more = f"  mpirun: {{{', '.join(mpirun)}}}\n" + (f"  mpich: {mpich[0]}\n" if mpich else "")
    done = run(MODEL.format(left=program(left), right=program(right), left_model=FAMILIES[left][1],
                            right_model=FAMILIES[right][1], resources=", ".join(resources),
                            more=more if mpirun else ""), "--overcommit")
    assert done.status == 0, done.text
    outputs = (done.directory / "instances/right").glob("output*.log")
    printed = "".join(path.read_text() for path in outputs)
    assert len(re.findall(r"rank \d of 2 had 20 elements", printed)) == 2, printed
    assert os.path.exists(done.directory / "run.json")
