"""Two machines and a link for benchmarks: the networks and spread runs of tests/network, with failures that a
benchmark understands."""

import os
import subprocess
import sys
import time

from lib import mpi
from lib.machine import REPOSITORY, CannotMeasure

sys.path.append(str(REPOSITORY / "tests" / "network"))
from domains import SpreadRun, can_spread  # noqa: E402
from namespaces import Network, connections, processes_in, unavailable  # noqa: E402

__all__ = ["Network", "SpreadRun", "await_all", "can_spread", "connections", "open_mpi", "processes_in",
           "unavailable"]


def await_all(processes, seconds, said):
    """Waits until these processes have ended with status 0. `said()` returns their output for an error."""
    until = time.monotonic() + seconds
    for process in processes:
        try:
            status = process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            status = f"none after {seconds} s"
        if status != 0:
            raise CannotMeasure(
                f"{' '.join(map(str, process.args))}\nfailed with status {status}:\n{said()[-3000:]}")


def open_mpi(network, scratch, program, words, **more):
    """Starts two ranks of a program with Open MPI over TCP, the first on machine `a` with `words[0]`, the
    second on `b`.

    mpirun runs on `a` and starts its daemon on `b` by a script in place of ssh.
    """
    remote = scratch / "remote"
    enter = " ".join(map(str, network["b"].words("unshare", "--uts", "sh", "-c")))
    remote.write_text(f"#!/bin/sh\nshift\nexec {enter} 'hostname machine-b; eval \"$0\"' \"$*\"\n",
                      encoding="utf-8")
    remote.chmod(0o755)
    options = mpi.mca(plm_rsh_agent=remote, pml="ob1", btl="tcp,self", btl_tcp_if_include="eth0",
                      oob_tcp_if_include="eth0", plm_rsh_no_tree_spawn=1)
    ranks = ["-np", "1", program, *words[0], ":", "-np", "1", program, *words[1]]
    hosts = ["--host", f"{network['a'].v4}:1,{network['b'].v4}:1"]
    command = ["mpirun.openmpi", "--bind-to", "none", *options, *hosts, *ranks]
    return network["a"].start(*command, env={**os.environ, **mpi.ENVIRONMENT}, **more)
