"""The two MPIs that benchmarks compare with, as Debian installs them: whether they are here, and how ranks are
started."""

import os
import shutil

from lib.machine import first_line

TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
PACKAGES = "openmpi-bin libopenmpi-dev mpich libmpich-dev"
# For CI's containers, whose user is root.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def missing(families, packages=PACKAGES):
    """One sentence for each MPI among these families that is not here, with how to install it."""
    return [
        f"{title} (mpicc.{family}, mpirun.{family}) is missing; install it with: apt-get install {packages}"
        for family, title in TITLES.items()
        if family in families and not (shutil.which(f"mpicc.{family}") and shutil.which(f"mpirun.{family}"))
    ]


def launcher(family, ranks, options=()):
    """The start of a command line that runs so many ranks, bound to nothing."""
    if family == "openmpi":
        # The option could only make ranks yield that have cores enough.
        crowded = ["--oversubscribe"] if ranks > len(os.sched_getaffinity(0)) else []
        return ["mpirun.openmpi", "--bind-to", "none", *crowded, "-np", str(ranks), *options]
    return ["mpirun.mpich", "-bind-to", "none", "-np", str(ranks), *options]


def mca(**pairs):
    """Open MPI's parameters as options of its launcher."""
    return tuple(word for key, value in pairs.items() for word in ("--mca", key, str(value)))


def versions(families):
    """The first line that each MPI among these families says of itself."""
    asked = {"openmpi": ["mpirun.openmpi", "--version"], "mpich": ["mpichversion"]}
    lines = {TITLES[family]: first_line(*words) for family, words in asked.items() if family in families}
    return {title: " ".join(line.split()) for title, line in lines.items()}
