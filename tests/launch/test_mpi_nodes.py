"""MPI programs whose ranks are on several nodes of a real Slurm, some of them on another node than the
instance's agent."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import call

ROOT = Path(__file__).resolve().parents[2]

SPREAD = """
#include <ligament_mpi.h>
#include <stdio.h>

// The node: what starts ranks may pass on its own environment, so the parent is asked first.
static const char *node(void) {
    static char text[1 << 17];
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    for (char *one = text; one < text + size; one += strlen(one) + 1)
        if (strncmp(one, "SLURMD_NODENAME=", 16) == 0) return one + 16;
    return getenv("SLURMD_NODENAME");
}

// The cores on which it may run, as the kernel says it.
static const char *cores(void) {
    static char text[1 << 12];
    char line[1 << 12];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Cpus_allowed_list: %4095s", text) == 1) return text;
    return "";
}

// Each rank says where it runs; all get the same number, and rank 0 sends the sum of what they make of it.
int main(int argc, char **argv) {
    lig_mpi_instance *all;
    lig_error error = {""};
    double number[1], sum[1];
    int rank;
    bool again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (lig_mpi_instance_create(NULL, MPI_COMM_WORLD, &all, &error) != LIG_OK) goto failed;
    fprintf(stderr, "rank %d runs on %s, cores %s\\n", rank, node(), cores());
    while (true) {
        lig_array into = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {1}, .data = number};
        lig_array from = {.dtype = LIG_FLOAT64, .ndim = 1, .shape = {1}, .data = sum};
        lig_times times;
        if (lig_mpi_reuse_instance(all, &again, &error) != LIG_OK) goto failed;
        if (!again) break;
        if (lig_mpi_receive_into(all, "start", NULL, &into, &times, &error) != LIG_OK) goto failed;
        number[0] *= rank + 1;
        MPI_Reduce(number, sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        lig_send_options send = {.size = sizeof send, .timestamp = times.timestamp};
        if (rank == 0 && lig_send_array(lig_mpi_root(all), "end", &send, &from, &error) != LIG_OK) goto failed;
    }
    lig_mpi_instance_free(all);
    MPI_Finalize();
    return 0;
failed:
    fprintf(stderr, "rank %d: %s\\n", rank, error.message);
    return 1;
}
"""

MACRO = """
import os
import numpy as np
from ligament import Instance, Message, Operator

print("cores", ",".join(map(str, sorted(os.sched_getaffinity(0)))))
instance = Instance({{Operator.O_I: ["start"], Operator.S: ["end"]}})
while instance.reuse_instance():
    for step in range(5):
        instance.send("start", Message(step, None, np.array([step + 1.0])))
        assert instance.receive("end").data[0] == (step + 1) * {sum}
print("all sums were right")
"""

MODEL = """ymmsl_version: v0.1
model:
  name: spread
  components:
    macro: {{implementation: macro, ports: {{o_i: start, s: end}}}}
    ranks: {{implementation: ranks, ports: {{f_init: start, o_f: end}}}}
  conduits: {{macro.start: ranks.start, ranks.end: macro.end}}
implementations:
  macro: {{executable: python3, args: macro.py}}
  ranks: {{executable: {program}, execution_model: {model}, env: {env}}}
resources:
  ranks: {{{resources}}}
ligament: {{mpirun: {{ranks: {launcher}}}{more}}}
"""

# Open MPI takes the nodes for one machine, because they have one name, but their shared memory is separate. So
# messages go over the loopback interface instead.
ENV = ("{{SLURM_MPI_TYPE: {}, OMPI_MCA_btl: 'self,tcp', OMPI_MCA_btl_tcp_if_include: lo, "
       "OMPI_MCA_oob_tcp_if_include: lo}}")

# The execution model, and for each: the MPI, its launcher, Slurm's plugin, and further keys of the model.
WAYS = {
    "openmpi": ("openmpi", "openmpi", "mpirun.openmpi", "none", ""),
    "mpich": ("direct", "mpich", "mpirun.mpich", "none", ", mpich: ranks"),
    "srun, Open MPI": ("srunmpi", "openmpi", "srun", "pmix", ""),
    "srun, MPICH": ("srunmpi", "mpich", "srun", "pmi2", ""),
}
# One for each MPI, and one for each launcher, in every `make test`.
QUICK_LAUNCHES = ("openmpi", "srun, MPICH")


@pytest.fixture(scope="session", params=[
    name if name in QUICK_LAUNCHES else pytest.param(name, marks=pytest.mark.slow) for name in WAYS])
def way(request, tmp_path_factory):
    model, family, launcher, plugin, more = WAYS[request.param]
    folder = tmp_path_factory.mktemp("spread")
    (folder / "spread.c").write_text(SPREAD)
    built = ROOT / "target/release"
    subprocess.run([f"mpicc.{family}", folder / "spread.c", "-o", folder / "spread",
                    f"-I{ROOT}/crates/capi/include",
                    f"-L{built}", "-lligament", f"-Wl,-rpath,{built}"], check=True)
    return {"model": model, "launcher": launcher, "env": ENV.format(plugin), "more": more,
            "program": folder / "spread"}


# Open MPI refuses root unless it is told twice; CI is root.
ROOTS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def numbers(text):
    """Returns the cores that a text such as 0-3,6 names."""
    ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return {core for ends in ranges for core in range(ends[0], ends[-1] + 1)}


@pytest.mark.parametrize("resources, shares", [("nodes: 2, mpi_processes_per_node: 2", [2, 2]),
                                               ("mpi_processes: 5", None)])
def test_an_instance_runs_over_several_nodes(slurm, tmp_path, way, resources, shares):
    """Each of the three nodes has two cores."""
    ranks = 4 if shares else 5
    (tmp_path / "macro.py").write_text(MACRO.format(sum=ranks * (ranks + 1) // 2))
    (tmp_path / "spread.ymmsl").write_text(MODEL.format(resources=resources, **way))
    words = ["ligament", "submit", "spread.ymmsl", "--nodes=3", "--time=10"]
    done = call(*words, cwd=tmp_path, env={**os.environ, **ROOTS}, check=0)
    run = tmp_path / "runs/latest"
    assert "all sums were right" in (run / "instances/macro/output.log").read_text(), done.stderr
    printed = (run / "instances/ranks/output.log").read_text()
    where = dict(re.findall(r"rank (\d) runs on (n\d)", printed))
    assert sorted(where) == [str(rank) for rank in range(ranks)], printed
    record = json.loads((run / "run.json").read_text())
    on = {one["name"]: one["on"] for one in record["instances"]}
    assert where["0"] == on["ranks"], (where, on)
    counts = sorted(list(where.values()).count(node) for node in set(where.values()))
    assert counts == shares if shares else len(counts) == 3, where
    # Each rank on a node of its own has its cores there, and the run knows them. But these nodes are one
    # machine. If an agent finds cores that an instance of another node, or of another test, is bound to, it
    # leaves them alone.
    if shares:
        told = {one["name"]: numbers(one["cores"]) for one in record["instances"] if "cores" in one}
        macro = (run / "instances/macro/output.log").read_text()
        had = {"macro": re.search(r"cores (\S+)", macro)[1],
               "ranks": re.search(r"rank 0 .*, cores (\S+)", printed)[1]}
        assert all(numbers(had[name]) <= cores for name, cores in told.items()), (had, told)
        assert {name: len(cores) for name, cores in told.items()}.items() <= {"macro": 1,
                                                                              "ranks": 2}.items(), told
