"""The command of the package, and scripts as processes of their own."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import ligament

TESTS = Path(__file__).parent


def command(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "ligament", *arguments], capture_output=True, text=True, timeout=60, **options
    )


def test_the_package_has_the_command():
    done = command("version")
    assert done.returncode == 0
    assert done.stdout == f"ligament {ligament.__version__}\n"


def test_the_command_checks_a_model(tmp_path):
    model = ligament.Model("one")
    model.add("a", program=sys.executable)
    model.save(tmp_path / "good.ymmsl")
    assert command("check", "good.ymmsl", cwd=tmp_path).returncode == 0
    (tmp_path / "bad.ymmsl").write_text("ymmsl_version: v0.2\nmodles: {}\n")
    bad = command("check", "bad.ymmsl", cwd=tmp_path)
    assert bad.returncode == 2
    assert "bad.ymmsl:2" in bad.stdout + bad.stderr


def test_the_command_runs_a_model_of_python_programs(tmp_path):
    program = tmp_path / "hello.py"
    program.write_text(
        "import ligament\nwith ligament.Instance() as i:\n    print(i.name, i.get_setting('x'))\n")
    model = ligament.Model("hello")
    model.add("greeter", program=[sys.executable, program])
    model.save(tmp_path / "hello.ymmsl")
    done = command("run", "hello.ymmsl", "-s", "x=7", "--run-dir", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here/instances/greeter/output.log").read_text() == "greeter 7\n"


INTERRUPTED = """
import sys
sys.path.insert(0, sys.argv[1])
import ligament
from conftest import dialogue

def asker():
    instance = ligament.Instance()
    while instance.reuse_instance():
        print("waiting", flush=True)
        instance.receive("answer")

def teller():
    instance = ligament.Instance()
    while instance.reuse_instance():
        instance.receive("question")

try:
    ligament.run(dialogue(), {"asker": asker, "teller": teller}, run_dir="run")
except KeyboardInterrupt:
    print("interrupted in order")
"""


def test_ctrl_c_ends_a_scripts_run_in_order(tmp_path):
    script = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(TESTS)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # The log shows when both instances have joined.
        registered = 0
        while registered < 2:
            line = script.stderr.readline()
            assert line, "the script ended early"
            registered += "registered" in line
        script.send_signal(signal.SIGINT)
        said, errors = script.communicate(timeout=60)
    finally:
        script.kill()
        script.wait()
    assert said == "interrupted in order\n", errors
    assert "interrupted" in (tmp_path / "run/run.json").read_text()


def test_a_script_that_is_killed_takes_its_instances_with_it(tmp_path):
    script = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(TESTS)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    processes = []
    try:
        while len(processes) < 2:
            line = script.stderr.readline()
            assert line, "the script ended early"
            if "registered" in line:
                processes.append(os.pidfd_open(int(line.split("process ")[1].split(")")[0])))
        script.kill()
        for process in processes:
            ended, _, _ = select.select([process], [], [], 60)
            assert ended, "an instance outlives its run"
    finally:
        script.kill()
        script.communicate()


def test_the_first_program_of_the_readme_runs(tmp_path):
    readme = (TESTS.parent / "README.md").read_text()
    program = readme.split("```python\n", 1)[1].split("```", 1)[0]
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    directory = done.stdout.split()[0]
    assert Path(directory).parent == tmp_path / "runs"
