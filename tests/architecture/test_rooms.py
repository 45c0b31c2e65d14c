"""Holds the map in ARCHITECTURE.md against the tree: its rooms exist, and each room uses exactly the rooms that
its arrow names."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MAP = re.search(r"```\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.S).group(1)
# Rooms whose code may hold `unsafe` anywhere; all others have one `sys.rs`.
UNSAFE = ("crates/shm", "crates/capi", "bindings")


def crates():
    """Every crate of the workspace, by its folder."""
    members = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    return {member: tomllib.loads((ROOT / member / "Cargo.toml").read_text()) for member in members}


def used(manifest, section="dependencies"):
    """The crates of this project that a manifest names."""
    return {name.removeprefix("ligament-") for name in manifest.get(section,
                                                                    ()) if name.startswith("ligament-")}


def arrows():
    """The rooms that each room under crates/ may use, as the map says. The text of a room ends where the next
    one begins."""
    rooms = re.findall(r"^  ([a-z-]+)/ +(.*?)(?=^  [a-z-]+/ |^[a-z]+/ )", MAP, re.S | re.M)
    return {name: re.search(r"→([a-z\s]*)", text) for name, text in rooms}


def test_every_crate_has_its_line_in_the_map():
    assert set(arrows()) == {path.split("/")[1] for path in crates() if path.startswith("crates/")}


@pytest.mark.parametrize("path", [path for path in crates() if path.startswith("crates/")])
def test_a_crate_uses_what_its_arrow_names(path):
    arrow = arrows()[path.split("/")[1]]
    named = set(arrow.group(1).split()) if arrow else set()
    if named == {"all"}:
        named = {name for name in arrows() if f"crates/{name}" != path}
        assert used(crates()[path]) <= named
    else:
        assert used(crates()[path]) == named


def test_the_python_package_uses_what_its_arrow_names():
    named = set(re.search(r"python \(→([a-z ]*)\)", MAP).group(1).split())
    assert used(crates()["bindings/python"]) == named


def test_no_crate_and_no_binding_uses_a_face():
    """A face is a package over the public interfaces: nothing that is built before it names it."""
    faces = [path.name for path in (ROOT / "faces").iterdir() if path.is_dir()]
    listed = subprocess.run(["git", "ls-files", "crates", "bindings"], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.splitlines()
    sources = [ROOT / name for name in listed
               if name.endswith((".rs", "Cargo.toml", ".py", ".c", ".h", ".hpp"))]
    named = re.compile(rf"faces/({'|'.join(map(re.escape, faces))})\b"
                       r"|^\s*(?:from|import) (?:libmuscle|muscle3)\b", re.M)
    users = [str(path) for path in sources
             if path.is_file() and named.search(path.read_text(errors="replace"))]
    assert faces and users == []


def test_every_folder_in_the_map_exists():
    for name in re.findall(r"^([a-z]+)/", MAP, re.M):
        assert (ROOT / name).is_dir(), name


def test_every_folder_of_the_tree_is_in_the_map():
    named = set(re.findall(r"^([a-z]+)/", MAP, re.M))
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    folders = {line.split("/")[0] for line in tracked.splitlines() if "/" in line and not line.startswith(".")}
    assert folders - named == set()


# Names in headers that are neither files nor in the code: a port, a keyword, the command, `model`'s table.
OTHER_NAMES = {"out", "unsafe", "ligament", "shipped"}


def test_a_folder_describes_files_that_it_has():
    stale = []
    for header in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        if header.name not in ("mod.rs", "lib.rs", "main.rs"):
            continue
        lines = header.read_text().splitlines()
        code = "\n".join(line for line in lines if not line.startswith("//!"))
        text = "\n".join(line for line in lines if line.startswith("//!"))
        files = {path.stem for path in header.parent.rglob("*")} | set(arrows())
        for name in re.findall(r"`([a-z_]+)(?:\.rs)?`", text):
            if name not in files | OTHER_NAMES and not re.search(rf"\b{name}\b", code):
                stale.append(f"{header.relative_to(ROOT)}: {name}")
    assert not stale


def test_the_map_names_files_that_a_room_has():
    stale = []
    for name, text in re.findall(r"^  ([a-z-]+)/ +(.*?)(?=^  [a-z-]+/ |^[a-z]+/ )", MAP, re.S | re.M):
        files = {path.stem for path in (ROOT / "crates" / name).rglob("*")}
        for word in re.findall(r"`([a-z_]+)/?`", text):
            if word not in files | OTHER_NAMES | set(arrows()):
                stale.append(f"{name}: {word}")
    assert not stale


def test_no_arrows_form_a_cycle():
    use = {path.split("/")[1]: used(manifest) for path, manifest in crates().items()}
    order = []
    while left := [name for name in use if name not in order]:
        free = [name for name in left if use[name] <= set(order)]
        assert free, f"these use each other: {left}"
        order += free


def test_unsafe_code_stays_in_its_rooms():
    strangers = []
    for path in crates():
        if path.startswith(UNSAFE):
            continue
        for file in (ROOT / path).glob("src/**/*.rs"):
            code = re.sub(r"//.*", "", file.read_text())
            if re.search(r"\bunsafe\s*(\{|fn|impl|extern)", code) and file != ROOT / path / "src" / "sys.rs":
                strangers.append(str(file.relative_to(ROOT)))
    assert strangers == []
