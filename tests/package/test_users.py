"""Users with only the wheel: they build C and C++ by CMake, by pkg-config and by a plain command, run them, and
couple them with Python and with each other."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from environment import ROOT, Environment, pinned
from programs import C, CPP, OUTPUT, PYTHON, model

LISTS = """cmake_minimum_required(VERSION 3.18)
project(codes C CXX)
find_package(ligament 0.1 REQUIRED)
foreach(code macro micro)
    add_executable(c_${code} ${code}.c)
    add_executable(cpp_${code} ${code}.cpp)
    target_compile_features(cpp_${code} PRIVATE cxx_std_17)
    foreach(language c cpp)
        target_link_libraries(${language}_${code} PRIVATE ligament::ligament)
    endforeach()
endforeach()
"""


@pytest.fixture(scope="module")
def sources(environment):
    for name in ["macro", "micro"]:
        environment.write(f"{name}.c", C[name])
        environment.write(f"{name}.cpp", CPP[name])
        environment.write(f"{name}.py", PYTHON[name])
    environment.write("CMakeLists.txt", LISTS)
    return environment


def run(environment, macro, micro):
    """Runs macro coupled to micro; each is a program, or a Python file."""
    def implementation(code):
        if code.endswith(".py"):
            return f"{{executable: python3, args: {environment.here / code}}}"
        return f"{{executable: {environment.here / code}}}"

    environment.write("model.ymmsl", model(implementation(macro), implementation(micro)))
    environment("ligament", "run", "--quiet", "model.ymmsl")
    return environment("ligament", "logs", "latest", "macro")


def test_cmake_finds_the_package_of_an_active_environment(sources):
    sources("cmake", "-S", ".", "-B", "build")
    sources("cmake", "--build", "build")
    assert run(sources, "build/c_macro", "build/cpp_micro") == OUTPUT
    assert run(sources, "build/cpp_macro", "build/c_micro") == OUTPUT


def test_cmake_finds_the_package_where_the_command_says_that_it_is(sources):
    directory = sources("ligament", "config", "--cmake").strip()
    without = {"PATH": "/usr/local/bin:/usr/bin:/bin", "VIRTUAL_ENV": ""}
    status, output = sources.try_("cmake", "-S", ".", "-B", "lost", **without)
    assert status != 0 and "ligamentConfig.cmake" in output, "it is found without being looked for"
    sources("cmake", "-S", ".", "-B", "found", f"-Dligament_DIR={directory}", **without)
    sources("cmake", "--build", "found", **without)
    assert run(sources, "found/c_macro", "found/c_micro") == OUTPUT


@pytest.mark.parametrize("language, compiler", [("c", "cc"), ("cpp", "c++ -std=c++17")])
def test_a_plain_compiler_line_is_enough(sources, language, compiler):
    for code in ["macro", "micro"]:
        sources.shell(f"{compiler} {code}.{language} -o plain_{code} $(ligament config --cflags --libs)")
    assert run(sources, "plain_macro", "plain_micro") == OUTPUT


@pytest.mark.parametrize("language, compiler", [("c", "cc"), ("cpp", "c++ -std=c++17")])
def test_pkg_config_finds_the_library(sources, language, compiler):
    found = sources("ligament", "config", "--pkg-config").strip()
    libdir = sources("ligament", "config", "--libdir").strip()
    for code in ["macro", "micro"]:
        sources.shell(
            f"{compiler} {code}.{language} -o by_pkg_{code} $(pkg-config --cflags --libs 'ligament >= 0.1')",
            PKG_CONFIG_PATH=found,
        )
    # pkg-config's flags give the programs no path, so the loader is told where the library is.
    sources.variables["LD_LIBRARY_PATH"] = libdir
    try:
        assert run(sources, "by_pkg_macro", "by_pkg_micro") == OUTPUT
    finally:
        del sources.variables["LD_LIBRARY_PATH"]


def test_python_codes_run_and_are_coupled_to_the_others(sources):
    assert run(sources, "macro.py", "micro.py") == OUTPUT
    sources.shell("c++ -std=c++17 micro.cpp -o cpp_micro $(ligament config --cflags --libs)")
    assert run(sources, "macro.py", "cpp_micro") == OUTPUT


def test_every_compiler_flag_for_warnings_may_be_set(sources):
    warnings = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
    sources.write("head.c", "#include <ligament.h>\nint main(void) { return lig_version() == NULL; }\n")
    sources.write(
        "head.cpp", "#include <ligament/ligament.hpp>\nint main() { return ligament::version().empty(); }\n")
    sources.shell(f"cc -std=c11 {warnings} head.c -o head $(ligament config --cflags --libs) && ./head")
    sources.shell(f"c++ -std=c++17 {warnings} head.cpp -o head $(ligament config --cflags --libs) && ./head")


def test_the_command_and_the_package_say_the_same_of_the_installation(environment):
    said = json.loads(environment("ligament", "config", "--json"))
    assert said == json.loads(environment("python", "-m", "ligament", "config", "--json"))
    assert said["ok"] and said["prefix"] == str(environment.prefix) and said["version"] == "0.1.0"
    for key in ["includedir", "libdir", "library", "cmake", "pkg_config"]:
        assert environment.shell(f"test -e '{said[key]}' && echo there") == "there\n"


def test_the_library_can_be_loaded_by_a_language_that_loads_it_itself(environment):
    program = (
        "import ctypes, subprocess\n"
        "path = subprocess.run(['ligament', 'config', '--library'], capture_output=True, "
        "text=True).stdout.strip()\n"
        "library = ctypes.CDLL(path)\n"
        "library.lig_version.restype = ctypes.c_char_p\n"
        "print(library.lig_version().decode())\n"
    )
    assert environment("python", "-c", program) == "0.1.0\n"


def test_uninstalling_leaves_nothing_behind(wheel, tmp_path):
    environment = Environment(tmp_path)

    def files():
        return {p.relative_to(environment.prefix) for p in environment.prefix.rglob("*")
                if p.is_file() and "__pycache__" not in p.parts}

    before = files()
    environment.install("--no-deps", wheel)
    assert len(files()) > len(before) + 20
    environment("pip", "uninstall", "--yes", "--quiet", "ligament-coupling")
    assert files() == before


@pytest.mark.slow
def test_the_wheel_works_below_a_path_with_blanks(wheel, tmp_path):
    environment = Environment(tmp_path / "my codes")
    environment.install("--no-deps", wheel)
    environment.write("macro.c", C["macro"])
    environment.shell('eval "cc macro.c -o macro $(ligament config --cflags --libs)"')
    status, output = environment.try_("./macro")
    assert status == 1 and "LIGAMENT_AGENT is not set" in output


def other_pythons():
    """The Pythons of this machine that the wheel is for, except the one that runs the tests."""
    found = []
    for minor in range(11, 16):
        python = shutil.which(f"python3.{minor}")
        if python is None or minor == sys.version_info.minor:
            continue
        asked = subprocess.run(
            [python, "-c", "import ensurepip, sys, venv; print(sys.executable)"], capture_output=True, text=True
        )
        if asked.returncode == 0:
            found.append(asked.stdout.strip())
    return found


@pytest.mark.slow
def test_the_same_wheel_serves_every_python_that_is_there(wheel, tmp_path):
    for python in other_pythons():
        environment = Environment(tmp_path / Path(python).name, python)
        environment.install("numpy", wheel)
        for name in ["macro", "micro"]:
            environment.write(f"{name}.py", PYTHON[name])
        assert run(environment, "macro.py", "micro.py") == OUTPUT


def test_every_link_of_an_explanation_is_an_installed_page_with_the_heading_that_is_meant(environment):
    for command in [["ligament"], ["python", "-m", "ligament"]]:
        codes = json.loads(environment(*command, "explain", "--json"))["codes"]
        links = [link for code in codes for link in code["links"]]
        assert len(links) > 20
        for link in links:
            page = Path(link["file"])
            assert page.is_relative_to(environment.prefix), page
            headings = [line.lstrip("#").strip() for line in page.read_text().splitlines()
                        if line.startswith("#")]
            assert link["heading"] is None or link["heading"] in headings, link


@pytest.mark.slow
def test_the_examples_build_and_run_with_nothing_of_the_repository(wheel, tmp_path):
    environment = Environment(tmp_path)
    environment.install(*(pinned(package) for package in ["numpy", "matplotlib", "pyyaml"]), wheel)
    example = ROOT / "examples/reaction-diffusion"
    for file in subprocess.run(["git", "ls-files"], cwd=example, check=True, capture_output=True,
                               text=True).stdout.split():
        shutil.copy(example / file, environment.here)
    environment("make")
    said = environment("./demo.sh")
    assert "reaction_diffusion.png" in said, said
    for name in ["canal-network", "heated-plate"]:
        place = environment.here / name
        shutil.copytree(ROOT / "examples" / name, place,
                        # Another suite may be importing these files meanwhile: its bytecode files appear and
                        # vanish.
                        ignore=shutil.ignore_patterns("build", "runs", "__pycache__"))
        languages = {"canal-network": ["build/gate", "build/pump", "build/catchment"],
                     "heated-plate": ["build/stranger"]}
        for target in languages[name]:
            environment("make", "-C", place, target)
