"""Each instance has cores of its own, if there are enough for all. Each run is in a process namespace of its
own, so that the cores of other tests' instances do not count."""

import json
import os
import subprocess
import sys

import pytest

SAYS = """
import os, sys
from ligament import Instance
instance = Instance()
while instance.reuse_instance():
    pass
print("cores", sorted(os.sched_getaffinity(0)), os.environ.get("OMP_NUM_THREADS"), os.environ.get("OMP_PLACES"),
      os.environ.get("OMP_PROC_BIND"), flush=True)
"""
FUNCTIONS = """
import os
from pathlib import Path
from ligament import Instance, Model, run
model = Model("forked")
for name in "ab":
    model.add(name)
def say():
    instance = Instance()
    while instance.reuse_instance():
        pass
    print("cores", sorted(os.sched_getaffinity(0)))
result = run(model, {"a": say, "b": say}, run_dir="run", show="nothing")
for name in "ab":
    print(result.output(name), end="")
"""
CORES = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="one core only: nothing can be bound")


def model(instances, threads=1, env=""):
    lines = ["ymmsl_version: v0.1", "model:", "  name: cores", "  components:"]
    lines += [f"    p{i}: {{implementation: says}}" for i in range(instances)]
    lines += [f"implementations:\n  says: {{executable: {sys.executable}, args: says.py{env}}}", "resources:"]
    lines += [f"  p{i}: {{threads: {threads}}}" for i in range(instances)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(tmp_path):
    (tmp_path / "says.py").write_text(SAYS)

    def run(text, cores=CORES):
        (tmp_path / "model.ymmsl").write_text(text)
        words = ["unshare", "--fork", "--pid", "--mount-proc", "taskset", "-c", ",".join(map(str, cores)),
                 "ligament", "run", "--quiet", "--run-dir", "run", "model.ymmsl"]
        subprocess.run(words, cwd=tmp_path, check=True, timeout=120)
        record = json.loads((tmp_path / "run/run.json").read_text())
        outputs = sorted((tmp_path / "run/instances").glob("*/output.log"))
        return [path.read_text().split("cores ")[1].strip()
                for path in outputs], [one.get("cores") for one in record["instances"]]

    return run


def test_two_instances_have_a_core_each_and_the_record_says_which(run):
    said, recorded = run(model(2), CORES[:2])
    assert said == [f"[{core}] 1 {{{core}}} close" for core in CORES[:2]]
    assert recorded == [str(core) for core in CORES[:2]]


def test_where_there_are_too_few_cores_nobody_is_bound(run):
    said, recorded = run(model(3), CORES[:2])
    assert said == [f"{CORES[:2]} 1 None None"] * 3
    assert recorded == [None] * 3


def test_an_instance_with_threads_has_as_many_cores(run):
    said, recorded = run(model(1, threads=2), CORES[:2])
    assert said == [f"{CORES[:2]} 2 {{{CORES[0]}}},{{{CORES[1]}}} close"]
    assert recorded == [f"{CORES[0]}-{CORES[1]}" if CORES[1] == CORES[0] + 1 else f"{CORES[0]},{CORES[1]}"]


def test_what_the_user_has_set_stays(run):
    said, _ = run(model(2, env=", env: {OMP_PLACES: threads, OMP_PROC_BIND: spread}"), CORES[:2])
    assert [line.split(maxsplit=1)[1] for line in said] == ["1 threads spread"] * 2


def test_a_core_to_which_somebody_is_bound_is_left_to_them(run, tmp_path):
    """There are two instances and two cores, one of which belongs to another run: no instance is bound."""
    (tmp_path / "model.ymmsl").write_text(model(2))
    inside = (f"taskset -c {CORES[0]} sleep 600 & until taskset -cp $! | grep -q ': {CORES[0]}$'; do :; done; "
              "ligament run --quiet --run-dir run model.ymmsl; status=$?; kill $!; exit $status")
    subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", "taskset", "-c", f"{CORES[0]},{CORES[1]}",
                    "sh", "-c",
                    inside], cwd=tmp_path, check=True, timeout=120)
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert [one.get("cores") for one in record["instances"]] == [None, None]


WAITS = """
import sys, time
from pathlib import Path
from ligament import Instance
instance = Instance()
while instance.reuse_instance():
    while not Path(sys.argv[1]).exists():
        time.sleep(0.01)
"""


def test_status_and_summary_say_who_has_which_cores(tmp_path):
    (tmp_path / "says.py").write_text(WAITS)
    (tmp_path / "model.ymmsl").write_text(model(1, threads=2).replace("args: says.py",
                                                                      f"args: [says.py, {tmp_path}/go]"))
    inside = """
        ligament run --run-dir run model.ymmsl > summary & run=$!
        until ligament status run 2>/dev/null | grep -q computing; do kill -0 $run || exit 1; sleep 0.02; done
        ligament status run > status; ligament status --json run > status.json
        touch go; wait $run"""
    subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", "taskset", "-c", f"{CORES[0]},{CORES[1]}",
                    "sh", "-c",
                    inside], cwd=tmp_path, check=True, timeout=120)
    cores = f"{CORES[0]}-{CORES[1]}" if CORES[1] == CORES[0] + 1 else f"{CORES[0]},{CORES[1]}"
    assert f"computing, on cores {cores}" in (tmp_path / "status").read_text()
    assert json.loads((tmp_path / "status.json").read_text())["instances"][0]["cores"] == cores
    assert f"\ncores: p0 {cores}\n" in (tmp_path / "summary").read_text()


def test_check_says_if_a_model_asks_for_more_cores_than_there_are(tmp_path):
    (tmp_path / "says.py").write_text(SAYS)

    def check(text, *more):
        (tmp_path / "model.ymmsl").write_text(text)
        return subprocess.run(["taskset", "-c", f"{CORES[0]},{CORES[1]}", "ligament", "check", "model.ymmsl",
                               *more],
                              cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120).stdout

    note = "its instances ask for 4 cores together, and this machine has 2"
    assert f"note: {note}" in check(model(2, threads=2))
    assert json.loads(check(model(2, threads=2), "--json"))["notes"][0].startswith(note)
    assert "note" not in check(model(2, threads=2), "--elsewhere")
    # Instances of one core each take turns.
    assert "note" not in check(model(3)) and "note" not in check(model(1, threads=2))


def test_functions_of_a_script_have_cores_too(tmp_path):
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    done = subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", "taskset", "-c",
                           f"{CORES[0]},{CORES[1]}",
                           sys.executable, "functions.py"], cwd=tmp_path, capture_output=True, text=True,
                           timeout=120)
    assert done.stdout.splitlines() == [f"cores [{CORES[0]}]", f"cores [{CORES[1]}]"], done.stdout + done.stderr
