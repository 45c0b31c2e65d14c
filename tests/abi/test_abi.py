"""The promises to programs that are already compiled still hold. docs/reference/c-abi.md has the rules, and
crates/capi/abi one directory for each version of the C ABI."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from header import Header, read_layout

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "c" / "tests"))
from programs import install, run_model  # noqa: E402

PROMISED = ROOT / "crates" / "capi" / "abi"
VERSIONS = sorted((p for p in PROMISED.iterdir() if p.is_dir()),
                  key=lambda p: [int(n) for n in p.name.split(".")])
RULES = "docs/reference/c-abi.md says what may change and how"
MODEL = """ymmsl_version: v0.1
model:
  name: abi
  components:
    macro: {{implementation: macro, ports: {{o_i: [out, many], s: in}}}}
    micro: {{implementation: micro, ports: {{o_i: [out, many], s: in}}}}
  conduits:
    macro.out: micro.in
    micro.out: macro.in
settings:
  flag: true
  count: 3
  ratio: 0.25
  title: a title
  integers: [1, -2]
  numbers: [0.5, 1.5]
  grid: [[1.0, 2.0], [3.0, 4.0]]
implementations:
  macro: {{executable: {program}, args: [macro]}}
  micro: {{executable: {program}, args: [micro]}}
"""


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    return install(tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="session")
def today():
    return Header(ROOT / "crates/capi/include/ligament.h")


@pytest.fixture(params=VERSIONS, ids=lambda directory: directory.name)
def version(request):
    return request.param


def listed():
    """The list of exported functions: {name: the version of the ABI that added it}."""
    lines = [line.split() for line in (PROMISED / "symbols").read_text().splitlines()
             if not line.startswith("#")]
    return {name: since for name, since in lines}


def exported(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def test_no_symbol_went_and_none_came_unannounced(prefix):
    found, promised = exported(prefix / "lib/libligament.so.0"), listed()
    went = sorted(promised.keys() - found)
    came = sorted(found - promised.keys())
    assert not went, (f"a symbol went: {', '.join(went)}; programs that call it would not start any more: put "
                      f"it back")
    assert not came, (
        f"a symbol came: {', '.join(came)}; if it is meant for users, add it to {PROMISED / 'symbols'} under "
        f"a new minor "
        f"version of the ABI (LIG_ABI_MINOR in crates/capi/src/about.rs); else do not export it; {RULES}"
    )


def test_every_function_of_the_header_is_exported_and_the_other_way_round(today):
    assert today.functions.keys() == listed().keys()


def test_the_version_of_the_abi_is_that_of_the_newest_symbol_and_directory(today, tmp_path):
    layout = today.layout(tmp_path)
    version = f"{layout['LIG_ABI_MAJOR']}.{layout['LIG_ABI_MINOR']}"
    newest = max(listed().values(), key=lambda since: [int(number) for number in since.split(".")])
    assert version == newest == VERSIONS[-1].name, (
        f"the header says ABI {version}, the newest symbol is of {newest}, the newest directory of {PROMISED} "
        f"is "
        f"{VERSIONS[-1].name}; make them the same, {RULES}"
    )


def test_all_that_the_header_has_today_is_written_down_under_the_newest_version(today, tmp_path):
    newest = VERSIONS[-1]
    written, found = Header(newest / "ligament.h"), today.layout(tmp_path)
    new = today.functions.keys() - written.functions.keys() | (
        found.items() - read_layout((newest / "layout").read_text()))
    assert not new, (
        f"{sorted(map(str, new))} is not in ABI {newest.name}; if that was released make a new version by "
        f"crates/capi/abi/write, else write it anew by crates/capi/abi/write --again {newest.name}"
    )


def test_no_struct_or_number_is_otherwise_than_it_was(version, today, tmp_path):
    promised, found = dict(read_layout((version / "layout").read_text())), today.layout(tmp_path)
    grows = {struct for struct, members in today.structs.items() if members[0] == "size"}
    for what, number in promised.items():
        if what == "LIG_ABI_MINOR":
            continue
        assert what in found, f"{what} went; programs of ABI {version.name} count on it: put it back"
        if what.startswith("sizeof ") and what.split()[1] in grows:
            assert found[
                what] >= number, f"{what} shrank from {number} to {found[what]}; leave all members in it"
        else:
            assert found[what] == number, (
                f"{what} was {number} in ABI {version.name} and is {found[what]}; put new members at the end "
                f"of structs "
                f"that begin with their size, and new numbers beside the old ones; {RULES}"
            )


def test_new_members_lie_beyond_all_that_an_older_program_has(version, today, tmp_path):
    promised, found = dict(read_layout((version / "layout").read_text())), today.layout(tmp_path)
    for what, number in found.items():
        if what.startswith("offset ") and what not in promised:
            struct = what.split()[1].split(".")[0]
            size = promised.get(f"sizeof {struct}", 0)
            assert number >= size, (
                f"{what} is {number}, within the {size} bytes that a program of ABI {version.name} has, where "
                f"it may "
                "have left anything; put the member at the end, after padding"
            )


def test_structs_that_can_grow_do_not_end_in_padding(today, tmp_path):
    layout = today.layout(tmp_path)
    for struct, members in today.structs.items():
        if members[0] != "size":
            continue
        end = layout[f"offset {struct}.{members[-1]}"] + layout[f"sizeof {struct}.{members[-1]}"]
        assert end == layout[f"sizeof {struct}"], (
            f"{struct} ends in padding, where a later member would read what an older program left there; end "
            f"it with a "
            "reserved member"
        )


def test_no_function_takes_or_gives_something_else_than_it_did(version, today, tmp_path):
    old = Header(version / "ligament.h")
    source = tmp_path / "functions.c"
    source.write_text(f'#include "{today.path}"\n' + "\n".join(old.functions.values()) + "\n")
    done = subprocess.run(["gcc", "-std=c11", "-fsyntax-only", source], capture_output=True, text=True)
    assert done.returncode == 0, f"a function is not what it was in ABI {version.name}; {RULES}:\n{done.stderr}"


def test_what_was_written_down_of_a_version_is_what_its_header_says(version, tmp_path):
    assert Header(version / "ligament.h").layout(tmp_path) == dict(
        read_layout((version / "layout").read_text()))


def test_the_page_shows_the_layout_as_it_is(today, tmp_path):
    page = (ROOT / "docs/reference/c-abi.md").read_text()
    layout = today.layout(tmp_path)
    for struct, members in today.structs.items():
        offsets = ", ".join(f"{member} {layout[f'offset {struct}.{member}']}" for member in members)
        row = f"| `{struct}` | {layout[f'sizeof {struct}']} | {offsets} |"
        assert row in page, f"docs/reference/c-abi.md should have the line\n{row}"


def test_every_number_that_has_a_name_says_it(prefix, today, tmp_path):
    source = tmp_path / "names.c"
    numbers = [f'same(lig_status_name({name}), "{name}");' for name in today.enums["lig_status"]]
    for enum, function, opening in (("lig_kind", "lig_kind_name", "LIG_KIND_"),
                                    ("lig_dtype", "lig_dtype_name", "LIG_")):
        numbers += [f'same({function}({n}), "{n.removeprefix(opening).lower()}");' for n in today.enums[enum]]
    numbers += [f'same({function}(-1), "unknown"); same({function}(999), "unknown");'
                for function in ("lig_status_name", "lig_kind_name", "lig_dtype_name")]
    source.write_text(
        "#include <ligament.h>\n#include <stdio.h>\n#include <string.h>\nstatic int wrong;\n"
        "static void same(const char *found, const char *wanted) {\n"
        '    if (strcmp(found, wanted) != 0) wrong = printf("%s is called %s\\n", wanted, found);\n}\n'
        "int main(void) {\n" + "\n".join(numbers) + "\nreturn wrong != 0 || lig_dtype_size(0) != 0;\n}\n"
    )
    done = run_compiled(prefix, source, tmp_path / "names")
    assert done.returncode == 0, done.stdout


def compiled(prefix, source, program, *flags):
    library = prefix / "lib"
    subprocess.run(
        ["gcc", "-Wall", "-Wextra", "-Werror", *flags, source, "-o", program, f"-L{library}", "-lligament",
         f"-Wl,-rpath,{library}"],
        check=True,
    )
    return program


def run_compiled(prefix, source, program):
    compiled(prefix, source, program, "-std=c11", f"-I{prefix}/include")
    return subprocess.run([program], capture_output=True, text=True, timeout=60)


def took_part(prefix, directory, program):
    ran = run_model(prefix, directory, MODEL.format(program=program))
    assert ran.status == 0, ran.output()
    for instance in ("macro", "micro"):
        said = (ran.directory / "instances" / instance / "output.log").read_text()
        assert said == "all is as it was\n", ran.output()


def test_a_program_of_an_older_header_takes_part_in_a_run_of_today(version, prefix, tmp_path):
    shutil.copy(version / "ligament.h", tmp_path)
    took_part(prefix, tmp_path, compiled(prefix, version / "caller.c", tmp_path / "caller", "-std=c11",
                                         f"-I{tmp_path}"))


def test_a_program_that_was_compiled_then_takes_part_in_a_run_of_today(version, prefix, tmp_path):
    machine = platform.machine()
    compiled_then = version / f"caller.{machine}.o"
    if not compiled_then.exists():
        pytest.skip(f"no program of ABI {version.name} was kept for {machine}")
    took_part(prefix, tmp_path, compiled(prefix, compiled_then, tmp_path / "caller"))


def test_the_old_program_calls_every_function_of_its_time(version):
    called = set(re.findall(r"\b(lig_\w+)\(", (version / "caller.c").read_text()))
    missing = Header(version / "ligament.h").functions.keys() - called
    assert not missing, f"caller.c of ABI {version.name} does not call {', '.join(sorted(missing))}"


def test_programs_ask_for_the_library_by_a_name_that_changes_with_the_major_version(prefix, today, tmp_path):
    done = subprocess.run(["readelf", "-d", prefix / "lib/libligament.so.0"], check=True, capture_output=True,
                          text=True,
                          env=os.environ | {"LC_ALL": "C"})
    major = today.layout(tmp_path)["LIG_ABI_MAJOR"]
    assert f"Library soname: [libligament.so.{major}]" in done.stdout
