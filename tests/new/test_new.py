"""Starters: each compiles and passes its test as it is, and nothing is overwritten."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from slow_cases import slow

ROOT = Path(__file__).resolve().parents[2]
# `make test` compiles only one starter and one skeleton in each language; "all starters" has the others.
LANGUAGES = ["c", "cpp", "fortran", "java", "python", "rust"]


@pytest.fixture
def user(prefix, tmp_path):
    """A user with an installation and an empty directory, who runs a command there."""
    jdk = subprocess.run([ROOT / "bindings/java/jdk"], capture_output=True, text=True).stdout.strip()
    # The Python that has Ligament is the one that runs this test.
    path = f"{prefix / 'bin'}:{Path(jdk) / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    # Open MPI refuses root unless it is told twice; CI is root.
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # This tests that it compiles and runs, not how fast it is.
    cargo = {"CARGO_NET_OFFLINE": "true", "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0"}
    environment = {**os.environ, **root, **cargo, "PATH": path}
    environment.pop("CARGO_TARGET_DIR", None)

    def run(*command, directory="."):
        return subprocess.run(command, cwd=tmp_path / directory, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)

    run.path = tmp_path
    return run


def files(directory):
    """Returns all files below a directory."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def make(user, name, language):
    """Runs `make test` in a starter. In Rust, the versions are those of the clone, which need no network."""
    if language == "rust":
        (user.path / name / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
        # The dependencies of all starters are compiled once.
        built = ROOT / "target/starters"
        built.mkdir(parents=True, exist_ok=True)
        if not (user.path / name / "target").exists():
            (user.path / name / "target").symlink_to(built)
    return user("make", "test", directory=name)


@pytest.mark.parametrize("language", ["c", "fortran", "python"])
def test_a_grid_s_starter_is_built_and_run_as_it_is(user, language):
    made = user("ligament", "new", "grid", "pond", "--language", language)
    assert made.returncode == 0 and "make test" in made.stdout, made.stdout
    tested = make(user, "pond", language)
    assert tested.returncode == 0, tested.stdout
    assert "each step:" in tested.stdout and "exchange  u: " in tested.stdout
    # All languages give the same number.
    assert "step 10: the largest u is 0.083238" in tested.stdout, tested.stdout


def test_a_grid_s_starter_in_another_language_is_refused(user):
    refused = user("ligament", "new", "grid", "pond", "--language", "java")
    assert refused.returncode != 0 and "no starter of a grid in Java" in refused.stdout
    assert not (user.path / "pond").exists()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("what", ["submodel", *slow("macro")])
def test_a_starter_compiles_and_passes_its_test_as_it_is(user, what, language):
    made = user("ligament", "new", what, "--language", language, "my_code")
    assert made.returncode == 0, made.stdout
    found = files(user.path / "my_code")
    assert {".gitignore", "Makefile", "README.md", "my_code.case.yaml", "my_code.ymmsl"} < set(found)
    assert all(f"  {name}\n" in made.stdout for name in found), made.stdout
    done = make(user, "my_code", language)
    assert done.returncode == 0 and "2 of 2 messages as expected" in done.stdout, done.stdout
    (user.path / "my_code/Cargo.lock").unlink(missing_ok=True)
    assert user("make", "clean", directory="my_code").returncode == 0
    assert files(user.path / "my_code") == found, "nothing is left that make clean does not know"


@pytest.mark.parametrize("what, language", [
    ("submodel", "c"), ("macro", "python"), *slow(("submodel", "python"), ("macro", "c")),
    *slow(*((what, language) for what in ("submodel", "macro") for language in ("cpp", "fortran")))])
def test_a_starter_with_mpi_compiles_and_passes_its_test_as_it_is(user, what, language):
    made = user("ligament", "new", what, "--mpi", "--language", language, "my_code")
    assert made.returncode == 0, made.stdout
    found = files(user.path / "my_code")
    done = make(user, "my_code", language)
    assert done.returncode == 0 and "as expected" in done.stdout, done.stdout
    assert "mpirun -n 2 " in (user.path / "my_code/Makefile").read_text()
    assert user("make", "clean", directory="my_code").returncode == 0
    assert files(user.path / "my_code") == found


@pytest.mark.parametrize("macro, micro", [("python", "c"), *slow(("c", "fortran"))])
def test_a_model_with_an_mpi_program_runs_as_it_is(user, macro, micro):
    assert user("ligament", "new", "model", "first", "--macro", macro, "--micro", micro,
                "--mpi").returncode == 0
    done = make(user, "first", macro)
    assert done.returncode == 0 and "finer model says 25" in done.stdout, done.stdout
    assert user("ligament", "check", "model.ymmsl", directory="first").returncode == 0


@pytest.mark.parametrize("language", ["java", "rust"])
def test_languages_without_a_face_for_mpi_are_named(user, language):
    done = user("ligament", "new", "submodel", "--mpi", "--language", language, "my_code")
    assert done.returncode == 2 and "take C, C++, Fortran or Python" in done.stdout, done.stdout
    assert files(user.path) == []


def test_a_starter_whose_code_is_wrong_fails_its_test(user):
    assert user("ligament", "new", "submodel", "--language", "python", "micro").returncode == 0
    source = user.path / "micro/micro.py"
    source.write_text(source.read_text().replace("**2", "**3"))
    done = make(user, "micro", "python")
    assert done.returncode != 0 and "27.0, expected 9.0" in done.stdout, done.stdout


@pytest.mark.parametrize("macro, micro", [
    ("python", "c"), ("c", "java"), *slow(("fortran", "cpp"), ("java", "python"), ("cpp", "fortran"))])
def test_a_model_of_two_languages_runs_as_it_is(user, macro, micro):
    made = user("ligament", "new", "model", "first", "--macro", macro, "--micro", micro)
    assert made.returncode == 0, made.stdout
    done = make(user, "first", macro)
    assert done.returncode == 0 and done.stdout.count("2 of 2 messages as expected") == 2, done.stdout
    assert "finer model says 25" in done.stdout
    checked = user("ligament", "check", "model.ymmsl", directory="first")
    assert checked.returncode == 0, checked.stdout


def test_the_model_file_of_a_code_adds_it_to_a_model(user):
    assert user("ligament", "new", "model", "whole", "--macro", "python", "--micro", "python").returncode == 0
    assert user("ligament", "new", "submodel", "--language", "python", "other").returncode == 0
    model = user.path / "whole/model.ymmsl"
    model.write_text(model.read_text().replace("implementation: micro", "implementation: other"))
    done = user("ligament", "check", "whole/model.ymmsl", "other/other.ymmsl")
    assert done.returncode == 0, done.stdout


def test_nothing_is_overwritten(user):
    (user.path / "there").mkdir()
    (user.path / "there/mine").write_text("mine")
    done = user("ligament", "new", "submodel", "--language", "c", "there")
    assert (done.returncode == 2 and "there is there already" in done.stdout
            and "(ligament explain starter-not-made)" in done.stdout)
    assert files(user.path / "there") == ["mine"]
    (user.path / "link").symlink_to("nowhere")
    assert user("ligament", "new", "model", "link").returncode == 2
    assert not (user.path / "nowhere").exists()


@pytest.mark.parametrize("name", ["Micro", "2d", "a-b", "../up", "a b", ""])
def test_a_name_that_cannot_be_a_program_s_is_refused(user, name):
    done = user("ligament", "new", "submodel", "--language", "c", name)
    assert done.returncode == 2 and f'cannot be called "{name}"' in done.stdout, done.stdout
    assert files(user.path) == []


@pytest.fixture
def recorded(user):
    """A case that was recorded from a run of a model: t, the question to the micro code, and its answer."""
    assert user("ligament", "new", "model", "first", "--macro", "python", "--micro", "python").returncode == 0
    done = user("ligament", "play", "micro.case", "--record", "model.ymmsl", "--instance", "micro",
                directory="first")
    assert done.returncode == 0, done.stdout
    case = user.path / "first/micro.case"
    assert case.read_text().count("- {to: start") == case.read_text().count("- {from: end") == 3
    return case


@pytest.mark.parametrize("language", ["c", "python", *slow("cpp", "fortran", "java", "rust")])
def test_a_recorded_case_is_played_against_a_right_and_a_wrong_submodel(user, recorded, language):
    assert user("ligament", "new", "submodel", "--language", language, "micro").returncode == 0
    command = {"c": "./micro", "cpp": "./micro", "fortran": "./micro", "java": "./micro.sh",
               "python": "python3 micro.py",
               "rust": "target/release/micro"}[language]
    assert make(user, "micro", language).returncode == 0

    def play():
        return user("ligament", "play", recorded, "--", *command.split(), directory="micro")

    right = play()
    assert right.returncode == 0 and "3 of 3 messages as expected" in right.stdout, right.stdout
    sources = [path for path in (user.path / "micro").rglob("*") if path.suffix in (".c", ".cpp", ".f90",
                                                                                    ".java", ".py", ".rs")
               and "target" not in path.parts and "build" not in path.parts]
    (source,) = sources
    wrong = source.read_text().replace("level * level", "level * level + 1.0").replace("**2", "**2 + 1.0")
    source.write_text(wrong)
    make(user, "micro", language)
    found = play()
    assert found.returncode == 1 and "end: at 0.0: 2.0, expected 1.0" in found.stdout, found.stdout
