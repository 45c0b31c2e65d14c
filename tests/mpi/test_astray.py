"""Ranks that go astray: they are missing from a collective call, make another one, or end MPI before the
instance. Either the run ends, names the rank and says what to do; or, if the rank may still come, status names
it."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from test_kills import nobody_left
from test_mpi import HERE, LIMIT, MPIS, Run, compiled

RANKS = 3
OWN = 'bytes as the collective call 7, where rank 0 calls receive_into("start")'


@pytest.fixture(scope="module", params=MPIS)
def mpi(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"astray-{request.param}")
    return request.param, compiled(folder, request.param, "-D_DEFAULT_SOURCE",
                                   source="astray.c"), *MPIS[request.param]


@pytest.fixture(scope="module")
def in_cpp(mpi, tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("cpp"), mpi[0], source="astray.cpp")


@pytest.fixture
def python(mpi, tmp_path):
    """The variables by which Python finds the MPI."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libmpi.so.12").symlink_to("/usr/lib/x86_64-linux-gnu/libmpich.so.12")
    return {"MPI4PY_MPIABI": mpi[0], **({"LD_LIBRARY_PATH": str(tmp_path / "lib")} if mpi[0] == "mpich"
                                        else {})}


def standing(ligament, run, what):
    """Waits for a text about the ranks in the output of status, for programs and for people. On a slow machine,
    status may rightly have named another rank or call before."""
    until, relay = time.monotonic() + LIMIT, {}
    while True:
        assert run.process.poll() is None, run.end()
        assert time.monotonic() < until, relay
        told = subprocess.run([ligament, "status", "--json", run.folder], capture_output=True, text=True)
        if told.returncode == 0:
            relay = next((one for one in json.loads(told.stdout)["instances"] if one["name"] == "relay"), {})
            if re.search(what, relay.get("ranks") or "") and relay["ranks_since"] >= 1:
                shown = subprocess.run([ligament, "status", run.folder], capture_output=True, text=True).stdout
                return relay, shown
        time.sleep(0.1)


def stop(run):
    run.process.send_signal(signal.SIGINT)
    run.end()
    assert nobody_left(run)


@pytest.mark.parametrize("mode, what", [
    ("late",
     r"rank 2 \(process (\d+), sleeping\) has not come to collective call 7 \(receive_into of start\), where "
     r"rank 0"),
    ("busy, '0'",
     r"rank 0 \(process (\d+), sleeping\) has not come to collective call 8 \(reuse_instance\), where others"),
    ("unsteered",
     r"rank 2 \(process (\d+), sleeping\) has not come to collective call \d+ \(steer\), where rank 0 was"),
    ("endless",
     r"rank 2 \(process (\d+), sleeping\) has not come to the end of the instance, where rank 0 was"),
    ("after", r"rank 2 \(process (\d+), sleeping\)"),
])
def test_a_rank_that_does_not_come_is_named_by_status(ligament, tmp_path, mpi, mode, what):
    run = Run(ligament, tmp_path, mpi, RANKS, mode=mode, steps=10)
    relay, shown = standing(ligament, run, what)
    found = re.search(what, relay["ranks"])
    assert relay["ranks"].split("(")[0] in shown, shown
    assert os.readlink(f"/proc/{found[1]}/exe") == str(mpi[1])
    stop(run)


@pytest.mark.parametrize("mode, what", [
    ("order", f"finish(\"\") for 0 {OWN} for 9600 bytes"),
    ("steers", f"steer(\"\") for 0 {OWN} for 9600 bytes"),
    ("frees", f"free(\"\") for 0 {OWN} for 9600 bytes"),
    ("small", f"receive_into(\"start\") for 4800 {OWN} for 9600 bytes"),
    ("port", f"receive_into(\"begin\") for 9600 {OWN} for 9600 bytes"),
    ("finalize", "MPI_Finalize, or ends, before the instance is done; all ranks end it first"),
])
def test_a_rank_that_makes_another_call_ends_the_run_and_says_so(ligament, tmp_path, mpi, mode, what):
    run = Run(ligament, tmp_path, mpi, RANKS, mode=mode, steps=10)
    status, said = run.end()
    assert status == 1 and "relay" in said, said
    assert f"ligament: rank 2 calls {what}" in run.output(), run.output()
    assert "rank 2" in said, said
    assert nobody_left(run)


