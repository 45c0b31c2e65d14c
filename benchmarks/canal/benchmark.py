"""Two sections of a duct (lattice Boltzmann), beside one MPI program of two ranks with the same kernel, and as
two sites."""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from bars import OURS, SITES, Measurements, bars
from lib import machine, mpi, report
from lib.ligament import Ligament
from lib.machine import BUILD, REPOSITORY, CannotMeasure, run
from lib.network import SpreadRun, await_all

sys.path += [str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "network")]
import wan  # noqa: E402

HERE = Path(__file__).resolve().parent
OUT = BUILD / "canal"
# As the example is built, for this processor.
FLAGS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-Wall", "-Wextra"]
# The points of a core along each axis for N = 4; MUSCLE 2's canal.
POINTS = (531, 160, 40)
SIZES, QUICK_SIZES = (4, 2, 1, 0.5), (2, 0.5)
WAYS = ("exchange", "overlap")
PEER_WAYS = ("pack", "types", "overlap")
# Number of points that a measurement computes, which gives its number of steps; minimum number of steps.
POINT_STEPS, QUICK_POINT_STEPS, MIN_STEPS = 60e6, 5e6, 5
SITES_SIZE, QUICK_SITES_SIZE = 4, 1
RATE = 24  # Mbit/s, of the link
LIMIT_S = 600

MODEL = """ymmsl_version: v0.2
models:
  canal:
    components:
      duct: {{implementation: duct}}
programs:
  duct: {{executable: {program}, args: [{way}, '{warm}', '{steps}', {file}, {cores}]}}
ligament:
  memory: 1 GiB
  grids:
    duct: {{shape: [{x}, {y}, {z}], blocks: [2, 1, 1]}}
"""


def points(size):
    """Returns the points of a core for a size N."""
    return tuple(max(round(length * size / 4), 2) for length in POINTS)


def arguments_of(words):
    parser = argparse.ArgumentParser(prog="benchmarks/run canal", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="N = 2 and 0.5, and few steps; about a minute")
    parser.add_argument("--only", help=f"MPIs, separated by commas: {','.join(mpi.TITLES)}")
    parser.add_argument("--skip-sites", action="store_true", help="leave the two sites out; they need root")
    parser.add_argument("--repetitions", type=int, help="of the whole (default 7, quick 2)")
    parser.add_argument("--cores", default="0,1", help="of the two sections (default 0,1)")
    options = parser.parse_args(words)
    options.repetitions = options.repetitions or (2 if options.quick else 7)
    options.sizes = QUICK_SIZES if options.quick else SIZES
    options.sites_size = QUICK_SITES_SIZE if options.quick else SITES_SIZE
    options.families = options.only.split(",") if options.only else list(mpi.TITLES)
    for family in options.families:
        if family not in mpi.TITLES:
            parser.error(f"--only: no MPI {family!r}; there are {', '.join(mpi.TITLES)}")
    try:
        options.cores = [int(core) for core in options.cores.split(",")]
    except ValueError:
        options.cores = []
    if len(options.cores) != 2:
        parser.error("--cores: give two numbers, such as 0,1")
    return options


def missing(options):
    """Returns one sentence for each missing thing."""
    found = [*Ligament().missing(), *mpi.missing(options.families)]
    if not options.skip_sites and (why := wan.no_wan()):
        found.append(f"{why} (--skip-sites leaves the two sites out)")
    return found


def build(options):
    """Compiles the programs into build/benchmarks/canal."""
    OUT.mkdir(parents=True, exist_ok=True)
    headers = [f"-I{REPOSITORY / 'bindings/cpp/include'}"]
    run(["g++", *FLAGS, HERE / "ours.cpp", "-o", OUT / "ours", *headers, *Ligament().flags()], seconds=180)
    for family in options.families:
        # The faces of MPI for C++ are not used, and would warn.
        skip = ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]
        run([f"mpicxx.{family}", *FLAGS, *skip, HERE / "peer.cpp", "-o", OUT / f"peer-{family}"], seconds=180)
    if not options.skip_sites:
        wan.build(OUT)


