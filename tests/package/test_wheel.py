"""The contents of the wheel: one file of each thing, for every Linux that its name promises, and as fast as the
build here."""

import email
import platform
import re
import subprocess
import zipfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

import pytest
from environment import ROOT

GLIBC = (2, 28)


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    directory = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory)
    return directory


def binaries(directory):
    found = [p for p in sorted(directory.rglob("*")) if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"]
    assert sorted(p.name for p in found) == ["_ligament.abi3.so", "libligament.so.0", "ligament"]
    return found


def symbols(binary):
    """Returns the names that a binary needs from other libraries, with their versions."""
    return subprocess.run(
        ["objdump", "--dynamic-syms", binary], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.slow
def test_the_wheel_says_for_which_python_and_which_linux_it_is(wheel, unpacked):
    tag = f"cp311-abi3-manylinux_2_28_{platform.machine()}"
    assert wheel.name == f"ligament_coupling-0.1.0-{tag}.whl"
    info = email.message_from_string((unpacked / "ligament_coupling-0.1.0.dist-info/WHEEL").read_text())
    assert info.get_all("Tag") == [tag]


@pytest.mark.slow
def test_no_binary_asks_for_a_newer_c_library_than_the_wheel_says(unpacked):
    for binary in binaries(unpacked):
        wanted = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", symbols(binary))}
        assert wanted and max(wanted) <= GLIBC, f"{binary.name} asks for glibc {max(wanted)}"


@pytest.mark.slow
def test_auditwheel_takes_the_wheel_for_what_it_says(wheel):
    said = (ROOT / "build/wheel/auditwheel.txt").read_text()
    assert f'"manylinux_2_28_{platform.machine()}"' in said or "manylinux_2_17" in said, said


def test_binaries_ask_for_libraries_that_every_linux_has_and_copy_with_the_machines_own_memcpy(unpacked):
    for binary in binaries(unpacked):
        said = subprocess.run(["objdump", "-p", binary], check=True, capture_output=True, text=True).stdout
        needed = set(re.findall(r"NEEDED\s+(\S+)", said))
        assert needed <= {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
                          "libgcc_s.so.1",
                          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, f"{binary.name} needs {needed}"
        assert "RPATH" not in said and "RUNPATH" not in said
        # A copy function that is linked in would not use this machine's widest instructions, and large messages
        # are copies.
        assert re.search(r"\*UND\*.*\(?GLIBC_[\d.]+\)?\s+memcpy$", symbols(binary),
                         re.M), f"{binary.name} has its own memcpy"


def test_the_wheel_holds_no_links_and_names_the_library_once(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            assert (member.external_attr >> 16) & 0o170000 in (0,
                                                               0o100000), f"{member.filename} is no plain file"


def test_the_library_exports_its_interface_and_nothing_else(unpacked):
    library = next(b for b in binaries(unpacked) if b.name == "libligament.so.0")
    exported = re.findall(r"^\S+ +g +D\w* +\.text\s+\S+ +(?:\S+ +)?(\w+)$", symbols(library), re.M)
    header = (ROOT / "crates/capi/include/ligament.h").read_text()
    declared = set(re.findall(r"\b(lig_\w+)\(", header))
    assert set(exported) == declared


def test_licence_and_headers_are_in_it(unpacked):
    names = {str(p.relative_to(unpacked)) for p in unpacked.rglob("*") if p.is_file()}
    data = "ligament_coupling-0.1.0.data/data"
    assert {f"{data}/include/ligament.h", f"{data}/include/ligament/ligament.hpp", f"{data}/lib/libligament.so",
            f"{data}/lib/pkgconfig/ligament.pc", f"{data}/lib/cmake/ligament/ligamentConfig.cmake",
            "ligament/py.typed"} <= names
    assert [name for name in names if name.endswith("licenses/LICENSE")], sorted(names)


def test_everything_that_is_linked_in_is_named_with_its_licence(unpacked):
    notices = (unpacked / "ligament_coupling-0.1.0.dist-info/licenses/THIRD-PARTY-LICENCES.txt").read_text()
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "--offline", "--edges", "normal,no-proc-macro", "--prefix", "none",
         "--format",
         "{p}|{l}", "-p", "ligament-cli", "-p", "ligament-capi", "-p", "ligament-python"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout
    linked = set(re.findall(r"^(\S+) v(\S+)\|(.*?)(?: \(\*\))?$", tree, re.M))
    missing = [crate for crate in linked if "{} {} ({})".format(*crate) not in notices]
    assert len(linked) > 30 and not missing, f"not named: {missing}"
    info = email.message_from_string((unpacked / "ligament_coupling-0.1.0.dist-info/METADATA").read_text())
    assert set(info.get_all("License-File")) == {"LICENSE", "THIRD-PARTY-LICENCES.txt"}


def test_a_licence_that_is_not_taken_is_refused():
    script = SourceFileLoader("licences", str(ROOT / "packaging/third-party-licences"))
    licences = module_from_spec(spec_from_loader("licences", script))
    script.exec_module(licences)
    for taken in ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0",
                  "GPL-3.0 OR MIT",
                  "Apache-2.0 WITH LLVM-exception OR GPL-2.0"]:
        assert licences.is_taken(taken), taken
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR GPL-3.0) AND LGPL-2.1", "", None, "MIT OR", "(MIT"]:
        assert not licences.is_taken(refused), refused
