"""The pages are right: links lead to existing places, and the commands of the pages do what the pages say."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from follow import Reader, follow, of_a_clone
from pages import File, pattern, prose_links, steps

ROOT = Path(__file__).resolve().parent.parent.parent

PAGES = sorted(
    path
    for glob in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md",
                 "bindings/*/README.md", "faces/*/README.md", "examples/*/README.md",
                 "benchmarks/README.md", "benchmarks/*/README.md"]
    for path in ROOT.glob(glob)
)
FOLLOWED = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def name_of(path):
    return str(path.relative_to(ROOT))


def anchors(page):
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page):
    lost = []
    for link in prose_links(page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            lost.append(link)
    assert not lost, f"{name_of(page)} links to what is not there: {', '.join(lost)}"


@pytest.fixture
def reader(tmp_path):
    """A reader with an empty directory, who has installed Ligament from the build tree."""
    here = tmp_path / "here"
    here.mkdir()
    environment = {
        **os.environ,
        "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LIGAMENT": str(ROOT),
        # Cargo finds the dependencies where the build of Ligament has put them, and builds them once for all
        # readers.
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "CARGO_NET_OFFLINE": "true",
        # The build needs no debug information and no incremental state.
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_INCREMENTAL": "0",
    }
    environment.pop("CARGO_TARGET_DIR", None)
    built = ROOT / "target/docs"
    built.mkdir(parents=True, exist_ok=True)
    (here / "target").symlink_to(built)
    shutil.copy(ROOT / "Cargo.lock", here)
    reader = Reader(here, environment)
    yield reader
    reader.leave()


def jdk_new_enough():
    """Returns the place of a JDK for the page about Java, found as the example's script does; or the reason why
    there is none."""
    script = ROOT / "examples/heated-plate/java"
    done = subprocess.run([script, "-XshowSettings:properties", "-version"], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return re.search(r"java\.home = (.*)", done.stderr).group(1)


def after_installing(line):
    """Returns true if a command comes after those of the installation. tests/package follows these with the
    wheel."""
    return not of_a_clone(line) and not line.startswith(("python3 -m venv", ". ", "pip install"))


@pytest.mark.parametrize("page", FOLLOWED, ids=name_of)
def test_what_a_page_tells_to_type_does_what_it_says(page, reader):
    if page.name == "java.md":
        reader.environment["PATH"] = f"{jdk_new_enough()}/bin:{reader.environment['PATH']}"
    follow(page.read_text(), reader, after_installing)


def test_a_page_with_another_output_is_noticed():
    assert pattern(["a … c", "…", "end"]).match("a b c\n1\n2\nend\n")
    assert not pattern(["a … c"]).match("a b d\n")
    assert not pattern(["end"]).match("the end\n")
    assert not pattern(["one"]).match("one\ntwo\n")


def test_a_file_and_a_command_are_found_in_their_order():
    page = "`a.py`, a file:\n\n```python\nx\n```\n\n```console\n$ cat a.py\nx\n```\n\n    $ true   # yes\n"
    kinds = [(s.name if isinstance(s, File) else s.line) for s in steps(page)]
    assert kinds == ["a.py", "cat a.py", "true"]
