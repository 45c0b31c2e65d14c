"""Runs in which a rank, a launcher or a launcher's helper is killed: the run ends, names the lost process, and
leaves none."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from test_mpi import LIMIT, MACRO, Run, mpi  # noqa: F401

RANKS = 4
LAUNCHERS = ("mpirun", "mpirun.openmpi", "orterun", "mpiexec.hydra", "mpirun.mpich")


def children():
    """The children of every process."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    return found


def below(pid):
    """All descendants of a process, the nearest first."""
    tree, found, left = children(), [], [pid]
    while left:
        found += (new := tree.get(left.pop(0), []))
        left += new
    return found


def name_of(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


# The exit of MPICH's launcher if its helper is killed early: it may write to the helper, or report the loss
# itself. No other process has seen the helper.
UNSEEN_HELPER = r"relay was ended by signal SIGPIPE|relay ended with exit status \d+ .*\[mpiexec@"


def resolved(link):
    try:
        return os.readlink(link)
    except OSError:
        return ""


def nobody_left(run):
    """Returns true if no process works in the run's directory any more."""
    until = time.monotonic() + LIMIT
    here = str(run.folder.resolve())
    while left := [cwd for cwd in Path("/proc").glob("[0-9]*/cwd") if here in resolved(cwd)]:
        if time.monotonic() > until:
            return not left
        time.sleep(0.02)
    return True


def found(run, who):
    """The processes of a run of one kind, and the number of ranks."""
    guard = [pid for pid in below(run.process.pid) if name_of(pid) == "ligament-guard"]
    all_of_it = below(guard[0]) if guard else []
    launchers = [pid for pid in all_of_it if name_of(pid) in LAUNCHERS]
    tree = children()
    # A process that a helper starts looks like the helper until it is a rank.
    helpers = [pid for one in launchers for pid in tree.get(one, []) if name_of(pid) == "hydra_pmi_proxy"]
    if who == "unborn":
        # A process that is to be a rank, but does not run its program yet.
        parents = helpers or launchers[:1]
        return [pid for parent in parents for pid in tree.get(parent, []) if name_of(pid) != "hydra_pmi_proxy"]
    return {"rank": [pid for pid in all_of_it if name_of(pid) == "relay"], "mpirun": launchers,
            "helper": helpers}[who]


def wait_for(run, who, when):
    """Returns such a process: as soon as there is one, or when all ranks have joined."""
    until = time.monotonic() + LIMIT
    log = run.folder / "manager.log"
    while True:
        there = found(run, who)
        under_way = log.exists() and "relay: registered" in log.read_text() and len(found(run, "rank")) >= RANKS
        if there and (when == "at start" or under_way):
            return there
        assert time.monotonic() < until and run.process.poll() is None, run.end()
        time.sleep(0.001 if when == "at start" else 0.02)


@pytest.mark.parametrize("when", ["at start", "under way"])
@pytest.mark.parametrize("who", ["rank", "unborn", "mpirun", "helper"])
def test_a_killed_rank_launcher_or_helper_ends_the_run_and_leaves_nobody(ligament, tmp_path, mpi, who,
                                                                         when):  # noqa: F811
    if mpi[0] == "openmpi" and who == "helper":
        who = "rank"  # where all is on one machine, there is no helper
    if when == "under way" and who == "unborn":
        who = "rank"
    run = Run(ligament, tmp_path, mpi, RANKS, steps=10_000_000)
    killed = wait_for(run, who, when)[-1]
    os.kill(killed, signal.SIGKILL)
    status, said = run.end()
    assert status == 1 and "relay" in said, f"status {status}: {said}"
    if who == "helper":
        name, how = "hydra_pmi_proxy", "was ended by signal SIGKILL"
        if when == "at start":
            # At first the process looks like its launcher, which may ask for its end before the guard does.
            name, how = "(hydra_pmi_proxy|a process)", f"({how}|ended first)"
        lost = re.search(f"relay lost {name}, which its launcher had started and which {how}", said)
        assert lost or when == "at start" and re.search(UNSEEN_HELPER, said), said
    elif who != "mpirun":
        # The run gives the reason; or the launcher does, if all ranks had ended before the first look.
        known = re.search(rf"process {killed} is rank (\d)\n", run.output())
        # MPICH's launcher kills the other ranks when the connection of a dead one closes. On a busy machine,
        # the kernel may show their ends before that of the killed rank.
        rank = known[1] if known and mpi[0] == "openmpi" else r"\d"
        named = rf"(?i)relay lost its ranks? [\d, ]*{rank}|rank {rank} |which its launcher had started"
        if when == "at start" and mpi[0] == "mpich":
            # The guard looks every 10 ms. Only the launcher has seen a process that lives shorter.
            named += (r"|relay ended with exit status 9 (?s:.*)TERMINATED WITH THE EXIT STRING: Killed "
                      r"\(signal 9\)")
        if who == "unborn" and mpi[0] == "openmpi":
            # The same holds here. Open MPI's launcher prints only this about a rank that did not reach its
            # program.
            named += (r"|relay ended with exit status 137 before it had registered: Primary job +terminated "
                      r"normally, but ")
            named += r"\d+ process(es)? returned a non-zero exit code"
        if who == "unborn" and mpi[0] == "mpich":
            # The first child of the launcher is its helper: see there.
            named += f"|{UNSEEN_HELPER}"
        # A report of many tests shows the first line.
        briefly = [line for line in said.splitlines() if "relay" in line and "INFO" not in line]
        assert re.search(named, said), f"{killed} was killed, rank {rank}: {briefly}\n{said}"
    assert nobody_left(run)


@pytest.mark.parametrize("mode, what", [
    ("abort", "rank 3"),
    ("exit", "relay lost its rank 3, which ended with exit status 3"),
    ("crash", "relay lost its rank 3, which was ended by signal SIGSEGV"),
    ("leave", "relay lost its rank 3, which ended with exit status 0 before the instance was done"),
    ("absent", "relay lost its rank 3, which ended with exit status 0 before the instance was done"),
])
def test_a_rank_that_ends_ends_the_run_and_is_named(ligament, tmp_path, mpi, mode, what):  # noqa: F811
    run = Run(ligament, tmp_path, mpi, RANKS, mode=mode)
    status, said = run.end()
    assert status == 1 and what in said, said
    assert nobody_left(run)


def segments(pid):
    """The directories of shared memory from which a process of Open MPI has mapped a file."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return {Path(line.split()[-1]).parent for line in maps.splitlines() if "/dev/shm/" in line
            and "segment" in line}


# MPICH's has no name.
@pytest.mark.parametrize("mpi", ["openmpi"], indirect=True)
def test_shared_memory_of_killed_ranks_is_removed_with_the_run(ligament, tmp_path, mpi):  # noqa: F811
    run = Run(ligament, tmp_path, mpi, RANKS, steps=10_000_000)
    ranks = wait_for(run, "rank", "under way")
    [own] = {one for pid in ranks for one in segments(pid)}
    assert own.name.startswith("ligament-mpi-") and own.stat().st_mode & 0o777 == 0o700
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
    assert run.end()[0] == 1
    assert nobody_left(run) and not own.exists()


CHAIN = """ymmsl_version: v0.1
model:
  name: chained
  components:
    macro: {{implementation: macro, ports: {{o_i: start, s: end}}}}
    relay: {{implementation: relay, ports: {{f_init: start, o_f: end}}}}
    second: {{implementation: relay, ports: {{f_init: start, o_f: end}}}}
  conduits: {{macro.start: relay.start, relay.end: second.start, second.end: macro.end}}
settings: {{ranks: 2, steps: {steps}}}
implementations:
  macro: {{executable: {python}, args: macro.py}}
  relay: {{executable: {program}, args: [well], {how}}}
resources:
  macro: {{threads: 1}}
  relay: {{mpi_processes: 2}}
  second: {{mpi_processes: 2}}
ligament:
{ligament}
  overcommit: true
"""


@pytest.mark.parametrize("who", ["relay", "second"])
@pytest.mark.parametrize("rank", [0, 1])
def test_of_two_coupled_programs_the_one_with_the_killed_rank_is_named(ligament, tmp_path, mpi, who,
                                                                       rank):  # noqa: F811
    run = Run(ligament, tmp_path, mpi, 2, steps=10_000_000, model=CHAIN,
              macro=MACRO.replace("field * factor", "field * factor**2"))
    log, output = run.folder / "manager.log", run.folder / f"instances/{who}/output.log"
    until = time.monotonic() + LIMIT
    # The output of a rank comes through its launcher, later than its registration.
    while not (log.exists() and all(f"{one}: registered" in log.read_text() for one in ["macro", "relay",
                                                                                        "second"])
               and (it := re.search(rf"process (\d+) is rank {rank}\n", output.read_text()))):
        assert time.monotonic() < until and run.process.poll() is None, run.end()
        time.sleep(0.02)
    os.kill(int(it[1]), signal.SIGKILL)
    status, said = run.end()
    # MPICH's launcher kills the other ranks when the connection of a dead one closes, and their ends may be
    # seen first.
    named = rank if mpi[0] == "openmpi" else r"\d"
    assert status == 1 and re.search(rf"{who} lost its ranks? [\d, ]*{named}|[Rr]ank {named} ", said), said
    assert nobody_left(run)
