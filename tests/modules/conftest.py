"""Compiles modules in C and Fortran."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
# Without contraction, the numbers equal NumPy's: no product has more digits for the sum that follows.
FLAGS = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
MODEL = """ymmsl_version: v0.2
models:
  m:
    components:
      wave: {{implementation: wave}}
programs: {{wave: {{executable: {command[0]}, args: {arguments}}}}}
settings: {{{settings}}}
ligament:
  {more}
  grids:
    wave: {{shape: {shape}, blocks: {blocks}, periodic: {periodic}, mirrored: {mirrored}}}
"""


@pytest.fixture(scope="session")
def shared_object():
    """Compiles a source file to a shared object beside it, or to `made`."""

    def compile(source, made=None):
        source = Path(source)
        made = Path(made) if made else source.with_suffix(".so")
        if source.suffix == ".f90":
            built_in = [f"-J{made.parent}", str(ROOT / "bindings/fortran/src/ligament_modules.f90")]
            command = ["gfortran", "-Wno-compare-reals", *built_in]
        else:
            command = ["gcc", "-std=c11", f"-I{ROOT}/crates/capi/include"]
        subprocess.run([*command, *FLAGS, str(source), "-o", str(made)], check=True, cwd=made.parent)
        return made

    return compile


@pytest.fixture
def model():
    """Writes a model of one component with a grid."""

    def text(command, shape=(16, 12), blocks=(2, 1), edges=("periodic", "mirrored"), settings="steps: 3",
             more="overcommit: true"):
        named = {kind: ["xyz"[axis] for axis, edge in enumerate(edges) if edge == kind]
                 for kind in ("periodic", "mirrored")}
        command = [str(part) for part in command]
        return MODEL.format(command=command, arguments=command[1:], shape=list(shape), blocks=list(blocks),
                            settings=settings, more=more, **named)

    return text


@pytest.fixture(scope="session")
def c_driver(tmp_path_factory):
    """The driver program in C, which takes the path of a module as its first argument."""
    made, built = tmp_path_factory.mktemp("driver") / "driver", ROOT / "target/release"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/crates/capi/include",
                    HERE / "driver.c", "-o", made, built / "libligament.so", f"-Wl,-rpath,{built}"], check=True)
    return made
