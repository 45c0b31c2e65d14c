"""Compares the times of a run in run.json, `ligament timeline` and `ligament profile`, which must be the
same."""

import json
import subprocess
from pathlib import Path

# Times are written as decimals of ns and as floating-point numbers. The difference may not be larger than the
# rounding.
NEAR = 1e-6


def of_run(command, directory, which, output):
    """Returns the output of a command about a run's times; empty if the run has no timeline."""
    words = [str(command), which, str(directory), "--json", "--output", str(output)]
    done = subprocess.run(words, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def disagreements(command, directory, scratch):
    """Returns the differences, one sentence each. Files go into the directory `scratch`."""
    record = json.loads((Path(directory) / "run.json").read_text())
    profile = of_run(command, directory, "profile", Path(scratch) / "times.svg")
    timeline = of_run(command, directory, "timeline", Path(scratch) / "times.json")
    if not profile or not timeline:
        return []
    found = []
    lanes = {one["name"]: one for one in profile["instances"] if one["began"] is not None}
    if lanes != {one["name"]: one for one in timeline["instances"] if one["began"] is not None}:
        found.append("timeline and profile differ")
    waits = {}
    for wait in timeline["waits"]:
        waits[wait["instance"]] = waits.get(wait["instance"], 0.0) + wait["seconds"]
    for one in record["instances"]:
        name = one["name"]
        # An instance that never registered has no times; a light component has no timeline.
        if name not in lanes or one["total"] == 0.0:
            continue
        said = {"run.json": one["waiting"], "profile": lanes[name]["waiting"], "causes": waits.get(name, 0.0)}
        if max(said.values()) - min(said.values()) > NEAR:
            found.append(f"{name} waited for {said}")
        copied = lanes[name]["sending"] + lanes[name]["receiving"]
        said = {"run.json": one["transferring"], "profile": copied}
        if max(said.values()) - min(said.values()) > NEAR:
            found.append(f"{name} copied for {said}")
        # The comparison is not exact, because the timeline begins when the run has made it.
        said = {"run.json": one["computing"], "profile": lanes[name]["computing"]}
        if max(said.values()) - min(said.values()) > 0.01:
            found.append(f"{name} computed for {said}")
    return found
