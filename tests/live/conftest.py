"""Runs, the page of a run, and a browser that shows it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sshd import Ssh

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from pages import (  # noqa: E402
    DEADLOCK, DEAF, ECHO, FRONT, MODEL, SAVED_ECHO, SAVED_FRONT, SOURCE, STEERED, STUCK, WORKER, Browser, Place)


@pytest.fixture
def place(tmp_path, ligament, python_program):
    def program(name, text):
        return python_program(name, "import numpy as np\n"
                              + text.replace("HERE", repr(str(tmp_path))).replace("data=step", "data=1"))

    one = Place(tmp_path, ligament)
    (tmp_path / "endless.ymmsl").write_text(MODEL.format(source=program("source", SOURCE),
                                                         worker=program("worker", WORKER)))
    (tmp_path / "knot.ymmsl").write_text(DEADLOCK.format(stuck=program("stuck", STUCK)))
    steered = {"front": program("front", FRONT), "echo": program("echo", ECHO)}
    (tmp_path / "steered.ymmsl").write_text(STEERED.format(deaf="", **steered))
    saved = {"front": program("saved_front", SAVED_FRONT), "echo": program("saved_echo", SAVED_ECHO)}
    (tmp_path / "saved.ymmsl").write_text(STEERED.format(deaf="", **saved))
    deaf = STEERED.format(deaf="    deaf: {implementation: deaf}\n", **steered)
    (tmp_path / "deaf.ymmsl").write_text(f"{deaf}  deaf: {program('deaf', DEAF)}\n")
    yield one
    one.clear()


@pytest.fixture(scope="session")
def driver():
    """The library that drives the browser, installed once, as the lock file has it."""
    if not (HERE / "node_modules/playwright-core/package.json").exists():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=HERE, check=True, timeout=300)
    program = shutil.which("chromium")
    assert program, "there is no chromium; apt-get install chromium"
    return program


@pytest.fixture(scope="session")
def ssh(tmp_path_factory):
    """An sshd, and what a client needs to reach it."""
    one = Ssh(tmp_path_factory.mktemp("ssh"))
    yield one
    one.end()


@pytest.fixture(scope="session")
def started(driver):
    """A browser, which takes a second to start."""
    one = Browser(driver)
    yield one
    one.close()


@pytest.fixture
def browser(started):
    """A new browser, without cookies."""
    yield started
    started.does("forget")


@pytest.fixture
def pictures(tmp_path):
    """The directory for pictures of panels: LIGAMENT_PICTURES, for a user who wants to see them."""
    path = Path(os.environ.get("LIGAMENT_PICTURES", tmp_path))
    path.mkdir(parents=True, exist_ok=True)
    return path
