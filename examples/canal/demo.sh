#!/bin/sh
# Runs the example with the `ligament` and the `python3` of the search path, draws its picture, and prints where
# the picture is.
#   demo.sh [RUN-DIRECTORY]     (by default runs/canal-<time> in the working directory)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/canal-$(date +%Y%m%d-%H%M%S)}
[ -x "$here/build/duct" ] || { echo "build/duct is missing; run: make -C $here" >&2; exit 1; }

ligament run "$here/canal.ymmsl" --run-dir "$run"
picture=$(python3 "$here/plot.py" "$run")
echo
echo "The picture:       $picture"
echo "The run directory: $run"
