"""The two MPIs for comparison, as Debian installs them: a check that they are installed, and the start of
ranks."""

import os
import shutil

from lib.machine import first_line

TITLES = {"openmpi": "Open MPI", "mpich": "MPICH"}
PACKAGES = "openmpi-bin libopenmpi-dev mpich libmpich-dev"
# Containers of CI run as root.
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def missing(families, packages=PACKAGES):
    """Returns one sentence for each MPI of these families that is not installed, with the way to install it."""
    return [
        f"{title} (mpicc.{family}, mpirun.{family}) is missing; install it with: apt-get install {packages}"
        for family, title in TITLES.items()
        if family in families and not (shutil.which(f"mpicc.{family}") and shutil.which(f"mpirun.{family}"))
    ]


def launcher(family, ranks, options=()):
    """Returns the beginning of a command line that runs `ranks` ranks without binding them to cores."""
    if family == "openmpi":
        # The option would make ranks yield, so it is given only if there are fewer cores than ranks.
        crowded = ["--oversubscribe"] if ranks > len(os.sched_getaffinity(0)) else []
        return ["mpirun.openmpi", "--bind-to", "none", *crowded, "-np", str(ranks), *options]
    return ["mpirun.mpich", "-bind-to", "none", "-np", str(ranks), *options]


def mca(**pairs):
    """Returns the parameters of Open MPI as options of its launcher."""
    return tuple(word for key, value in pairs.items() for word in ("--mca", key, str(value)))


def versions(families):
    """Returns the version line of each MPI of these families."""
    asked = {"openmpi": ["mpirun.openmpi", "--version"], "mpich": ["mpichversion"]}
    lines = {TITLES[family]: first_line(*words) for family, words in asked.items() if family in families}
    return {title: " ".join(line.split()) for title, line in lines.items()}
