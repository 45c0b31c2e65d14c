#!/bin/sh
# Runs the example with the `ligament` and the `python3` of the search path, draws its picture, says where it
# is.
#   demo.sh [RUN-DIRECTORY]     (by default runs/reaction_diffusion-<time> where it is called)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
run=${1:-runs/reaction_diffusion-$(date +%Y%m%d-%H%M%S)}
[ -x "$here/build/reaction" ] || { echo "build/reaction is missing; run: make -C $here" >&2; exit 1; }

ligament run "$here/reaction_diffusion.ymmsl" --run-dir "$run"
picture=$(python3 "$here/plot.py" "$run")
echo
echo "The picture:       $picture"
echo "The run directory: $run"
