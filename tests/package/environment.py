"""A new environment that has only the wheel, and programs that run there like a user's: they know no variable,
path or file of this repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 120  # s, for one command


def build_wheel(out):
    """Builds the wheel with the script that makes every wheel."""
    done = subprocess.run(
        [ROOT / "packaging/build-wheel", out], env=os.environ | {"PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    assert done.returncode == 0, done.stdout
    return Path(done.stdout.splitlines()[-1])


def pinned(package):
    """A package with the version that the tests use."""
    lines = (ROOT / "packaging/requirements.txt").read_text().splitlines()
    return next(line for line in lines if re.match(rf"{package}==", line))


class Environment:
    """A virtual environment as a user has it after `. bin/activate`, and a directory to work in."""

    def __init__(self, place, python=sys.executable):
        self.prefix, self.here = place / "venv", place / "here"
        self.here.mkdir(parents=True)
        self.variables = {
            "PATH": f"{self.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
            "VIRTUAL_ENV": str(self.prefix),
            "HOME": str(place),
            "LANG": "C.UTF-8",
        }
        # The machine decides where packages come from, and how it reaches them.
        self.variables |= {k: v for k, v in os.environ.items() if k.startswith("PIP_")
                           or k.lower().endswith("_proxy")}
        # The environment is not made by this process's own environment, because venv would make a child of
        # that.
        subprocess.run([python, "-m", "venv", self.prefix], env=self.variables | {"PATH": os.environ["PATH"]},
                       check=True)

    def install(self, *packages):
        # Python compiles the modules that a program imports; pip would compile all of them, for seconds.
        return self("pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *packages)

    def try_(self, *command, **variables):
        """Runs a command, and returns its status and its output."""
        done = subprocess.run(
            [str(word) for word in command], cwd=self.here, env=self.variables | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT,
        )
        return done.returncode, done.stdout

    def __call__(self, *command, **variables):
        """Runs a command that must succeed, and returns its output."""
        status, output = self.try_(*command, **variables)
        assert status == 0, f"{command} ended with {status}:\n{output}"
        return output

    def shell(self, line, **variables):
        return self("bash", "-euo", "pipefail", "-c", line, **variables)

    def write(self, name, text):
        (self.here / name).write_text(text)
