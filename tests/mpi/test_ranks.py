"""Instances whose ranks speak for themselves: with Open MPI, with MPICH, and as processes that the agent
starts."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_kills import nobody_left
from test_mpi import MPIS

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent
LIMIT = 120  # s; nothing here takes as long
RANKS = 4

MACRO = """
from ligament import Instance, Message, Operator

instance = Instance({Operator.O_I: ["start[]"], Operator.S: ["end[]"]})
while instance.reuse_instance():
    ranks, factor = instance.get_port_length("start"), instance.get_setting("factor", "float")
    for step in range(instance.get_setting("steps", "int")):
        for rank in range(ranks):
            instance.send("start", Message(step, data=100.0 * step + rank), slot=rank)
        for rank in reversed(range(ranks)):
            end = instance.receive("end", slot=rank)
            expected = factor * (100.0 * step + rank) + rank
            assert (end.timestamp, end.data) == (step, expected), (step, rank, end.data)
    print(f"{ranks} slots")
"""

MODEL = """ymmsl_version: v0.1
model:
  name: ranked
  components:
    macro: {{implementation: macro, ports: {{o_i: start, s: end}}}}
    flow: {{implementation: flow, ports: {{f_init: start, o_i: out, s: in, o_f: end}}}}
    solid: {{implementation: solid, ports: {{s: in, o_i: out}}}}
  conduits:
    macro.start: flow.start
    flow.out: solid.in
    solid.out: flow.in
    flow.end: macro.end
settings: {{factor: 10.0, steps: {steps}, solid.factor: 10.0}}
implementations:
  macro: {{executable: {python}, args: macro.py}}
  flow: {{executable: {program}, args: [flow, {mode}], {how}}}
  solid: {{executable: {program}, args: [solid], {how}}}
resources:
  macro: {{threads: 1}}
  flow: {{{resources}}}
  solid: {{{resources}}}
