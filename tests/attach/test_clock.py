"""The clock of a machine is set while a run goes on: the duration of the run does not depend on it."""

import json
import os
import subprocess

import pytest

from terminals import until

# Shifts the time of day by the number in a file.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, now);
    if (result == 0 && which == CLOCK_REALTIME) {
        FILE *file = fopen(getenv("CLOCK_SHIFT"), "r");
        long shift = 0;
        if (file && fscanf(file, "%ld", &shift) == 1) now->tv_sec += shift;
        if (file) fclose(file);
    }
    return result;
}
"""


@pytest.mark.parametrize("shift", [-7200, 7200])
def test_how_long_a_run_lasts_does_not_follow_the_time_of_day(place, tmp_path, monkeypatch, shift):
    source, clock = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", str(source), "-o", str(clock), "-ldl"], check=True)
    monkeypatch.setenv("CLOCK_SHIFT", str(tmp_path / "shift"))
    monkeypatch.setenv("LD_PRELOAD", str(clock))
    place.detached()
    monkeypatch.delenv("LD_PRELOAD")
    place.is_under_way()
    (tmp_path / "shift.new").write_text(str(shift))
    os.replace(tmp_path / "shift.new", tmp_path / "shift")
    status = json.loads(place.call("status", "run", "--json")[0])
    assert 0 < status["duration"] < 3600, status["duration"]
    place.tells("go")
    until(lambda: place.record["state"] != "running", "the end of the run")
    assert place.record["state"] == "done"
    assert status["duration"] <= place.record["duration"] < 3600
