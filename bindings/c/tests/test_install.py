"""CMake and pkg-config find an installation, also after it was moved."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from programs import flags, run_program

ROOT = Path(__file__).resolve().parents[3]
PROJECT = """cmake_minimum_required(VERSION 3.18)
project(user C CXX)
find_package(ligament {version} REQUIRED)
add_executable(c_user user.c)
target_link_libraries(c_user PRIVATE ligament::ligament)
add_executable(cpp_user user.cpp)
target_link_libraries(cpp_user PRIVATE ligament::ligament)
target_compile_features(cpp_user PRIVATE cxx_std_17)
"""
C = '#include <ligament.h>\n#include <stdio.h>\nint main(void) { puts(lig_version()); }\n'
CPP = ("#include <ligament/ligament.hpp>\n#include <iostream>\nint main() { std::cout << ligament::version(); "
       "}\n")


def configure(directory, prefix, version):
    directory.mkdir()
    (directory / "CMakeLists.txt").write_text(PROJECT.format(version=version))
    (directory / "user.c").write_text(C)
    (directory / "user.cpp").write_text(CPP)
    return subprocess.run(
        ["cmake", "-S", directory, "-B", directory / "build", f"-DCMAKE_PREFIX_PATH={prefix}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )


def test_cmake_finds_a_moved_installation(prefix, tmp_path):
    moved = tmp_path / "another place"
    shutil.copytree(prefix, moved, symlinks=True)
    done = configure(tmp_path / "project", moved, "0.1")
    assert done.returncode == 0, done.stdout
    subprocess.run(["cmake", "--build", tmp_path / "project" / "build"], check=True)
    for user in ["c_user", "cpp_user"]:
        ran = run_program(tmp_path / "project" / "build" / user)
        assert (ran.status, ran.text.strip()) == (0, "0.1.0")


def test_cmake_refuses_a_version_that_is_not_there(prefix, tmp_path):
    for version in ["0.2", "1.0"]:
        done = configure(tmp_path / version, prefix, version)
        assert done.returncode != 0
        assert "not compatible" in done.stdout or "compatible with requested version" in done.stdout


def test_pkg_config_finds_a_moved_installation(prefix, tmp_path):
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved, symlinks=True)
    cflags, libs = flags(moved)
    (tmp_path / "user.c").write_text(C)
    subprocess.run(["gcc", *cflags, tmp_path / "user.c", "-o", tmp_path / "user", *libs], check=True)
    done = subprocess.run(
        [tmp_path / "user"], env=os.environ | {"LD_LIBRARY_PATH": str(moved / "lib")}, check=True,
        capture_output=True, text=True,
    )
    assert done.stdout.strip() == "0.1.0"


def test_the_static_library_links(prefix, tmp_path):
    (tmp_path / "user.c").write_text(C)
    subprocess.run(
        ["gcc", f"-I{prefix}/include", tmp_path / "user.c", "-o", tmp_path / "user",
         prefix / "lib/libligament.a",
         "-lpthread", "-ldl", "-lm"],
        check=True,
    )
    ran = run_program(tmp_path / "user")
    assert (ran.status, ran.text.strip()) == (0, "0.1.0")


def test_the_installed_command_runs(prefix):
    ran = run_program(prefix / "bin" / "ligament", "--version")
    assert ran.status == 0 and "0.1.0" in ran.text


def test_the_installed_command_tells_compilers_where_things_are(prefix, tmp_path):
    def config(*options):
        ran = run_program(prefix / "bin" / "ligament", "config", *options)
        assert ran.status == 0, ran.text
        return ran.text

    (tmp_path / "user.c").write_text(C)
    compile_it = ["gcc", tmp_path / "user.c", "-o", tmp_path / "user", *config("--libs", "--cflags").split()]
    subprocess.run(compile_it, check=True)
    ran = run_program(tmp_path / "user")
    assert (ran.status, ran.text.strip()) == (0, "0.1.0")
    assert config("--prefix", "--version").split() == ["0.1.0", str(prefix)]
    assert (Path(config("--cmake").strip()) / "ligamentConfig.cmake").is_file()
    assert (Path(config("--pkg-config").strip()) / "ligament.pc").is_file()
    assert json.loads(config("--json")) | {"ok": True, "prefix": str(prefix)} == json.loads(config("--json"))
    assert f"libdir      {prefix}/lib\n" in config()


def test_a_command_that_is_not_installed_says_so(prefix, tmp_path):
    stray = tmp_path / "bin" / "ligament"
    stray.parent.mkdir()
    shutil.copy(prefix / "bin" / "ligament", stray)
    ran = run_program(stray, "config", "--cflags")
    assert ran.status == 2
    assert f"{tmp_path}/include/ligament.h is missing; install Ligament with" in ran.text
    ran = run_program(stray, "config", "--json")
    assert ran.status == 2 and json.loads(ran.text)["ok"] is False


def test_each_command_has_its_man_page(prefix):
    names = re.findall(r"^#+ `ligament ([a-z ]+)`", (ROOT / "docs/reference/commands.md").read_text(), re.M)
    pages = {page.name: page.read_text() for page in (prefix / "share/man/man1").iterdir()}
    assert set(pages) == {"ligament.1"} | {f"ligament-{name.replace(' ', '-')}.1" for name in names}
    assert "Couples" in pages["ligament.1"] and "--detach" in pages["ligament-run.1"].replace("\\-", "-")
    assert all(".TH" in text for text in pages.values())
