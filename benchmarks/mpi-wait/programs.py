"""The programs of this benchmark: their build, and their start by `ligament run` or by mpirun."""

import os
import shutil
import tempfile
import time
from pathlib import Path

from lib import mpi
from lib.ligament import Ligament
from lib.machine import BUILD, run

HERE = Path(__file__).resolve().parent
OUT = BUILD / "mpi-wait"
FLAGS = ["-O2", "-march=native", "-Wall", "-Wno-cast-function-type"]
RANKED = ("waiting", "giving", "starting")


def build(families):
    """Compiles the programs into build/benchmarks/mpi-wait."""
    OUT.mkdir(parents=True, exist_ok=True)
    flags = Ligament().flags()
    run(["gcc", "-std=gnu11", *FLAGS, "-pthread", HERE / "source.c", "-o", OUT / "source", *flags], seconds=120)
    for family in families:
        for name in RANKED:
            run([f"mpicc.{family}", "-std=gnu11", *FLAGS, HERE / f"{name}.c", "-o", OUT / f"{name}-{family}",
                 *flags],
                seconds=120)


def words_of(family, ranks):
    """Returns mpirun with the options that Ligament uses, without a batch system."""
    own = {"openmpi": ["--host", f"localhost:{ranks}", "--bind-to", "none"],
           "mpich": ["-launcher", "fork", "-rmk", "user", "-bind-to", "none"]}[family]
    return [f"mpirun.{family}", *own, "-n", str(ranks)]


def numbers(file):
    """Returns the numbers that a program has written, one list for each line."""
    return [[float(word) for word in line.split()] for line in file.read_text(encoding="utf-8").splitlines()]


class Scratch:
    """A folder for one run. It is removed at the end of the `with` block."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def model(family, ranks, program, words, source=None, more=False):
    """Returns a model with an MPI program. With `more`, a second program sends to it and can be asked for more
    messages."""
    ports = "s: in, o_i: more" if more else "s: in"
    lines = ["ymmsl_version: v0.1", "model:", "  name: measured", "  components:"]
    lines.append(f"    ranks: {{implementation: ranks{f', ports: {{{ports}}}' if source else ''}}}")
    if source:
        lines.append(
            f"    source: {{implementation: source, ports: {{o_i: out{', s: more' if more else ''}}}}}")
        lines += ["  conduits:", "    source.out: ranks.in", *(["    ranks.more: source.more"] if more else [])]
    how = "openmpi" if family == "openmpi" else "direct"
    listed = lambda all_words: ", ".join(f"'{word}'" for word in all_words)  # noqa: E731
    lines.append("implementations:")
    lines.append(f"  ranks: {{executable: {program}, args: [{listed(words)}], execution_model: {how}}}")
    if source:
        lines.append(f"  source: {{executable: {OUT / 'source'}, args: [{listed(source)}]}}")
    lines += ["resources:", f"  ranks: {{mpi_processes: {ranks}}}", "ligament:",
              f"  mpirun: {{ranks: mpirun.{family}}}"]
    if family == "mpich":
        lines.append("  mpich: ranks")
    return "\n".join(lines) + "\n"


def coupled(family, ranks, name, words, source=None, more=False, seconds=120):
    """Runs such a model. Returns the output of the MPI program, the output of the source, and the time at which
    the run began."""
    with Scratch() as folder:
        file, other = folder / "ranks", folder / "source"
        text = model(family, ranks, OUT / f"{name}-{family}", [file, *words], source and [other, *source], more)
        (folder / "ranks.ymmsl").write_text(text, encoding="utf-8")
        began = time.monotonic_ns()
        run([Ligament().command, "run", folder / "ranks.ymmsl", "--run-dir", folder / "run", "--quiet"],
            seconds=seconds, environment={**mpi.ENVIRONMENT, "LD_LIBRARY_PATH": str(Ligament().library)},
            folder=folder)
        return numbers(file), numbers(other) if source else [], began


def launched(family, ranks, name, words, seconds=120):
    """Runs a program by mpirun alone. Returns its output, and the time at which it began."""
    with Scratch() as folder:
        file = folder / "ranks"
        # Ligament sets the same variable for the launcher.
        environment = {**mpi.ENVIRONMENT, "OMPI_MCA_odls_base_sigkill_timeout": "0"}
        began = time.monotonic_ns()
        run([*words_of(family, ranks), OUT / f"{name}-{family}", file, *words], seconds=seconds,
            environment=environment, folder=folder)
        return numbers(file), began


def computed_alone(count):
    """Returns the times of the source's computation without a run, in s."""
    with Scratch() as folder:
        run([OUT / "source", folder / "source", "alone", count], seconds=120)
        return [line[0] for line in numbers(folder / "source")]


def cores_here():
    return sorted(os.sched_getaffinity(0))[:2]
