"""The parts of the C interface that need no run."""

import subprocess
from pathlib import Path

import pytest
from programs import ROOT, WARNINGS, run_program

HERE = Path(__file__).parent
HEADER = ROOT / "crates" / "capi" / "include" / "ligament.h"


@pytest.mark.parametrize("compiler", [["gcc", "-std=c11"], ["gcc", "-std=c17"],
                                      ["g++", "-std=c++17", "-x", "c++"]])
def test_the_header_compiles_alone_and_without_warnings(compiler, tmp_path):
    source = tmp_path / "alone.c"
    source.write_text(f'#include "{HEADER}"\n#include "{HEADER}"\nint main(void) {{ return LIG_OK; }}\n')
    subprocess.run([*compiler, *WARNINGS, "-c", source, "-o", tmp_path / "alone.o"], check=True)


def test_an_instance_without_a_run_says_how_to_start_one(program):
    ran = run_program(program(HERE / "without_run.c"))
    assert ran.status == 0, ran.text
    assert "ligament run" in ran.text


def test_values_of_every_kind_are_built_and_read(program):
    ran = run_program(program(HERE / "values.c"))
    assert ran.status == 0, ran.text


def test_the_library_exports_its_interface_and_nothing_else(prefix):
    library = prefix / "lib" / "libligament.so"
    done = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert "lig_send_array" in names
    assert {name for name in names if not name.startswith("lig_")} == set()
