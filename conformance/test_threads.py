"""The driver in C++ with one thread for each port passes all cases. tests/sanitizers/run compiles it with
ThreadSanitizer."""

import json
import subprocess

import programs
import referee


def test_threads_that_take_turns_with_an_instance_pass_every_case(driver, tmp_path):
    threads = [*driver("cpp", "driver"), "threads"]
    results = tmp_path / "results.json"
    # The model has three instances of each, so that the second ones have three ports and so three threads.
    model = referee.model({name: threads for name in ("one", "two", "three")}, programs.HERE, results)
    (tmp_path / "model.ymmsl").write_text(model)
    run = subprocess.run([programs.TARGET / "ligament", "run", "model.ymmsl", "--run-dir", "run", "--quiet"],
                         cwd=tmp_path,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert run.returncode == 0, run.stdout
    verdict = json.loads(results.read_text())
    assert verdict["wrong"] == []
    assert set(verdict["counts"].values()) == {verdict["cases"]} and len(verdict["counts"]) == 9
