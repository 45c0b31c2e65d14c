"""`muscle3`: looks at what a run has left, as MUSCLE 3's command of this name does."""

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from libmuscle import ProfileDatabase


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    options = _parser().parse_args(words)
    try:
        return options.run(options)
    except (OSError, RuntimeError) as error:
        print(f"muscle3 {options.command}: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="muscle3", description="Looks at runs, as MUSCLE 3's command does.")
    commands = parser.add_subparsers(dest="command", required=True)
    profile = commands.add_parser("profile", help="draw the profile of a run")
    profile.add_argument("performance_file", type=Path, help="performance.sqlite in a run directory")
    profile.add_argument("-i", "--instances", action="store_true", help="the time of each instance")
    profile.add_argument("-r", "--resources", action="store_true", help="the time of each core")
    profile.add_argument("-t", "--timeline", action="store_true", help="who did what when")
    profile.set_defaults(run=_profile)
    resources = commands.add_parser("resources", help="not there; see ligament submit --dry-run")
    resources.add_argument("ymmsl_files", nargs="+")
    resources.add_argument("-c", "--cores-per-node", type=int, required=True)
    resources.add_argument("-v", "--verbose", action="store_true")
    resources.set_defaults(run=_resources)
    snapshot = commands.add_parser("snapshot", help="not there")
    snapshot.add_argument("snapshot_files", nargs="+", type=Path)
    snapshot.add_argument("-d", "--data", action="store_true")
    snapshot.add_argument("-v", "--verbose", action="store_true")
    snapshot.set_defaults(run=_snapshot)
    return parser


def _profile(options: argparse.Namespace) -> int:
    if not (options.instances or options.resources or options.timeline):
        print("Please specify -i, -r or -t to choose which data you would like to see.")
        return 1
    try:
        from muscle3 import profiling
    except ImportError as error:
        raise RuntimeError(f"pictures need matplotlib: pip install matplotlib ({error})") from None
    try:
        with ProfileDatabase(options.performance_file) as database:
            if options.instances:
                profiling.plot_instances(database)
            if options.resources:
                profiling.plot_resources(database)
            if options.timeline:
                profiling.plot_timeline(database)
    except sqlite3.Error as error:
        raise RuntimeError(
            f"{options.performance_file}: {error}; give the performance.sqlite of a run"
        ) from None
    profiling.show_plots()
    return 0


def _resources(_options: argparse.Namespace) -> int:
    raise RuntimeError(
        "a plan of cores is not there: `ligament submit --dry-run --site SITE` says how many nodes a model"
        " needs"
    )


def _snapshot(options: argparse.Namespace) -> int:
    raise RuntimeError(
        f"{options.snapshot_files[0]}: snapshots are not read by this version; those of MUSCLE 3 are of another"
        " format, and checkpoints of Ligament are in the run directory"
    )


if __name__ == "__main__":
    sys.exit(main())
