"""Costs of checkpoints, restarts and recordings: how long a checkpoint holds up its instances, how soon a run
steps again after a kill, what a step pays that saves nothing, and how much slower recorded messages are."""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import time
from pathlib import Path

from bars import Measurements, bars
from lib import machine, report
from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, run
from lib.runs import Scratch, compiled, end, ligament, model, started

HERE = Path(__file__).resolve().parent
OUT = BUILD / "checkpoint"
PACKAGES = REPOSITORY / ".venv/bin/python"
LIMIT = 600  # s after which a run is given up
MIB = 1 << 20
PARTS = ("held", "restart", "calls", "recorded")
EXCHANGE = ["    a.out: b.in", "    b.out: a.in"]
CALLS = {"C": 20_000_000, "Python": 1_000_000}


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run checkpoint", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition with small states; half a minute")
    parser.add_argument("--only", help=f"of {','.join(PARTS)}, separated by commas")
    parser.add_argument("--repetitions", type=int, help="of each part (default 5, quick 1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (1 if options.quick else 5)
    options.state = (16 if options.quick else 1000) * MIB
    options.messages = 64 if options.quick else 512
    options.parts = options.only.split(",") if options.only else list(PARTS)
    if not set(options.parts) <= set(PARTS):
        parser.error(f"--only: {', '.join(PARTS)}")
    return options


def build():
    absent = Ligament().missing()
    if not PACKAGES.exists():
        absent.append(f"{PACKAGES} is missing; build Ligament first: make build")
    if absent:
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent))
    for name in ("saver", "stream", "cost"):
        compiled(HERE / f"{name}.c", OUT / name, *Ligament().flags())
    compiled(HERE / "bare.c", OUT / "bare")


def exchanging(folder, state, steps, pause_ms, rules):
    """Returns a model of two instances that exchange and save. Each adds to a log of its name in the folder."""
    words = "[{}, {}, {}, {}]".format
    programs = [(name, f"{{executable: {OUT / 'saver'}, args: "
                       f"{words(*(repr(str(word)) for word in (state, steps, pause_ms, folder / name)))}}}")
                for name in "ab"]
    rows = [f"    {name}: {{implementation: {name}, ports: {{o_i: [out], s: [in]}}}}" for name in "ab"]
    return model("exchange", rows, EXCHANGE, programs, [f"checkpoints: {{simulation_time: [{rules}]}}"])


def log_lines(folder, kind):
    """Returns the words behind `kind` of each such line of the logs of both instances."""
    lines = [line.split() for name in "ab" for line in (folder / name).read_text(encoding="ascii").splitlines()]
    return [[int(word) for word in line[1:]] for line in lines if line[0] == kind]


def held_up(state, folder):
    """Returns how long a checkpoint of two states holds up the slower instance, s, and the memory beyond the
    state that each has used, MiB."""
    run(ligament(exchanging(folder, state, 10, 0, "{at: [5]}"), folder), seconds=LIMIT, folder=folder)
    lines = log_lines(folder, "held")
    if len(lines) != 2:
        raise CannotMeasure(f"two instances saved {len(lines)} states; see {folder}")
    return max(held for held, _ in lines) / 1e9, [grown / 1024 for _, grown in lines]


