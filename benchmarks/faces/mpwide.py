"""Exchanges over a path by the calls of `MPWide.h`, beside Ligament's own calls."""

import socket
import subprocess
import tempfile
from pathlib import Path

from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, die_with_parent, run

HERE = Path(__file__).resolve().parent
FACE = REPOSITORY / "faces/mpwide"
ROUNDS = {1 << 10: 4000, 64 << 10: 2000, 1 << 20: 400, 16 << 20: 40}
LIMIT_S = 120


def programs():
    """Compiles the program with the face and without. Returns both."""
    folder = BUILD / "faces-exchange"
    folder.mkdir(parents=True, exist_ok=True)
    compiled = []
    face = ["-DMPWIDE", f"-I{FACE / 'include'}", *sorted(FACE.glob("src/*.cpp"))]
    for name, more in (("face", face), ("own", [])):
        compiled.append(folder / name)
        run(["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-pthread", HERE / "exchange.cpp", *more, "-o",
             compiled[-1], *Ligament().flags()], seconds=300)
    return compiled


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def exchange(program, key, bytes_, cores):
    """Returns the median time of an exchange, ns."""
    port = free_port()
    words = [str(word) for word in (key, port, bytes_, ROUNDS[bytes_])]
    sides = [
        subprocess.Popen([program, side, *words, str(core)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, preexec_fn=die_with_parent)
        for side, core in zip(("left", "right"), cores)
    ]
    try:
        outputs = [side.communicate(timeout=LIMIT_S) for side in sides]
    finally:
        for side in sides:
            side.kill()
    if any(side.returncode for side in sides):
        raise CannotMeasure(f"an exchange of {bytes_} bytes has failed: {outputs}")
    return float(outputs[0][0])


def measured(compiled, repetitions, cores):
    """Returns the times (ns) with the face and with own calls of each repetition, by bytes."""
    times = {bytes_: [] for bytes_ in ROUNDS}
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "path.key"
        run([compiled[1], "key", key], seconds=10)
        for number in range(repetitions):
            for bytes_ in ROUNDS:
                turns = compiled if number % 2 == 0 else compiled[::-1]
                took = {program: exchange(program, key, bytes_, cores) for program in turns}
                times[bytes_].append([took[program] for program in compiled])
    return times