ligament:
  ranks: {{flow: {ranks}, solid: {ranks}}}
  overcommit: true
{ligament}
"""

# For each way to start ranks: the keys of the program, the name of its resources, and the section `ligament:`.
WAYS = {
    "alone": ("execution_model: direct", "threads: 1", ""),
    **{
        name: (how, f"mpi_processes: {RANKS}",
               {"openmpi": "  mpirun: {flow: mpirun.openmpi, solid: mpirun.openmpi}",
                "mpich": "  mpich: [flow, solid]\n  mpirun: {flow: mpirun.mpich, solid: mpirun.mpich}"}[name])
        for name, (how, _) in MPIS.items()
    },
}


@pytest.fixture(scope="session", params=WAYS)
def way(request, tmp_path_factory):
    """The ways to start ranks, with a program for each."""
    built, program = ROOT / "target/release", tmp_path_factory.mktemp(request.param) / "each"
    compiler = ["gcc"] if request.param == "alone" else [f"mpicc.{request.param}", "-DWITH_MPI",
                                                         "-Wno-cast-function-type"]
    subprocess.run([*compiler, "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-Werror",
                    HERE / "each.c", "-o", program,
                    f"-I{ROOT}/crates/capi/include", f"-L{built}", "-lligament", f"-Wl,-rpath,{built}"],
                    check=True)
    return request.param, program


class Run:
    """A run that is over."""

    def __init__(self, ligament, folder, way, mode="well", steps=3, domains=0, more=""):
        name, program = way
        how, resources, of_ligament = WAYS[name]
        (folder / "macro.py").write_text(MACRO)
        (folder / "model.ymmsl").write_text(MODEL.format(
            python=sys.executable, program=program, mode=mode, how=how, resources=resources, ranks=RANKS,
            steps=steps,
            ligament=of_ligament + more))
        self.folder = folder / "run"
        # Open MPI refuses root unless it is told twice; CI is root.
        env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = [ligament, "run", "--run-dir", self.folder, folder / "model.ymmsl"]
        words += ["--domains", str(domains), "--listen", "127.0.0.1"] if domains else []
        run = subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        invitation, agents = self.folder / "invitation", []
        until = time.monotonic() + LIMIT
        while domains and not invitation.exists():
            assert time.monotonic() < until and run.poll() is None, run.communicate()
            time.sleep(0.01)
        for domain in range(1, domains + 1):
            words = [ligament, "agent", "--join", invitation, "--domain", str(domain), "--listen", "127.0.0.1"]
            agents.append(subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT))
        try:
            self.said, _ = run.communicate(timeout=LIMIT)
            self.status = run.returncode
            assert domains == 0 or [agent.wait(timeout=LIMIT) for agent in agents] == [self.status] * domains
        finally:
            for process in [run, *agents]:
                if process.poll() is None:
                    process.kill()

    def record(self):
        return json.loads((self.folder / "run.json").read_text())

    def outputs(self, instance):
        return "".join(
            file.read_text() for file in sorted((self.folder / "instances" / instance).glob("output*.log")))


def rows(record):
    return {row["name"]: row for row in record["instances"]}


NAMES = ["macro", *(f"{instance}:{rank}" for instance in ("flow", "solid") for rank in range(RANKS))]


def test_ranks_are_joined_rank_to_rank_and_all_to_one_and_back(ligament, tmp_path, way):
    run = Run(ligament, tmp_path, way)
    assert run.status == 0, run.said
    assert run.outputs("macro") == f"{RANKS} slots\n"
    for instance, passes in [("flow", 3), ("solid", 1)]:
        lines = sorted(line for line in run.outputs(instance).splitlines() if line.startswith(instance))
        assert lines == [f"{instance}: rank {rank} of {RANKS}, {passes} passes, a factor of 10"
                         for rank in range(RANKS)]


def test_each_rank_has_a_row_and_a_line_of_its_own(ligament, tmp_path, way):
    run = Run(ligament, tmp_path, way)
    found = rows(run.record())
    assert list(found) == NAMES, run.said
    assert all(row["state"] == "done" for row in found.values()), found
    counts = {name: (row["sent_messages"], row["received_messages"]) for name, row in found.items()}
    assert counts["flow:3"] == (6, 6) and counts["solid:3"] == (3, 3) and counts["macro"] == (12, 12)
    trace = tmp_path / "trace.json"
    subprocess.run([ligament, "timeline", run.folder, "--output", trace], check=True, stdout=subprocess.DEVNULL)
    assert '"flow:3"' in trace.read_text()
    log = (run.folder / "manager.log").read_text()
    assert all(f"{name}: registered" in log for name in NAMES)


def test_a_rank_that_is_killed_ends_the_run_and_is_named(ligament, tmp_path, way):
    run = Run(ligament, tmp_path, way, mode="die")
    record = run.record()
    assert run.status == 1 and record["state"] == "failed"
    # MPICH kills the others as soon as the connection of one is closed, so the system may show their ends
    # first.
    together = re.search(r"at the same moment ended ranks [\d, ]*\b2\b",
                         run.said) and record["failed"].startswith("flow:")
    assert "flow:2 " in run.said and record["failed"] == "flow:2" or together, run.said
    assert nobody_left(run)


def test_ranks_in_two_domains_are_joined_over_the_network(ligament, tmp_path, way):
    run = Run(ligament, tmp_path, way, more="\n  place: {0: [macro, flow], 1: solid}", domains=1)
    assert run.status == 0, run.said
    assert rows(run.record())["solid:3"]["domain"] == 1
    assert run.outputs("solid").count("1 passes") == RANKS


@pytest.mark.parametrize("way", ["openmpi", "mpich"], indirect=True)
def test_a_rank_that_never_makes_an_instance_is_named(ligament, tmp_path, way):
    run = Run(ligament, tmp_path, way, mode="missing")
    assert run.status == 1 and "flow:3 " in run.said, run.said
    assert nobody_left(run)


@pytest.mark.parametrize("way", ["openmpi", "mpich"], indirect=True)
@pytest.mark.parametrize("mode, what", [
    ("stray", "flow:3 ended with exit status 0 and never registered"),
    ("crash", "flow:2 was ended by signal SIGSEGV"),
])
def test_a_rank_that_ends_before_it_makes_an_instance_ends_the_run_and_is_named(ligament, tmp_path, way, mode,
                                                                                what):
    run = Run(ligament, tmp_path, way, mode=mode)
    assert run.status == 1 and what in run.said, run.said
    assert nobody_left(run)


@pytest.mark.parametrize("way", ["openmpi", "mpich"], indirect=True)
def test_the_collective_forms_say_that_each_rank_speaks_for_itself(ligament, tmp_path, way):
    run = Run(ligament, tmp_path, way, mode="collective")
    assert run.status == 1
    # The run ends when rank 0 has been told. The others may be ended before they print the reason.
    assert "LIG_ERR_USAGE: the model says under \"ranks:\" that each rank" in run.outputs("flow"), run.outputs(
        "flow")