def test_a_rank_0_that_ends_mpi_too_early_says_so(ligament, tmp_path, mpi):
    run = Run(ligament, tmp_path, mpi, RANKS, mode="finalize, '0'", steps=10)
    status, said = run.end()
    assert status == 1 and "ligament: rank 0 calls MPI_Finalize" in run.output(), said
    assert nobody_left(run)


@pytest.mark.parametrize("mode", ["returns", "finalizes"])
@pytest.mark.parametrize("which", [0, 2])
def test_an_exception_on_one_rank_in_cpp_is_heard_and_ends_the_run(ligament, tmp_path, mpi, in_cpp, mode,
                                                                   which):
    run = Run(ligament, tmp_path, mpi, RANKS, mode=f"{mode}, '{which}'", program=in_cpp, steps=10)
    status, said = run.end()
    assert status == 1 and "relay" in said, said
    assert "it failed: no such place" in run.output(), run.output()
    assert mode == "returns" or f"ligament: rank {which} calls MPI_Finalize" in run.output(), run.output()
    assert nobody_left(run)


@pytest.mark.parametrize("mode, ranks", [("forgets", 3), ("threads", 3), ("well", 8)])
def test_what_is_unusual_and_well_goes_well(ligament, tmp_path, mpi, mode, ranks):
    """An instance that is over before MPI_Finalize and freed afterwards; threads; more ranks than cores."""
    run = Run(ligament, tmp_path, mpi, ranks, mode=mode, steps=10)
    status, said = run.end()
    assert status == 0 and run.output().count(f"of {ranks}: 10 passes") == ranks, said + run.output()


def test_ranks_that_are_not_in_the_communicator_take_no_part(ligament, tmp_path, mpi):
    run = Run(ligament, tmp_path, mpi, 4, mode="part", steps=10)
    # The macro model expects of each rank its own part.
    macro = tmp_path / "macro.py"
    macro.write_text(macro.read_text().replace('instance.get_setting("ranks", "int")', "3"))
    status, said = run.end()
    assert status == 0 and run.output().count("of 3: 10 passes") == 3, said + run.output()


@pytest.mark.parametrize("mode, which", [("halves", 2), ("turned", 3)])
def test_a_communicator_whose_rank_0_is_another_is_told_who_speaks(ligament, tmp_path, mpi, mode, which):
    run = Run(ligament, tmp_path, mpi, 4, mode=mode, steps=10)
    status, said = run.end()
    assert status == 1, said
    assert (f"this is rank {which} of the 4 of relay, and rank 0 speaks for all of "
            f"them") in run.output(), run.output()
    assert nobody_left(run)


@pytest.mark.parametrize("mode, what", [
    ("raise", "ValueError: no such place"),
    ("exit", "ligament: rank 2 ends before the instance is done"),
    ("port",
     "ligament: rank 2 calls receive_all('begin') for 0 bytes as the collective call 7, where rank 0 calls"),
    ("order",
     "ligament: rank 2 calls receive('start') for 0 bytes as the collective call 7, where rank 0 calls "
     "receive_all"),
    ("type", "TypeError"),
])
def test_a_rank_in_python_that_goes_astray_ends_the_run(ligament, tmp_path, mpi, python, mode, what):
    mode = f"{HERE / 'astray.py'}, {mode}"
    run = Run(ligament, tmp_path, mpi, RANKS, mode=mode, program=sys.executable, env=python, steps=10)
    status, said = run.end()
    assert status == 1 and "relay" in said, said
    assert what in run.output(), run.output()
    assert nobody_left(run)


def test_a_rank_in_python_that_does_not_come_is_named_by_status(ligament, tmp_path, mpi, python):
    mode = f"{HERE / 'astray.py'}, late"
    run = Run(ligament, tmp_path, mpi, RANKS, mode=mode, program=sys.executable, env=python, steps=10)
    words = r"^rank 2 \(process \d+, sleeping\) has not come to collective call 7 \(receive_all of start\)"
    standing(ligament, run, words)
    stop(run)
