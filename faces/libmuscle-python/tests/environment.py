"""An environment with the face and without MUSCLE 3, made of the packages of this one."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

FACE = Path(__file__).resolve().parent.parent
# The packages that have the same modules.
PEERS = ("libmuscle", "muscle3", "ligament_libmuscle")


def make_environment(home):
    """Makes a virtual environment in a folder that does not exist yet, and returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    site = next(home.glob("lib/python*/site-packages"))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(PEERS):
            (site / entry.name).symlink_to(entry)
    (site / "face.pth").write_text(f"{FACE}\n")
    (home / "bin/ligament").symlink_to(shutil.which("ligament", path=Path(sys.executable).parent))
    return home / "bin/python"
