"""A macro of few steps drives a meso and a micro through last, repeat and pad: every message equals the one
worked out by hand, with Ligament and with MUSCLE 3."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from models import MODELS, lines

HERE = Path(__file__).parent
WALKER = HERE / "walker.py"

names = pytest.mark.parametrize("name", MODELS)


def written(name, folder, *more, ligament=""):
    """Writes the model as a file for a folder in which its walkers write."""
    folder.mkdir(exist_ok=True)
    text, _ = MODELS[name]
    arguments = ", ".join(map(str, [WALKER, folder, *more]))
    text = text.replace("EXECUTABLE", sys.executable).replace("ARGUMENTS", f"[{arguments}]") + ligament
    file = folder / f"{name}.ymmsl"
    file.write_text(text)
    return file


def received(folder):
    return {path.stem: path.read_text().splitlines() for path in folder.glob("*.txt")}


def expected(name):
    return {component: lines(text) for component, text in MODELS[name][1].items()}


@names
def test_every_message_is_the_one_that_was_worked_out(name, ligament, tmp_path):
    model = written(name, tmp_path / "here")
    done = subprocess.run(
        [ligament, "run", model, "--run-dir", tmp_path / "run"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert received(tmp_path / "here") == expected(name)


@names
def test_light_components_receive_the_same(name, ligament, tmp_path):
    model = written(name, tmp_path / "here", "--light", ligament="ligament: {light: [walker]}\n")
    done = subprocess.run(
        [ligament, "run", model, "--run-dir", tmp_path / "run"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert received(tmp_path / "here") == without_ends(expected(name))


@names
def test_milestones_travel_between_domains(name, ligament, tmp_path):
    """Each component is in another domain than the one before it."""
    model, directory = written(name, tmp_path / "here"), tmp_path / "run"
    components = dict.fromkeys(component.split("[")[0] for component in expected(name))
    places = [word for i, one in enumerate(components) for word in ("--on", f"{i % 2}={one}")]
    here = ["--listen", "127.0.0.1"]
    head = subprocess.Popen(
        [ligament, "run", model, "--domains", "1", "--overcommit", "--run-dir", directory, *here, *places],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    try:
        until = time.monotonic() + 60
        while not (directory / "invitation").exists() and head.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        agent = subprocess.run(
            [ligament, "agent", "--join", directory / "invitation", "--domain", "1", *here],
            capture_output=True, text=True, timeout=60,
        )
        said, _ = head.communicate(timeout=60)
    finally:
        head.kill()
    assert (head.returncode, agent.returncode) == (0, 0), said + agent.stdout + agent.stderr
    assert received(tmp_path / "here") == expected(name)


@names
def test_the_check_finds_nothing_wrong(name, ligament, tmp_path):
    done = subprocess.run([ligament, "check", written(name, tmp_path / "here")], capture_output=True, text=True)
    assert (done.returncode, "timeline" in done.stdout) == (0, False), done.stdout + done.stderr


@names
def test_muscle_3_says_the_same(name, tmp_path):
    pytest.importorskip("libmuscle", reason="pip install muscle3==0.11.0")
    folder = tmp_path / "there"
    command = [sys.executable, HERE / "muscle.py", written(name, folder), folder]
    until = time.monotonic() + 120
    with open(folder / "said", "w") as said:
        run = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, start_new_session=True)
    try:
        # MUSCLE 3 0.11.0 does not close a conduit whose "last" leads to the outermost timeline, so the receiver
        # waits for ever after its last pass. All messages have been received then.
        while run.poll() is None and without_ends(received(folder)) != without_ends(expected(name)):
            assert time.monotonic() < until, f"{received(folder)}\n{(folder / 'said').read_text()}"
            time.sleep(0.05)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert without_ends(received(folder)) == without_ends(expected(name)), (folder / "said").read_text()


def without_ends(files):
    return {component: [line for line in all if line != "over"] for component, all in files.items()}


LAST_OF_SLOTS = """ymmsl_version: v0.2
models:
  m:
    components:
      macro: {{ports: {{o_i: call, s: profile}}, implementation: macro}}
      meso: {{ports: {{f_init: begin, o_i: data}}, implementation: meso}}
    conduits:
      macro.call: meso.begin
      meso.data: last macro.profile
programs:
  macro: {{executable: {python}, args: [macro.py]}}
  meso: {{executable: {python}, args: [meso.py]}}
"""


def test_last_is_refused_where_the_code_sets_the_length_of_the_port(ligament, tmp_path):
    make = ("from ligament import Instance, Operator\ninstance = Instance({})\nwhile "
            "instance.reuse_instance():\n    {}\n")
    (tmp_path / "macro.py").write_text(
        make.format('{Operator.O_I: ["call"], Operator.S: ["profile[]"]}', 'instance.receive("profile", 0)')
    )
    (tmp_path / "meso.py").write_text(
        make.format('{Operator.F_INIT: ["begin"], Operator.O_I: ["data[]"]}',
                    'instance.set_port_length("data", 3)')
    )
    (tmp_path / "m.ymmsl").write_text(LAST_OF_SLOTS.format(python=sys.executable))
    command = [ligament, "run", "m.ymmsl", "--run-dir", "run"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert ('port "data" has the filter "last", and the code sets the length of this '
            'port') in done.stderr, done.stderr
