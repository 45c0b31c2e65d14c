"""The memory of a run's plan, by the number of ranks of two instances that are joined rank to rank."""

import argparse
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from lib import machine, report
from lib.ligament import Ligament
from lib.machine import BUILD, CannotMeasure, die_with_parent

RANKS = (1, 125, 250, 500, 1000)
QUICK_RANKS = (1, 250, 500, 1000)
LIMIT = 120  # s after which a run is given up
MAX_RATIO = 1.2

MODEL = """ymmsl_version: v0.1
model:
  name: ranks
  components:
    macro: {{ports: {{o_i: start, s: end}}, implementation: p}}
    flow: {{ports: {{f_init: start, o_i: out, s: in, o_f: end}}, implementation: p}}
    wall: {{ports: {{s: in, o_i: out}}, implementation: p}}
  conduits: {{macro.start: flow.start, flow.out: wall.in, wall.out: flow.in, flow.end: macro.end}}
implementations: {{p: {{executable: /bin/true}}}}
ligament: {{ranks: {{flow: {ranks}, wall: {ranks}}}, timeline: 0}}
"""


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run ranks-plan", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer ranks, one repetition")
    parser.add_argument("--repetitions", type=int, help="of each number of ranks (default 3, quick 1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 3)
    options.ranks = QUICK_RANKS if options.quick else RANKS
    return options


def proportional(pid):
    """Returns the memory of a process and of its guard, in bytes. Memory that they share counts once."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    total = 0
    for one in [pid, *children]:
        for line in Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines():
            total += int(line.split()[1]) << 10 if line.startswith("Pss:") else 0
    return total


def planned(ranks, folder):
    """Returns the seconds until a run with this number of ranks is up, and its memory in bytes at this time."""
    (folder / "model.ymmsl").write_text(MODEL.format(ranks=ranks), encoding="utf-8")
    by_hand = [word for name in ("macro", "flow", "wall") for word in ("--manual", name)]
    words = [Ligament().command, "run", folder / "model.ymmsl", "--run-dir", folder / "run", "--quiet",
             *by_hand]
    began = time.monotonic()
    with open(folder / "said", "w", encoding="utf-8") as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, preexec_fn=die_with_parent)
    try:
        while not (folder / "run/token").exists():
            if process.poll() is not None or time.monotonic() > began + LIMIT:
                raise CannotMeasure(f"a run of {ranks} ranks does not come up; see {folder}")
            time.sleep(0.002)
        seconds = time.monotonic() - began
        # The token exists before the run waits for the first endpoint. An answer to a request shows that the
        # whole run is up.
        subprocess.run([Ligament().command, "status", folder / "run", "--json"], check=True, timeout=LIMIT,
                       stdout=subprocess.DEVNULL)
        return seconds, proportional(process.pid)
    finally:
        with contextlib.suppress(subprocess.SubprocessError):
            subprocess.run([Ligament().command, "stop", folder / "run"], timeout=LIMIT,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        if process.poll() is None:
            process.terminate()
        process.wait()


def main(words):
    options = arguments_of(words)
    if missing := Ligament().missing():
        raise CannotMeasure("; ".join(missing))
    BUILD.mkdir(parents=True, exist_ok=True)
    facts = {"ligament": Ligament().version(), **machine.facts(sorted(os.sched_getaffinity(0)))}
    report.head("ranks-plan: memory of a run's plan by its ranks", facts, options.repetitions, [], [])
    seconds, memory = {}, {}
    scratch = Path(tempfile.mkdtemp(prefix="ranks-plan-", dir=BUILD))
    for repetition in range(options.repetitions):
        for ranks in options.ranks:
            folder = scratch / f"{repetition}-{ranks}"
            folder.mkdir()
            took, bytes_ = planned(ranks, folder)
            seconds.setdefault(ranks, []).append(took)
            memory.setdefault(ranks, []).append(bytes_)
    shutil.rmtree(scratch, ignore_errors=True)
    base = statistics.median(memory[1])
    rows = [(f"2 x {ranks}", [report.spread([1e-6 * one for one in memory[ranks]]),
                              1e-3 * (statistics.median(memory[ranks]) - base) / (2 * ranks) if ranks > 1
                              else None,
                              report.spread(seconds[ranks])]) for ranks in options.ranks]
    report.table("two instances, rank to rank, and one joined to all ranks of the first",
                 ["memory, MB", "more, kB a rank", "until up, s"], rows)
    half, most = options.ranks[-2], options.ranks[-1]
    ratios = [(large - small) / (small - first) for large, small, first in zip(memory[most], memory[half],
                                                                               memory[1])]
    bars = [report.Bar(f"ranks {half} to {most} beside those before", statistics.median(ratios), ratios, "<=",
                       MAX_RATIO, "x")]
    print()
    for bar in bars:
        print(bar.line())
    report.last_line({
        "memory_mb": {ranks: report.significant(1e-6 * statistics.median(memory[ranks]))
                      for ranks in options.ranks},
        "seconds": {ranks: report.significant(statistics.median(seconds[ranks])) for ranks in options.ranks},
    }, bars)
    return 0
