"""Peers that fail. A benchmark compares: one peer that fails is reported, and the others count."""

import contextlib
import subprocess

from lib.machine import CannotMeasure

OURS = ("ours", "relay", "trunk", "run", "cp")


class Failures:
    """The failures of peers, a line for each."""

    def __init__(self):
        self.lines = []

    @contextlib.contextmanager
    def of(self, program, where):
        """Around what a program is to do. If a peer fails, the rest of the block is left out; if ours fails,
        that is an error, since nothing is left to compare."""
        try:
            yield
        except (CannotMeasure, AssertionError, subprocess.SubprocessError) as problem:
            if program in OURS:
                raise
            self.lines.append(f"{where}: {program} failed: {' '.join(str(problem).split())}")
            print(f"  {self.lines[-1]}", flush=True)
