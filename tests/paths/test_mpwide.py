"""MPWide's test programs, rewritten from the guide (docs/guides/paths.md) in each language. They exchange
messages with those of the other languages over a wide-area link that is cut, and whose connections are broken,
meanwhile."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ligament import path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LANGUAGES = ["c", "cpp", "python", "rust"]
CUT = 3  # s
MIB = 1 << 20


def source(name, suffix):
    """The programs of the guide in C and Python are among the tests of their bindings."""
    found = [folder / f"{name}{suffix}"
             for folder in (HERE, ROOT / "bindings/c/tests", ROOT / "bindings/python/tests",
                            ROOT / "crates/link/examples")]
    return next(file for file in found if file.exists())


@pytest.fixture(scope="module")
def commands(compile_c, compile_cpp):
    """The command line of each program in each language."""
    subprocess.run(["cargo", "build", "--profile", "tests", "--locked", "--quiet", "-p", "ligament-link",
                    "--examples"],
                   cwd=ROOT, check=True)
    return {
        name: {
            "c": [compile_c(source(name, ".c"))],
            "cpp": [compile_cpp(source(name, ".cpp"))],
            "python": [sys.executable, source(name, ".py")],
            "rust": [ROOT / "target/tests/examples" / name],
        } for name in ("ping_pong", "concurrent")
    }


class Pair:
    """A program at both ends of a link: `b` listens in one language, and `a` opens in another."""

    def __init__(self, link, folder, listens, opens, words):
        key = folder / f"{len(list(folder.glob('*.key')))}.key"
        path.make_key(key)
        self.log = key.with_suffix(".txt")
        with self.log.open("w") as log:
            self.listens = link.b.start(*listens, "listen", key, f"{link.b.v4}:0", *words[0],
                                        stdout=subprocess.PIPE,
                                        stderr=log, text=True)
            port = self.listens.stdout.readline().strip()
            self.opens = link.a.start(*opens, "open", key, f"{link.b.v4}:{port}", *words[1], stdout=log,
                                      stderr=log)

    def succeed(self, limit=120):
        until = time.monotonic() + limit
        statuses = [one.wait(max(until - time.monotonic(), 0.1)) for one in (self.opens, self.listens)]
        assert statuses == [0, 0], self.log.read_text()


def carried(host):
    """Returns the number of bytes of the link that have left this end."""
    lines = host.run("cat", "/proc/net/dev").splitlines()
    return int(next(line for line in lines if line.strip().startswith("wan0:")).split(":")[1].split()[8])


@pytest.mark.parametrize("name, words", [
    ("ping_pong", ([], ["40", "300000"])),
    ("concurrent", (["80"], ["80"])),
])
def test_the_programs_of_all_languages_talk_to_each_other_over_a_link_that_is_cut(wide_area, commands, tmp_path,
                                                                                  name, words):
    # The pace is so low that no program ends while the test waits for some seconds.
    link = wide_area(rtt=20, rate=50)
    # Each language listens for the one before it.
    pairs = [Pair(link, tmp_path, commands[name][one], commands[name][LANGUAGES[number - 1]], words)
             for number, one in enumerate(LANGUAGES)]

    def pass_some():
        enough, until = carried(link.a) + 2 * MIB, time.monotonic() + 120
        while carried(link.a) < enough:
            assert time.monotonic() < until, "nothing passes"
            time.sleep(0.01)

    pass_some()
    link.cut()
    time.sleep(CUT)
    link.restore()
    pass_some()
    assert any(pair.opens.poll() is None for pair in pairs), "all was over before connections broke"
    assert link.a.run("ss", "-K", "-Htn", "dst", link.b.v4), "no connection broke"
    for pair in pairs:
        pair.succeed()
    link.close()
    assert int(re.search(r"a->b: .* cut (\d+)\+", link.said()).group(1)) > 0
