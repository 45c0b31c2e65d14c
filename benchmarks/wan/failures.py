"""Failures of peers. A peer that fails is reported, and the comparison goes on with the others."""

import contextlib
import subprocess

from lib.machine import CannotMeasure

OURS = ("ours", "relay", "trunk", "run", "cp")


class Failures:
    """Collects the failures of peers, one line for each."""

    def __init__(self):
        self.lines = []

    @contextlib.contextmanager
    def of(self, program, where):
        """Guards a block that runs a program. If a peer fails, the rest of the block is skipped. If Ligament
        fails, this is an error, because there is nothing left to compare."""
        try:
            yield
        except (CannotMeasure, AssertionError, subprocess.SubprocessError) as problem:
            if program in OURS:
                raise
            self.lines.append(f"{where}: {program} failed: {' '.join(str(problem).split())}")
            print(f"  {self.lines[-1]}", flush=True)
