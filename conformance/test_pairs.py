"""Every language to every other one: all cases, in one model, and the table of pairs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import referee

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DRIVERS = HERE / "drivers"
TARGET = ROOT / "target" / "release"
INCLUDES = [f"-I{ROOT / folder}" for folder in ("crates/capi/include", "bindings/cpp/include")]
LIBRARY = [str(TARGET / "libligament.so"), f"-Wl,-rpath,{TARGET}"]


def compiled(command, folder):
    subprocess.run(command, cwd=folder, check=True)


def c(folder):
    compiled(["gcc", "-std=c11", "-Wall", "-Wextra", "-O1", *INCLUDES, DRIVERS / "driver.c", "-o", "driver-c", *LIBRARY], folder)
    return [str(folder / "driver-c")]


def cpp(folder):
    compiled(["g++", "-std=c++17", "-Wall", "-Wextra", "-O1", *INCLUDES, DRIVERS / "driver.cpp", "-o", "driver-cpp", *LIBRARY], folder)
    return [str(folder / "driver-cpp")]


def python(_):
    return [sys.executable, str(DRIVERS / "driver.py")]


def rust(_):
    compiled(["cargo", "build", "--release", "--locked", "--quiet", "--example", "conformance-driver"], ROOT)
    return [str(TARGET / "examples" / "conformance-driver")]


def fortran(folder):
    source = ROOT / "bindings" / "fortran" / "src"
    compiled(["gcc", "-Wall", "-Wextra", "-O1", *INCLUDES, "-c", source / "ligament_descriptors.c"], folder)
    compiled(["gfortran", "-std=f2018", "-cpp", "-Wall", "-Wextra", "-O1", f"-I{DRIVERS}", source / "ligament.f90",
              DRIVERS / "driver.f90", "ligament_descriptors.o", "-o", "driver-fortran", *LIBRARY], folder)
    return [str(folder / "driver-fortran")]


def java(folder):
    binding = ROOT / "bindings" / "java"
    jdk = Path(subprocess.run([binding / "jdk"], check=True, capture_output=True, text=True).stdout.strip())
    compiled([binding / "build", folder / "ligament.jar"], folder)
    compiled([jdk / "bin/javac", "--release", "22", "-Xlint:all", "-Werror", "-cp", "ligament.jar", "-d", "classes",
              DRIVERS / "Driver.java"], folder)
    return [str(jdk / "bin/java"), "--enable-native-access=ALL-UNNAMED", f"-Dligament.library={TARGET / 'libligament.so'}",
            "-cp", f"{folder / 'ligament.jar'}:{folder / 'classes'}", "Driver"]


LANGUAGES = {"c": c, "cpp": cpp, "fortran": fortran, "java": java, "python": python, "rust": rust}


@pytest.fixture(scope="module")
def verdict(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conformance")
    programs = {name: build(folder) for name, build in LANGUAGES.items()}
    results = folder / "results.json"
    (folder / "model.ymmsl").write_text(referee.model(programs, HERE, results))
    run = subprocess.run([TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet"], cwd=folder,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert run.returncode == 0, run.stdout
    return json.loads(results.read_text())


def table(verdict):
    """How many cases each pair has passed: a row for each sender, a column for each receiver."""
    rows = [f"{'from / to':>10}" + "".join(f"{name:>9}" for name in LANGUAGES)]
    for a in LANGUAGES:
        rows.append(f"{a:>10}" + "".join(f"{verdict['counts'][f'{a} {b}']:>9}" for b in LANGUAGES))
    return "\n".join([*rows, f"of {verdict['cases']} cases each"])


def test_every_pair_of_languages_passes_every_case(verdict, capsys):
    with capsys.disabled():
        print("\n" + table(verdict))
    assert verdict["wrong"] == []
    assert set(verdict["counts"].values()) == {verdict["cases"]}
    assert len(verdict["counts"]) == len(LANGUAGES) ** 2


def test_the_referee_sees_one_wrong_bit():
    import cases
    import numpy as np

    sent = cases.bits("float64", (3, 4))
    found = sent.copy()
    found.view(np.uint64)[1, 2] ^= 1
    assert referee.difference(found, sent) == "byte 48 of 96 differs, and 0 more"
    assert referee.difference(sent.copy(), sent) is None
    assert referee.difference([1, {"a": 2.0}], [1, {"a": 2}]) == "[1]: ['a']: 2.0 (float), not 2 (int)"
    assert referee.difference(-0.0, 0.0) is not None
    assert referee.difference(cases.PAYLOAD, float("nan")) is not None
