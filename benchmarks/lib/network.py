"""Two machines and a link for benchmarks: the networks and spread runs that tests/network has, with the failures of a
benchmark."""

import subprocess
import sys
import time

from lib.machine import REPOSITORY, CannotMeasure

sys.path.append(str(REPOSITORY / "tests" / "network"))
from domains import SpreadRun, can_spread  # noqa: E402
from namespaces import Network, connections, processes_in, unavailable  # noqa: E402

__all__ = ["Network", "SpreadRun", "await_all", "can_spread", "connections", "processes_in", "unavailable"]


def await_all(processes, seconds, said):
    """Waits until these processes have ended well; `said()` is what they printed, for the error."""
    until = time.monotonic() + seconds
    for process in processes:
        try:
            status = process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            status = f"none after {seconds} s"
        if status != 0:
            raise CannotMeasure(f"{' '.join(map(str, process.args))}\nfailed with status {status}:\n{said()[-3000:]}")
