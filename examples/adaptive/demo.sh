#!/bin/sh
# Runs the example and draws its picture.
set -e
cd "$(dirname "$0")"
ligament run adaptive.ymmsl
exec python3 plot.py runs/latest
