#!/bin/sh
# Runs the ensemble and draws its picture.
set -e
cd "$(dirname "$0")"
ligament run ensemble.ymmsl
exec python3 plot.py runs/latest