class Steps:
    """The number of steps of a program, and the folder of its results."""

    def __init__(self, options, size):
        self.points, self.cores = points(size), options.cores
        x, y, z = self.points
        budget = QUICK_POINT_STEPS if options.quick else POINT_STEPS
        self.timed = max(round(budget / (x * y * z)), MIN_STEPS)
        self.warm = max(self.timed // 5, 2)

    def words(self, way, folder):
        return [way, self.warm, self.timed, folder / "times", *self.cores]

    def model(self, way, folder):
        """Writes the model of two sections into a folder, and returns its file."""
        x, y, z = self.points
        file = folder / "model.ymmsl"
        file.write_text(MODEL.format(program=OUT / "ours", way=way, warm=self.warm, steps=self.timed,
                                     file=folder / "times", cores=", ".join(f"'{core}'" for core in self.cores),
                                     x=2 * x, y=y, z=z))
        return file

    def read(self, folder):
        """Returns the ms of a step, and the sums of both blocks."""
        lines = [(folder / f"times.{block}").read_text().split() for block in range(2)]
        taken = max(int(ended) - int(begun) for begun, ended, _ in lines)
        return taken / 1e6 / self.timed, [line[2] for line in lines]


def in_folder(play):
    """Calls a function with a folder that exists meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=OUT))
    try:
        return play(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ours(steps, way):
    def play(folder):
        model = steps.model(way, folder)
        command = [Ligament().command, "run", model, "--run-dir", folder / "run", "--overcommit", "--quiet"]
        run(command, seconds=LIMIT_S, folder=folder)
        return steps.read(folder)
    return in_folder(play)


def peer(steps, family, way):
    def play(folder):
        names = {f"DUCT_{axis}": str(length) for axis, length in zip("XYZ", steps.points)}
        names["DUCT_X"] = str(2 * steps.points[0])
        command = [*mpi.launcher(family, 2), OUT / f"peer-{family}", *steps.words(way, folder)]
        run(command, seconds=LIMIT_S, environment={**mpi.ENVIRONMENT, **names}, folder=folder)
        return steps.read(folder)
    return in_folder(play)


def two_sites(steps, rtt):
    """The second section is at the other end of an emulated link."""
    def play(folder):
        with wan.Wan(OUT / "wan_emulator", rtt=rtt, rate=RATE) as link:
            spread = SpreadRun(Ligament().command, [link.a, link.b], steps.model("overlap", folder),
                               folder / "run", on={1: ["duct[1][0][0]"]}, options=["--quiet"])
            await_all(spread.processes, LIMIT_S, spread.said)
        return steps.read(folder)
    return in_folder(play)


def one_pass(options, measured, number):
    for size in options.sizes:
        steps = Steps(options, size)
        plays = [(f"ligament: {way}", lambda way=way: ours(steps, way)) for way in WAYS]
        plays += [(f"MPI: {mpi.TITLES[family]}, {way}", lambda family=family, way=way: peer(steps, family, way))
                  for family in options.families for way in PEER_WAYS]
        sums = {}
        for name, play in plays if number % 2 == 0 else plays[::-1]:
            took, sums[name] = play()
            measured.add(size, name, took)
        if any(one != sums[OURS] for one in sums.values()):
            raise CannotMeasure(f"N = {size}: the programs do not compute the same: {sums}")
    if not options.skip_sites:
        steps = Steps(options, options.sites_size)
        for rtt in SITES:
            one, two = ours(steps, "exchange"), two_sites(steps, rtt)
            if one[1] != two[1]:
                raise CannotMeasure(f"two sites do not compute what one machine does: {one[1]}, {two[1]}")
            measured.add_sites(options.sites_size, rtt, (one[0], two[0]))


def show(options, measured):
    for size in options.sizes:
        x, y, z = points(size)
        rows = [(name, [report.spread(times), report.spread([x * y * z / ms / 1e3 for ms in times])])
                for (of, name), times in measured.steps.items() if of == size]
        report.table(f"N = {size:g}: {x} x {y} x {z} points a core",
                     ["ms a step", "million points/s a core"], rows)
    rows = [(f"N = {size:g}, {rtt} ms", [report.spread([one for one, _ in pairs]),
                                         report.spread([two for _, two in pairs])])
            for (size, rtt), pairs in measured.sites.items()]
    if rows:
        report.table(f"ms a step, two sites by a link of {RATE} Mbit/s", ["one machine", "two sites"], rows)


def main(words):
    options = arguments_of(words)
    if absent := missing(options):
        raise CannotMeasure("cannot measure:\n  " + "\n  ".join(absent) + "\n(--only leaves MPIs out)")
    build(options)
    facts = machine.facts(options.cores)
    versions = {"ligament": Ligament().version(), **mpi.versions(options.families)}
    print("canal: two sections of a duct, beside one MPI program of two ranks\n")
    for name, value in {**facts, **versions, "repetitions": options.repetitions,
                        "C++ flags": " ".join(FLAGS)}.items():
        print(f"  {name.replace('_', ' '):<20} {value}")
    measured, begun = Measurements(), time.monotonic()
    for number in range(options.repetitions):
        one_pass(options, measured, number)
        print(f"pass {number + 1} of {options.repetitions}: {time.monotonic() - begun:.0f} s", flush=True)
    show(options, measured)
    found = bars(measured)
    print("\nbars (median of the ratios within a repetition; their spread)")
    for bar in found:
        print(bar.line())
    report.last_line({"machine": facts, "versions": versions, "repetitions": options.repetitions,
                      "ms": {f"N = {size:g}: {name}": [report.significant(ms) for ms in times]
                             for (size, name), times in measured.steps.items()},
                      "sites_ms": {f"N = {size:g}, {rtt} ms":
                                   [list(map(report.significant, pair)) for pair in pairs]
                                   for (size, rtt), pairs in measured.sites.items()}}, found)
    return 0
