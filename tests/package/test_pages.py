"""A newcomer with the wheel follows the pages for getting started, each in an empty directory, to the
letter."""

import shutil
import subprocess
import sys

from environment import ROOT, pinned

PAGES = ["getting-started/README", "getting-started/c", "getting-started/cpp", "getting-started/python",
         "getting-started/fortran", "guides/fortran", "guides/building"]


def test_the_pages_for_getting_started_are_right_for_the_wheel(wheel, environment, tmp_path):
    # The place of the wheel after `make wheel`, which the page runs before.
    (tmp_path / "dist").mkdir()
    shutil.copy(wheel, tmp_path / "dist")
    # NumPy comes from pip's source; the pages make their own environment.
    wheelhouse = tmp_path / "wheelhouse"
    environment("pip", "download", "--quiet", "--no-deps", "--dest", wheelhouse, pinned("numpy"))
    variables = {k: v for k, v in environment.variables.items() if k != "VIRTUAL_ENV"}
    variables |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path),
                  "PIP_FIND_LINKS": str(wheelhouse),
                  "PIP_NO_INDEX": "1"}
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").symlink_to(sys.executable)
    variables["PATH"] = f"{tools}:{variables['PATH']}"
    done = subprocess.run(
        [sys.executable, ROOT / "tests/docs/follow.py", *(ROOT / f"docs/{page}.md" for page in PAGES)],
        cwd=tmp_path, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(PAGES)} passed, 0 failed" in done.stdout
