"""A disk that is full costs the checkpoints that cannot be written, and nothing else."""

import json
import os
import shutil
import subprocess

from conftest import ROOT

CODE = """
    import numpy as np

    instance = Instance({Operator.O_F: ["out"]}, InstanceFlags.USES_CHECKPOINT_API)
    while instance.reuse_instance():
        instance.resuming()
        instance.should_init()
        for number in range(1, 13):
            if number == 5:
                with open("ballast", "wb", buffering=0) as ballast:
                    try:
                        while True:
                            ballast.write(bytes(4096))
                    except OSError:
                        pass
            if number == 9:
                os.unlink("ballast")
            if instance.should_save_snapshot(float(number)):
                instance.save_snapshot(Message(float(number), None, np.full(100000, float(number))))
        instance.should_save_final_snapshot()
    """


def test_a_full_disk_costs_the_checkpoints_of_its_time(tmp_path, python_code):
    (tmp_path / "model.ymmsl").write_text(f"""
ymmsl_version: v0.2
models: {{one: {{components: {{code: {{ports: {{o_f: out}}, implementation: code}}}}}}}}
programs: {{code: {python_code("code", CODE)}}}
checkpoints: {{simulation_time: [{{every: 2, start: 2}}]}}
ligament: {{checkpoints: {{keep: 10}}}}
""")
    place = tmp_path / "small"
    place.mkdir()
    command = shutil.which("ligament", path=f"{ROOT / 'target/release'}:{os.environ['PATH']}")
    run = f"{command} run {tmp_path}/model.ymmsl --run-dir {place}/run"
    script = f"mount -t tmpfs -o size=12m none {place} && {run}; " \
             f"echo status $?; cp -r {place}/run {tmp_path}/kept"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True, text=True, timeout=120,
                          check=False)
    said = done.stdout + done.stderr
    assert "status 0" in said, said
    assert "checkpoint-unwritable" in said and "No space left" in said and "was given up" in said, said
    checkpoints = tmp_path / "kept" / "checkpoints"
    times = [json.loads(file.read_text())["model_time"] for file in checkpoints.glob("*/checkpoint.json")]
    assert sorted(times) == [2.0, 4.0, 10.0, 12.0], said
    assert sorted(one.name for one in checkpoints.iterdir()) == ["1", "2", "3", "4"]