def bare_save(state, folder):
    """Returns how long two bare programs take that write and sync a state each at the same time, s: the slower
    one."""
    processes = [
        subprocess.Popen([OUT / "bare", "save", str(state), folder / f"bare-{name}", folder / "go"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                         preexec_fn=machine.die_with_parent)
        for name in "ab"
    ]
    try:
        # Each makes its file when it has filled its memory.
        for process, name in zip(processes, "ab"):
            wait_for((folder / f"bare-{name}").exists, process, "it had made its state")
        (folder / "go").touch()
        times = [int(process.communicate(timeout=LIMIT)[0] or 0) for process in processes]
    finally:
        end(processes)
    if not all(times):
        raise CannotMeasure(f"a bare program could not write {state >> 20} MiB in {folder}")
    return max(times) / 1e9


def wait_for(condition, process, what):
    until = time.monotonic() + LIMIT
    while not condition():
        if process.poll() is not None or time.monotonic() > until:
            raise CannotMeasure(f"a program ended, or took longer than {LIMIT} s, before {what}")
        time.sleep(0.002)


def restarted(folder):
    """Kills an instance of a run with restarts. Returns the times from the kill, and from the start, until both
    instances step, s."""
    for name in "ab":
        (folder / name).touch()
    text = exchanging(folder, MIB, 300, 10, "{every: 10}")
    begun = time.monotonic_ns()
    process = started([*ligament(text, folder), "--restarts", "1"], dict(os.environ), folder)
    try:
        wait_for(lambda: len(log_lines(folder, "stepping")) == 2, process, "both instances stepped")
        first = max(at for _, at in log_lines(folder, "stepping"))
        saved = folder / "run" / "checkpoints"
        wait_for(lambda: any(saved.glob("*/checkpoint.json")), process, "its first checkpoint")
        victim = log_lines(folder, "stepping")[0][0]
        hit = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: len(log_lines(folder, "stepping")) == 4, process, "both instances stepped again")
        again = max(at for _, at in log_lines(folder, "stepping"))
        process.wait(timeout=LIMIT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        end([process])
    if process.returncode:
        raise CannotMeasure(f"a run that restarts failed with status {process.returncode}; see {folder}/output")
    return (again - hit) / 1e9, (first - begun) / 1e9


def call_time(language, calls, folder):
    """Returns the time of `should_save_snapshot` if no checkpoint is asked for, ns."""
    program = {"C": f"{{executable: {OUT / 'cost'}, args: ['{calls}']}}",
               "Python": f"{{executable: {PACKAGES}, args: [{HERE / 'cost.py'}, '{calls}']}}"}[language]
    text = model("cost", ["    asks: {implementation: asks}"], [], [("asks", program)])
    run(ligament(text, folder), seconds=LIMIT, folder=folder)
    return float((folder / "run/instances/asks/output.log").read_text(encoding="ascii").split()[-1])


def streamed(messages, folder, *options):
    """Returns the time in which an instance receives messages of 1 MiB, s."""
    os.sync()  # The kernel slows a program that writes down if earlier measurements have left unwritten pages.
    rows = ["    sender: {implementation: sender, ports: {o_i: [out]}}",
            "    receiver: {implementation: receiver, ports: {s: [in]}}"]
    programs = [(name, f"{{executable: {OUT / 'stream'}, args: [{port}, '{MIB}', '{messages}']}}")
                for name, port in (("sender", "out"), ("receiver", "in"))]
    text = model("stream", rows, ["    sender.out: receiver.in"], programs)
    run([*ligament(text, folder), *options], seconds=LIMIT, folder=folder)
    return int((folder / "run/instances/receiver/output.log").read_text(encoding="ascii").split()[-1]) / 1e9


def bare_stream(messages, folder):
    """Returns the time of a bare loop that writes as many bytes, s."""
    os.sync()
    return int(run([OUT / "bare", "stream", MIB, messages, folder / "bare"], seconds=LIMIT)) / 1e9


def measure(options, scratch):
    m = Measurements()
    for _ in range(options.repetitions):
        if "held" in options.parts:
            ours, grown = held_up(options.state, scratch.new())
            m.held.append((ours, bare_save(options.state, scratch.new())))
            m.grown += grown
        if "restart" in options.parts:
            m.restarts.append(restarted(scratch.new()))
        if "calls" in options.parts:
            for language, calls in CALLS.items():
                m.calls.setdefault(language, []).append(call_time(language, calls, scratch.new()))
        if "recorded" in options.parts:
            recorded = streamed(options.messages, scratch.new(), "--record", "receiver")
            without = streamed(options.messages, scratch.new())
            m.recorded.append((recorded, without, bare_stream(options.messages, scratch.new())))
    return m


def main(words):
    options = arguments_of(words)
    build()
    facts = machine.facts([0])
    report.head("checkpoints, restarts and recordings", facts, options.repetitions, ["-O2"], [])
    scratch = Scratch(OUT)
    try:
        m = measure(options, scratch)
    finally:
        scratch.remove()
    size = report.size_name(options.state)
    rows = [(f"a checkpoint of {size} for each of two instances, held up", m.held, 0),
            ("two bare programs that write and sync the same", m.held, 1),
            ("from a kill until all step again", m.restarts, 0),
            ("from the start until all step", m.restarts, 1),
            (f"{options.messages} messages of 1 MiB, recorded", m.recorded, 0),
            ("the same without", m.recorded, 1),
            ("a bare loop that writes their bytes", m.recorded, 2)]
    rows = [(name, [one[place] for one in values]) for name, values, place in rows if values]
    cells = [(name, [report.spread(times)]) for name, times in rows]
    report.table("median (least to greatest), s", ["s"], cells)
    figures = {name: report.significant(statistics.median(times)) for name, times in rows}
    found = bars(m)
    print("\nbars (value, limit, spread of the repetitions)")
    for bar in found:
        print(bar.line())
    report.last_line({"machine": facts, "seconds": figures}, found)
    return 0
