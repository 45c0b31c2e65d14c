#!/bin/sh
# Runs the example twice, with drug and without, and draws its picture, with the `ligament` and the `python3` of
# the search path, and the MPI of its `mpirun`.
#   demo.sh [DIRECTORY]     where the two runs go (by default runs/restenosis-<time> where it is called)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
runs=${1:-runs/restenosis-$(date +%Y%m%d-%H%M%S)}
mpich=""
case $(mpirun --version) in *"Open MPI"*) ;; *) mpich=$here/mpich.ymmsl ;; esac
built=$here/build/${mpich:+mpich/}flow_3d
[ -x "$built" ] || { echo "$built is missing; run: make -C $here${mpich:+ mpich MPICH=}" >&2; exit 1; }

ligament run "$here/restenosis.ymmsl" $mpich --run-dir "$runs/with-drug"
ligament run "$here/restenosis.ymmsl" $mpich --run-dir "$runs/without-drug" -s drug.dose=0.0
python3 "$here/plot.py" "$runs/without-drug" "$runs/with-drug" "$runs/restenosis.png"
echo
echo "The picture:  $runs/restenosis.png"
echo "The two runs: $runs/with-drug, $runs/without-drug"
